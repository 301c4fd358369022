// SPDX-License-Identifier: MIT
// What is in a cache, why, and keeping it in order; backends.
#include <array>
#include <cctype>

#include "backend/plugin.hpp"
#include "capi/call.hpp"
#include "tier/kinds.hpp"
#include "tlcache/remote.h"

using namespace tlc;        // NOLINT: the definitions of the C API only call the core
using namespace tlc::capi;  // NOLINT

namespace {

const char* kind_name(std::uint8_t kind) {
  switch (static_cast<store::Kind>(kind)) {
    case store::Kind::artifact:
      return "artifact";
    case store::Kind::link:
      return "link";
    case store::Kind::failure:
      return "failure";
    case store::Kind::tombstone:
      break;
  }
  return "tombstone";
}

tlc_entry public_entry(const store::Store::Entry& entry) {
  tlc_entry out{};
  out.struct_size = TLC_SIZEOF(tlc_entry, generation);
  out.digest = entry.key.bytes.data();
  out.key_encoding = entry.meta->key_encoding.data();
  out.key_length = entry.meta->key_encoding.size();
  out.name_space = str_of(entry.meta->name_space);
  out.label = str_of(entry.meta->label);
  out.kind = tlc_str_from(kind_name(entry.record.kind));
  out.size = entry.record.length;
  out.created_ns = entry.record.created_ns;
  out.last_used_s = std::uint64_t{entry.used_minute} * 60;
  out.compile_us = entry.compile_us;
  out.generation = entry.record.sequence;
  return out;
}

/// A JSON report of the core as a blob.
template <typename Report>
tlc_status report(tlc_cache* cache, tlc_blob** json, tlc_error* error, const Report& make) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(json);
    *json = nullptr;
    TLC_REQUIRE(cache);
    Result<std::string> text = make(*cache->cache);
    if (!text) return std::move(text).error();
    return give(json, std::move(*text));
  });
}

store::Progress progress_of(tlc_progress_fn fn, void* user_data) {
  if (fn == nullptr) return {};
  return [fn, user_data](std::uint64_t done, std::uint64_t total) { return fn(done, total, user_data) == 0; };
}

}  // namespace

tlc_status tlc_cache_get_stats(tlc_cache* cache, tlc_str name_space, tlc_stats* stats, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(cache);
    TLC_REQUIRE(stats);
    Result<tlc_stats> now = cache->cache->stats(std::string(view_of(name_space)));
    if (!now) return std::move(now).error();
    return status_of(give_struct(*now, stats, TLC_SIZEOF(tlc_stats, remote_errors), "tlc_stats"));
  });
}

tlc_status tlc_cache_stats_json(tlc_cache* cache, tlc_blob** json, tlc_error* error) {
  return report(cache, json, error, [](cache::Cache& core) -> Result<std::string> { return core.stats_json(); });
}

tlc_status tlc_cache_list(tlc_cache* cache, tlc_str name_space, tlc_entry_fn fn, void* user_data, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(cache);
    TLC_REQUIRE(fn);
    store::Store* store = cache->cache->local().store();
    tlc_status stopped = TLC_OK;
    if (store == nullptr) return stopped;
    Result<void> done = store->for_each(view_of(name_space), [&](const store::Store::Entry& entry) {
      const tlc_entry out = public_entry(entry);
      stopped = fn(&out, user_data);
      return stopped == TLC_OK;
    });
    if (!done) return std::move(done).error();
    return stopped;
  });
}

