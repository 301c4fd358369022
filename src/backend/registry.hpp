// SPDX-License-Identifier: MIT
// Registry: which backend serves a pair (target kind, engine).
//
// One registry per process, and an overlay per cache that is asked first. A pair keeps a stack of
// backends: an override lies on top, and taking it out brings back what it covered.
//
// Looking up takes no lock: it reads an immutable table, which a change replaces by a new one. Old
// tables are kept until the registry goes, since a change is rare and a table is small; so a fork
// at any moment leaves a table that can be read.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/ops.hpp"
#include "port/result.hpp"

namespace tlc::backend {

/// A registered backend: its table, who calls it right now, and how many of its modules are alive.
class Entry {
 public:
  Entry(Ops ops, const tlc_backend_ops* table, void* state, std::string origin);

  /// For as long as it lives, the backend is not closed. Made on the stack around the calls of
  /// slots, ended on the same thread. Modules keep a backend from being unregistered at all, so
  /// that native(), symbol() and unload() of a counted module need no Call.
  class Call {
   public:
    explicit Call(Entry& entry);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// False when the backend is being unregistered: do not call it.
    explicit operator bool() const { return entered_; }
    const Ops* operator->() const { return &entry_->ops_; }
    /// What to answer when the Call is false.
    [[nodiscard]] Error refused() const;

   private:
    friend class Entry;
    Entry* entry_;
    Call* outer_ = nullptr;    ///< the Call around this one on this thread
    std::uint32_t epoch_ = 0;  ///< the process that entered, see port/fork.hpp
    bool entered_ = false;
    bool owes_module_ = false;  ///< the backend was retired by a call from within this Call
  };

  [[nodiscard]] const Ops& ops() const { return ops_; }
  /// Where it comes from: "built in", "the application", a plugin's path.
  [[nodiscard]] const std::string& origin() const { return origin_; }

  /// Counts a module of this backend; inside a Call, before the Call ends.
  void add_module() { modules_.fetch_add(1); }
  /// After its unload. The last one of a retired backend closes it.
  void remove_module();
  [[nodiscard]] std::uint64_t modules() const { return modules_.load() & ~kRetired; }

  [[nodiscard]] bool registered_as(const tlc_backend_ops* table, const void* state) const {
    return table_ == table && state_ == state;
  }

  // For the registry.
  /// The outermost Call of this backend on this thread; nullptr if there is none.
  [[nodiscard]] Call* running_on_this_thread() const;
  /// Lets no further Call in; false if somebody else has done so.
  [[nodiscard]] bool start_closing() { return !closing_.exchange(true); }
  void stop_closing() { closing_.store(false); }
  void wait_for_calls() const;
  /// Closes the backend once its calls and modules have ended: now, or when the last one ends.
  void retire();

 private:
  static constexpr std::uint64_t kRetired = std::uint64_t{1} << 63;

  bool enter(std::uint32_t& epoch);
  void leave(std::uint32_t epoch);

  Ops ops_;
  const tlc_backend_ops* table_;  ///< compared, never read
  void* state_;
  std::string origin_;
  std::atomic<std::uint64_t> running_{0};  ///< fork epoch << 32 | calls of this process
  std::atomic<bool> closing_{false};
  std::atomic<std::uint64_t> modules_{0};  ///< their number, and kRetired
};

/// One backend of a listing.
struct Listed {
  std::string name;
  std::string engine;
  std::vector<std::string> kinds;
  std::vector<std::string> default_of;  ///< the kinds whose default it is
  std::string origin;
  std::uint64_t caps = 0;
  bool available = true;
  std::string probe;   ///< what it found on this machine, a JSON object; "{}" if it does not say
  std::string reason;  ///< why it is not available
};

/// A plugin or built-in backend that was not taken, and why.
struct Refusal {
  std::string origin;
  tlc_status status = TLC_E_ABI;
  std::string reason;
};

class Registry {
 public:
  /// parent: asked for what this one does not have; outlives it.
  explicit Registry(const Registry* parent = nullptr);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// Registers for all pairs of the table or none. flags: TLC_REGISTER_*.
  [[nodiscard]] Result<void> add(const tlc_backend_ops* ops, void* state, std::uint32_t flags,
                                 std::string_view origin = "the application");
  /// Takes a backend out, waits for its running calls, closes it. TLC_E_BUSY while modules of it
  /// are alive, and from one of its own slots.
  [[nodiscard]] Result<void> remove(const tlc_backend_ops* ops, void* state);
  /// At the end of the cache that owns an overlay: takes all backends out and closes each when its
  /// calls and modules have ended. Entries stay usable for the modules that hold them.
  void retire_all();

  /// The backend of a pair; engine may be empty: the kind's default. TLC_E_NOT_FOUND lists what is
  /// registered.
  [[nodiscard]] Result<std::shared_ptr<Entry>> find(std::string_view kind, std::string_view engine) const;
  /// Empty if the kind has none.
  [[nodiscard]] std::string default_engine(std::string_view kind) const;

  /// All backends, the parent's too, each asked what it finds on this machine.
  [[nodiscard]] std::vector<Listed> list(tlc_call* call) const;
  /// Keeps the reason of a refusal for the listing; the latest per origin.
  void note_refusal(std::string_view origin, const Error& error);
  /// The parent's too.
  [[nodiscard]] std::vector<Refusal> refusals() const;

  /// Runs `load` for a plugin file unless it ran before; then answers what it answered. One at a
  /// time, so that a plugin's entry is called once.
  [[nodiscard]] Result<void> load_once(const std::string& real_path, const std::function<Result<void>()>& load);

 private:
  struct Table;
  [[nodiscard]] const Table& table() const { return *current_.load(std::memory_order_acquire); }
  void publish(std::unique_ptr<const Table> next);
  [[nodiscard]] Error not_found(std::string_view kind, std::string_view engine) const;
  void drop(const Entry& entry);

  const Registry* parent_;
  mutable std::mutex mutex_;  ///< changes; never held while a slot runs
  std::vector<std::unique_ptr<const Table>> tables_;
  std::atomic<const Table*> current_;
  std::vector<Refusal> refusals_;

  std::mutex plugin_mutex_;                             ///< one plugin is loaded at a time
  std::map<std::string, std::optional<Error>> loaded_;  ///< by path; the refusal, if it was one
};

/// The registry of this process. The first call registers the built-in backends and gives them
/// `host`, the library's services (src/cache defines them).
[[nodiscard]] Registry& process_registry(const tlc_host_api* host);

/// `{"backends": [...], "refused": [...]}` as tlc_cache_backends answers it.
[[nodiscard]] std::string listing_json(const Registry& registry, tlc_call* call);

}  // namespace tlc::backend
