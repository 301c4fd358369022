// SPDX-License-Identifier: MIT
// Caches: open, look up, publish, one compile for many.
#include <algorithm>
#include <vector>

#include "capi/call.hpp"
#include "capi/facts.hpp"
#include "port/fork.hpp"

using namespace tlc;        // NOLINT: the definitions of the C API only call the core
using namespace tlc::capi;  // NOLINT

namespace {

constexpr uint64_t kOpenFlags = TLC_OPEN_STRICT | TLC_OPEN_READ_ONLY | TLC_OPEN_DURABLE | TLC_OPEN_VERIFY_STRICT |
                                TLC_OPEN_ALLOW_PLUGINS | TLC_OPEN_MEMORY | TLC_OPEN_NO_ENV;
constexpr uint64_t kCompileFlags = TLC_COMPILE_KEEP_FAILURE | TLC_COMPILE_CLOSED | TLC_COMPILE_NEVER;

/// An outcome with its reason, so that the caller's error says it.
Result<tlc_status> outcome(tlc_status status, std::string reason, int sys_errno = 0) {
  if (status == TLC_OK) return status;
  return Error{status, sys_errno, 0, std::move(reason)};
}

Result<tlc_status> hand_out(Result<cache::Published> done, tlc_artifact** artifact) {
  if (!done) return std::move(done).error();
  if (artifact != nullptr) *artifact = to_public(done->artifact.take());
  return outcome(done->status, std::move(done->reason), done->sys_errno);
}

template <typename Publish>
tlc_status publish(tlc_cache* cache, const tlc_key* key, const tlc_bundle* bundle, tlc_artifact** artifact,
                   tlc_error* error, const Publish& how) {
  return call(error, [&]() -> Result<tlc_status> {
    if (artifact != nullptr) *artifact = nullptr;
    TLC_REQUIRE(cache);
    TLC_REQUIRE(key);
    TLC_REQUIRE(bundle);
    cache::PublishMode mode;
    mode.want_artifact = artifact != nullptr;
    return hand_out(how(*cache->cache, mode), artifact);
  });
}

}  // namespace

// The name is also a macro, by which today's programs say how much room they have.
#undef tlc_cache_options_init
void tlc_cache_options_init(tlc_cache_options* options) {
  tlc_cache_options_init_sized(options, TLC_SIZEOF(tlc_cache_options, flags));
}

void tlc_cache_options_init_sized(tlc_cache_options* options, size_t size) {
  if (options == nullptr || size < sizeof options->struct_size) return;
  std::memset(options, 0, size);
  options->struct_size = size;
}

tlc_status tlc_cache_open(const tlc_cache_options* options, tlc_cache** cache, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(cache);
    *cache = nullptr;
    tlc_cache_options known;
    tlc_cache_options_init_sized(&known, TLC_SIZEOF(tlc_cache_options, remotes));
    if (Result<void> read = read_options(options, known, "tlc_cache_options"); !read) return std::move(read).error();
    if ((known.flags & ~kOpenFlags) != 0) return make_error(TLC_E_UNSUPPORTED, "flags has an unknown TLC_OPEN_* bit");
    Result<cache::Settings> settings = cache::make_settings(std::string(view_of(known.directory)), known.limit_bytes,
                                                            known.flags, view_of(known.remotes));
    if (!settings) return std::move(settings).error();
    Result<std::shared_ptr<cache::Cache>> opened = cache::Cache::open(std::move(*settings));
    if (!opened) return std::move(opened).error();
    *cache = std::make_unique<tlc_cache>(tlc_cache{std::move(*opened)}).release();
    return tlc_status{TLC_OK};
  });
}

void tlc_cache_close(tlc_cache* cache) {
  if (cache == nullptr) return;
  (void)call(nullptr, [&]() -> Result<tlc_status> {
    cache->cache->close();
    std::default_delete<tlc_cache>()(cache);
    return tlc_status{TLC_OK};
  });
}

tlc_status tlc_cache_get(tlc_cache* cache, const tlc_key* key, tlc_artifact** artifact, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(artifact);
    *artifact = nullptr;
    TLC_REQUIRE(cache);
    TLC_REQUIRE(key);
    if (store::Artifact* known = cache->cache->get_known(key->key)) {
      *artifact = to_public(known);
      return tlc_status{TLC_OK};
    }
    cache::Look found = cache->cache->get(key->key);
    if (found.outcome == store::Outcome::hit) {
      *artifact = to_public(found.artifact.take());
      return tlc_status{TLC_OK};
    }
    if (found.outcome == store::Outcome::miss) return make_error(TLC_MISS, "nothing is stored for this key");
    return make_error(TLC_REJECTED, std::move(found.reason));
  });
}