tlc_status tlc_cache_find(tlc_cache* cache, tlc_str hex_prefix, tlc_artifact** artifact, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(artifact);
    *artifact = nullptr;
    TLC_REQUIRE(cache);
    std::string prefix(view_of(hex_prefix));
    for (char& digit : prefix) digit = static_cast<char>(std::tolower(static_cast<unsigned char>(digit)));
    if (prefix.size() < 4 || prefix.size() > 64 || prefix.find_first_not_of("0123456789abcdef") != std::string::npos)
      return invalid("a digest is found by its first 4 to 64 hex digits, not by \"" + prefix + "\"");
    Result<std::vector<trust::Digest>> keys = cache->cache->keys_with(prefix);
    if (!keys) return std::move(keys).error();
    if (keys->empty()) return make_error(TLC_MISS, "no artifact's digest begins with " + prefix);
    if (keys->size() > 1)
      return invalid(std::to_string(keys->size()) + " artifacts' digests begin with " + prefix + "; give more digits");
    cache::Look found = cache->cache->get_digest(keys->front());
    if (found.outcome == store::Outcome::rejected) return make_error(TLC_REJECTED, std::move(found.reason));
    if (found.outcome == store::Outcome::miss)
      return make_error(TLC_MISS, "no artifact's digest begins with " + prefix);
    *artifact = to_public(found.artifact.take());
    return tlc_status{TLC_OK};
  });
}

tlc_status tlc_cache_explain(tlc_cache* cache, const tlc_key* key, tlc_blob** json, tlc_error* error) {
  return report(cache, json, error, [&](cache::Cache& core) -> Result<std::string> {
    TLC_REQUIRE(key);
    return core.explain(key->key);
  });
}

tlc_status tlc_cache_verify(tlc_cache* cache, uint32_t flags, tlc_progress_fn progress, void* user_data,
                            tlc_blob** json, tlc_error* error) {
  return report(cache, json, error, [&](cache::Cache& core) -> Result<std::string> {
    if ((flags & ~uint32_t{TLC_VERIFY_REPAIR}) != 0)
      return make_error(TLC_E_UNSUPPORTED, "flags has an unknown TLC_VERIFY_* bit");
    return core.verify((flags & TLC_VERIFY_REPAIR) != 0, progress_of(progress, user_data));
  });
}

tlc_status tlc_cache_gc(tlc_cache* cache, uint64_t max_bytes, tlc_progress_fn progress, void* user_data,
                        tlc_blob** json, tlc_error* error) {
  return report(cache, json, error, [&](cache::Cache& core) -> Result<std::string> {
    return core.collect(max_bytes, progress_of(progress, user_data));
  });
}

tlc_status tlc_cache_configure(tlc_cache* cache, tlc_str name, tlc_str value, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(cache);
    return status_of(cache->cache->configure(view_of(name), view_of(value)));
  });
}

tlc_status tlc_cache_describe(tlc_cache* cache, tlc_blob** json, tlc_error* error) {
  return report(cache, json, error, [](cache::Cache& core) -> Result<std::string> { return core.describe(); });
}

tlc_status tlc_cache_backends(tlc_cache* cache, tlc_blob** json, tlc_error* error) {
  return report(cache, json, error, [](cache::Cache& core) -> Result<std::string> { return core.backends(); });
}

// ---- backends

const tlc_host_api* tlc_host(void) {
  return cache::host_api();
}

tlc_status tlc_register_backend(const tlc_backend_ops* ops, void* state, uint32_t flags, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(ops);
    return status_of(backend::process_registry(cache::host_api()).add(ops, state, flags));
  });
}

tlc_status tlc_cache_register_backend(tlc_cache* cache, const tlc_backend_ops* ops, void* state, uint32_t flags,
                                      tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(cache);
    TLC_REQUIRE(ops);
    return status_of(cache->cache->registry().add(ops, state, flags));
  });
}

tlc_status tlc_unregister_backend(const tlc_backend_ops* ops, void* state, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(ops);
    return status_of(backend::process_registry(cache::host_api()).remove(ops, state));
  });
}

tlc_status tlc_load_plugin(tlc_str path, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    return status_of(backend::load_plugin(backend::process_registry(cache::host_api()), cache::host_api(),
                                          std::string(view_of(path)), backend::PluginTrust::allowed));
  });
}

tlc_status tlc_register_remote(const tlc_remote_ops* ops, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(ops);
    return status_of(tier::process_kinds(cache::host_api()).add(ops));
  });
}
