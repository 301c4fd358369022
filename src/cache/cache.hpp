// SPDX-License-Identifier: MIT
// Cache: the one flow. Key, look up, lock, compile, publish, load.
//
//   cache.cpp    open, and the store under it    flow.cpp     get, put, begin, get_or_compile
//   keys.cpp     from request to key             links.cpp    keys that lead to others while files are the same
//   remotes.cpp  what remotes have, and get           outline.cpp  what is there, without its bytes
//   load.cpp     modules                         explain.cpp  why a key misses
//   host.cpp     services for backends           report.cpp   stats and facts as JSON
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/registry.hpp"
#include "cache/bundle.hpp"
#include "cache/handles.hpp"
#include "cache/local.hpp"
#include "cache/settings.hpp"
#include "key/key.hpp"
#include "port/clock.hpp"
#include "port/fork.hpp"
#include "port/result.hpp"
#include "store/format.hpp"
#include "store/store.hpp"
#include "tier/blob.hpp"

namespace tlc::cache {

/// What a look-up came to. `reason` of a rejection, or of a failure record.
struct Look {
  store::Outcome outcome = store::Outcome::miss;
  store::ArtifactRef artifact;
  std::string reason;
};

struct Published {
  tlc_status status = TLC_OK;
  store::ArtifactRef artifact;
  std::string reason;
  int sys_errno = 0;
};

/// How a publish differs from a plain put.
struct PublishMode {
  bool replace = false;
  std::uint64_t expected = 0;  ///< sequence
  std::string_view label = {};
  bool want_artifact = true;
  std::uint64_t compile_us = 0;  ///< where the bundle does not say
  bool share = true;             ///< remotes get it too
};

struct Begun {
  tlc_status status = TLC_OK;  ///< TLC_OK, TLC_LOCKED, TLC_TIMEOUT
  store::ArtifactRef artifact;
  std::unique_ptr<tlc_lock> lock;
};

/// Compiles for get_or_compile when the caller brings its own way.
using CompileFn = std::function<Result<void>(const tlc_request&, const tlc_key&, tlc_bundle&, tlc_log&)>;

/// Shown what is stored: facts and members, whose data must not be read. Returns whether that is all that was needed.
using OutlineFn = std::function<bool(const store::RecordHeader&, const store::RecordMeta&, store::Tier)>;

struct CompileOptions {
  CompileFn compile;  ///< empty: the registered backend
  std::int64_t timeout_ms = TLC_WAIT_DEFAULT;
  const tlc_cancel* cancel = nullptr;
  std::uint64_t flags = 0;
};

class Cache : public std::enable_shared_from_this<Cache> {
 public:
  static Result<std::shared_ptr<Cache>> open(Settings settings);
  ~Cache();
  /// What tlc_cache_close does at once; the rest ends with the last reference.
  void close();

  // ---- keys.cpp
  Result<key::Key> make_key(const tlc_request& request, const tlc_cancel* cancel);

  // ---- flow.cpp
  /// The part of get that a hit of a known artifact takes. nullptr: use get.
  [[nodiscard]] store::Artifact* get_known(const key::Key& key) {
    store::Store* store = local().store();
    if (store == nullptr) return nullptr;
    store::Artifact* artifact = store->get_known(key.digest());
    if (artifact == nullptr || artifact->kind() == store::Kind::artifact) return artifact;
    artifact->release();
    return nullptr;
  }
  Look get(const key::Key& key);
  /// The same without counting: a question asked again, or one of the library's own.
  Look get_quietly(const key::Key& key);
  /// An artifact by its digest alone.
  Look get_digest(const trust::Digest& digest) { return look(digest); }
  /// Digests of artifacts that begin with these hex digits; two at most.
  Result<std::vector<trust::Digest>> keys_with(std::string_view hex_prefix);
  Result<Published> put(const key::Key& key, const Bundle& bundle, const PublishMode& mode);
  /// As put, and counts as a compile that took as long as the lock was held, if the bundle does not say.
  Result<Published> publish_compiled(const tlc_lock& lock, const Bundle& bundle, PublishMode mode);
  /// A new generation of seen's members and the bundle's.
  Result<Published> amend(const key::Key& key, const store::Artifact& seen, const Bundle& bundle);
  Result<tlc_status> remove(const key::Key& key);
  Result<tlc_status> invalidate(const store::Artifact& artifact);
  Result<std::uint64_t> clear(const std::string& name_space);
  Result<Begun> begin(const key::Key& key, std::int64_t timeout_ms, const tlc_cancel* cancel);
  /// Ends a lock of this process; landing tells the threads that wait.
  void end(tlc_lock& lock, tlc_status status, std::string message);
  Result<store::ArtifactRef> get_or_compile(const tlc_request& request, const CompileOptions& options,
                                            std::optional<std::string>* log);

  // ---- outline.cpp
  /// What get would find, shown without reading its members; `fn` says whether that was all that was needed, which
  /// counts as the hit. The result has no artifact.
  Look outline(const key::Key& key, const OutlineFn& fn);

  // ---- links.cpp
  Result<void> link(const key::Key& from, const key::Key& to);