tlc_status tlc_cache_outline(tlc_cache* cache, const tlc_key* key, tlc_outline_fn fn, void* user_data,
                             tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(cache);
    TLC_REQUIRE(key);
    TLC_REQUIRE(fn);
    const auto show = [&](const store::RecordHeader& header, const store::RecordMeta& meta, store::Tier tier) {
      const tlc_artifact_info facts = facts_of(header, meta, tier);
      std::vector<tlc_member> members(meta.members.size());
      std::transform(meta.members.begin(), meta.members.end(), members.begin(), [](const store::MemberView& one) {
        return tlc_member{TLC_SIZEOF(tlc_member, type), str_of(one.name), nullptr, one.data.size(), one.type};
      });
      return fn(&facts, members.data(), members.size(), user_data) != 0;
    };
    cache::Look found = cache->cache->outline(key->key, show);
    if (found.outcome == store::Outcome::hit) return tlc_status{TLC_OK};
    if (found.outcome == store::Outcome::miss) return make_error(TLC_MISS, "nothing is stored for this key");
    return make_error(TLC_REJECTED, std::move(found.reason));
  });
}

tlc_status tlc_cache_put(tlc_cache* cache, const tlc_key* key, const tlc_bundle* bundle, tlc_artifact** artifact,
                         tlc_error* error) {
  return publish(cache, key, bundle, artifact, error, [&](cache::Cache& core, const cache::PublishMode& mode) {
    return core.put(key->key, bundle->bundle, mode);
  });
}

tlc_status tlc_cache_replace(tlc_cache* cache, const tlc_key* key, const tlc_artifact* seen, const tlc_bundle* bundle,
                             tlc_artifact** artifact, tlc_error* error) {
  return publish(cache, key, bundle, artifact, error, [&](cache::Cache& core, cache::PublishMode mode) {
    mode.replace = true;
    mode.expected = seen == nullptr ? 0 : to_core(seen)->header().sequence;
    return core.put(key->key, bundle->bundle, mode);
  });
}

tlc_status tlc_cache_amend(tlc_cache* cache, const tlc_key* key, const tlc_artifact* seen, const tlc_bundle* bundle,
                           tlc_artifact** artifact, tlc_error* error) {
  return publish(cache, key, bundle, artifact, error,
                 [&](cache::Cache& core, const cache::PublishMode&) -> Result<cache::Published> {
                   TLC_REQUIRE(seen);
                   return core.amend(key->key, *to_core(seen), bundle->bundle);
                 });
}

tlc_status tlc_cache_link(tlc_cache* cache, const tlc_key* from, const tlc_key* to, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(cache);
    TLC_REQUIRE(from);
    TLC_REQUIRE(to);
    return status_of(cache->cache->link(from->key, to->key));
  });
}

tlc_status tlc_cache_remove(tlc_cache* cache, const tlc_key* key, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(cache);
    TLC_REQUIRE(key);
    return cache->cache->remove(key->key);
  });
}

tlc_status tlc_cache_invalidate(tlc_cache* cache, const tlc_artifact* artifact, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(cache);
    TLC_REQUIRE(artifact);
    return cache->cache->invalidate(*to_core(artifact));
  });
}

tlc_status tlc_cache_clear(tlc_cache* cache, tlc_str name_space, uint64_t* removed, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(cache);
    Result<std::uint64_t> count = cache->cache->clear(std::string(view_of(name_space)));
    if (!count) return std::move(count).error();
    if (removed != nullptr) *removed = *count;
    return tlc_status{TLC_OK};
  });
}

tlc_status tlc_cancel_create(tlc_cancel** cancel, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(cancel);
    *cancel = std::make_unique<tlc_cancel>().release();
    return tlc_status{TLC_OK};
  });
}

void tlc_cancel_trigger(tlc_cancel* cancel) {
  if (cancel != nullptr) cancel->triggered.store(true, std::memory_order_relaxed);
}