  // ---- load.cpp
  Result<std::shared_ptr<Module>> load(store::Artifact& artifact, const tlc_load_options& options);
  /// What its binaries say of themselves: JSON of the backend's.
  Result<std::string> describe(const store::Artifact& artifact);

  // ---- explain.cpp, report.cpp: JSON
  Result<std::string> explain(const key::Key& key);
  std::string stats_json();
  Result<tlc_stats> stats(const std::string& name_space);
  std::string describe();
  std::string backends();
  Result<std::string> verify(bool repair, const store::Progress& progress);
  Result<std::string> collect(std::uint64_t max_bytes, const store::Progress& progress);
  Result<void> configure(std::string_view name, std::string_view value);

  /// The store of this process. Opens it anew in a forked child.
  Local& local() {
    Local* now = current_.load(std::memory_order_acquire);
    if (now != nullptr && now->epoch() == port::fork_epoch()) return *now;
    return open_in_child();
  }
  /// This cache's backends. The first call looks for plugin files.
  [[nodiscard]] backend::Registry& registry() {
    std::call_once(plugins_once_, [this] { load_plugins(); });
    return registry_;
  }
  [[nodiscard]] const Settings& settings() const { return settings_; }

 private:
  explicit Cache(Settings settings);

  // cache.cpp
  Local& open_in_child();
  /// After the store's files were replaced: opens what is there now. False if somebody else did, or it could not be
  /// done.
  bool reopen(Local& old);
  /// What fn answers for the store, once more if the store's files turn out to be replaced. There is a store.
  template <typename Fn>
  auto with_store(const Fn& fn) -> decltype(fn(std::declval<store::Store&>())) {
    Local& under = local();
    auto done = fn(*under.store());
    if (done || done.error().status != store::kReplaced || !reopen(under) || local().store() == nullptr) return done;
    return fn(*local().store());
  }
  void load_plugins();
  void note_not_stored(const std::string& reason);

  // flow.cpp
  Look look(const trust::Digest& digest, bool quiet = false);
  Look look_in_store(store::Store& store, const trust::Digest& digest, bool quiet);
  Result<Begun> take_off(Local& under, const key::Key& key, const std::shared_ptr<Flight>& flight,
                         port::Deadline deadline, const tlc_cancel* cancel);
  Published publish(const key::Key& key, const Bundle& bundle, const PublishMode& mode);
  Published publish_plain(const key::Key& key, const store::RecordContent& content, const PublishMode& mode);
  Published publish_content(const store::RecordContent& content, const PublishMode& mode);
  Published keep_in_memory(const store::RecordContent& content, Published published);
  Result<store::ArtifactRef> compile(const tlc_request& request, const key::Key& key, const CompileOptions& options,
                                     std::optional<std::string>* log);
  Result<void> run_compile(const tlc_request& request, const key::Key& key, const CompileOptions& options,
                           tlc_bundle& bundle, tlc_log& log);
  void keep_failure(const key::Key& key, const Error& error);
  std::optional<Error> kept_failure(const key::Key& key);
  bool requirements_met(const store::Artifact& artifact);
  void count(std::string_view name_space, store::Counter counter, std::uint64_t amount = 1);

  // links.cpp
  Look follow(const store::Artifact& link, bool quiet = false);
  /// The first hit among what the link leads to, as look_at finds it.
  Look follow(const store::Artifact& link, const std::function<Look(const trust::Digest&)>& look_at);
  Result<std::vector<key::Guard>> read_guards(const Bundle& bundle);
  Result<void> add_variant(const key::Key& from, const key::Variant& variant, std::string_view label,
                           bool share = true);

  // outline.cpp
  Look outline(store::Store& store, const trust::Digest& digest, const OutlineFn& fn, bool follows);

  // remotes.cpp
  /// Asks the remotes. Compile lock held.
  Look fetch(const key::Key& key);
  Look fetch_from(std::size_t remote, const key::Key& key);
  Look fetch_by_link(std::size_t remote, const key::Key& key, const tier::BlobContent& blob);
  Look fetch_artifact(std::size_t remote, const trust::Digest& digest, std::string_view name_space);
  struct Answer;
  std::optional<Answer> ask(std::size_t remote, const trust::Digest& digest, std::string_view name_space);
  Look keep_fetched(std::size_t remote, const tier::BlobContent& blob);
  void share(const store::RecordContent& content, const PublishMode& mode);
  void unshare(const trust::Digest& key);

  Settings settings_;
  std::atomic<Local*> current_{nullptr};
  std::atomic<std::uint64_t> opening_{0};  // fork epoch of the child that opens, or has opened
  std::once_flag plugins_once_;
  backend::Registry registry_;  // this cache's own backends, over the process's
  std::mutex problems_mutex_;
  std::string last_not_stored_;
  std::uint64_t not_stored_ = 0;
};

/// Whether a guard holds now; why not, if not: "changed", "missing", "appeared".
[[nodiscard]] std::optional<std::string> broken(const key::Guard& guard, store::FileMemo& files);

/// The services for backends (host.cpp).
[[nodiscard]] const tlc_host_api* host_api();

}  // namespace tlc::cache