void tlc_cancel_release(tlc_cancel* cancel) {
  if (cancel != nullptr && cancel->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    std::default_delete<tlc_cancel>()(cancel);
}

tlc_status tlc_cache_begin(tlc_cache* cache, const tlc_key* key, int64_t timeout_ms, tlc_cancel* cancel,
                           tlc_artifact** artifact, tlc_lock** lock, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(artifact);
    TLC_REQUIRE(lock);
    *artifact = nullptr;
    *lock = nullptr;
    TLC_REQUIRE(cache);
    TLC_REQUIRE(key);
    Result<cache::Begun> begun = cache->cache->begin(key->key, timeout_ms, cancel);
    if (!begun) return std::move(begun).error();
    *artifact = to_public(begun->artifact.take());
    *lock = begun->lock.release();
    if (begun->status != TLC_TIMEOUT) return begun->status;
    return make_error(TLC_TIMEOUT, "another thread or process still compiles this key");
  });
}

tlc_status tlc_lock_publish(tlc_lock* lock, const tlc_bundle* bundle, tlc_artifact** artifact, tlc_error* error) {
  if (artifact != nullptr) *artifact = nullptr;
  if (lock == nullptr) return cache::fill_error(error, invalid("lock is NULL"));
  const std::unique_ptr<tlc_lock> owned(lock);
  const tlc_status status = call(error, [&]() -> Result<tlc_status> {
    if (lock->fork_epoch != port::fork_epoch())
      return make_error(TLC_E_FORKED, "the compile lock belongs to the parent process");
    TLC_REQUIRE(bundle);
    cache::PublishMode mode;
    mode.want_artifact = artifact != nullptr;
    return hand_out(lock->cache->publish_compiled(*lock, bundle->bundle, mode), artifact);
  });
  (void)call(nullptr, [&]() -> Result<tlc_status> {
    lock->cache->end(*lock, TLC_OK, {});
    return tlc_status{TLC_OK};
  });
  return status;
}

void tlc_lock_fail(tlc_lock* lock, tlc_status status, tlc_str message) {
  if (lock == nullptr) return;
  const std::unique_ptr<tlc_lock> owned(lock);
  (void)call(nullptr, [&]() -> Result<tlc_status> {
    lock->cache->end(*lock, status, std::string(view_of(message)));
    return tlc_status{TLC_OK};
  });
}

void tlc_lock_abandon(tlc_lock* lock) {
  tlc_lock_fail(lock, TLC_OK, tlc_str{nullptr, 0});
}

void tlc_compile_options_init(tlc_compile_options* options) {
  if (options == nullptr) return;
  *options = tlc_compile_options{};
  options->struct_size = TLC_SIZEOF(tlc_compile_options, flags);
}

tlc_status tlc_cache_get_or_compile(tlc_cache* cache, const tlc_request* request, const tlc_compile_options* options,
                                    tlc_artifact** artifact, tlc_blob** log, tlc_error* error) {
  tlc_compile_options known;
  tlc_compile_options_init(&known);
  const tlc_status status = call(error, [&]() -> Result<tlc_status> {
    if (log != nullptr) *log = nullptr;
    TLC_REQUIRE(artifact);
    *artifact = nullptr;
    if (Result<void> read = read_options(options, known, "tlc_compile_options"); !read) return std::move(read).error();
    TLC_REQUIRE(cache);
    TLC_REQUIRE(request);
    if ((known.flags & ~kCompileFlags) != 0)
      return make_error(TLC_E_UNSUPPORTED, "flags has an unknown TLC_COMPILE_* bit");
    cache::CompileOptions core;
    core.timeout_ms = known.timeout_ms == 0 ? int64_t{TLC_WAIT_DEFAULT} : known.timeout_ms;
    core.cancel = known.cancel;
    core.flags = known.flags;
    if (known.compile != nullptr)
      core.compile = [&known](const tlc_request& wanted, const tlc_key& key, tlc_bundle& bundle,
                              tlc_log& output) -> Result<void> {
        tlc_error said;
        tlc_error_init(&said);
        const tlc_status done = known.compile(&wanted, &key, &bundle, &output, &said, known.user_data);
        if (done == TLC_OK) return {};
        return Error{done < 0 ? done : tlc_status{TLC_E_CALLBACK}, said.sys_errno, said.backend_code,
                     said.message[0] != '\0' ? std::string(said.message) : "the compile callback failed"};
      };
    std::optional<std::string> output;  // set when the compiler ran, also when it said nothing
    Result<store::ArtifactRef> made = cache->cache->get_or_compile(*request, core, &output);
    if (log != nullptr && output) (void)give(log, std::move(*output));
    if (!made) return std::move(made).error();
    *artifact = to_public(made->take());
    return tlc_status{TLC_OK};
  });
  if (known.destroy != nullptr) known.destroy(known.user_data);
  return status;
}
