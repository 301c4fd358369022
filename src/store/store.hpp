// SPDX-License-Identifier: MIT
// Store: the local store of one folder, as one process sees it.
//
// The life of an entry: publish appends a record to a segment and then puts its place into the index, in one
// transaction; get finds the place, maps the segment, checks header and body once per process, and keeps the artifact
// in the process's table; eviction takes whole segments out. Whatever the index says is a hint that the record must
// confirm.
//
//   store.cpp    open, create, close         publish.cpp  put, remove, clear
//   lookup.cpp   get                         evict.cpp    the limit
//   rebuild.cpp  index from segments         retire.cpp   one segment goes; what is kept of it
//   folders.cpp  materialised artifacts      inspect.cpp  list, stats, verify
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "port/fd.hpp"
#include "port/result.hpp"
#include "store/appender.hpp"
#include "store/artifact.hpp"
#include "store/compile_locks.hpp"
#include "store/config.hpp"
#include "store/control.hpp"
#include "store/counters.hpp"
#include "store/index.hpp"
#include "store/policy.hpp"
#include "store/reservation.hpp"
#include "store/segment.hpp"
#include "store/trace.hpp"
#include "store/write_lock.hpp"

namespace tlc::store {

struct StoreOptions {
  std::string root;         ///< checked by location.hpp
  std::uint64_t limit = 0;  ///< of a store that is made; 0: by the file system's size
  bool read_only = false;
  bool durable = false;
  std::shared_ptr<Trace> trace;           ///< gets every request; nullptr: none
  std::optional<trust::MacKey> user_key;  ///< set: strict verification, and strict records
};

enum class Outcome : std::uint8_t { hit, miss, rejected };

struct Found {
  Outcome outcome = Outcome::miss;
  ArtifactRef artifact;
  std::string reason;          ///< of a rejection
  std::uint64_t sequence = 0;  ///< of what was rejected
};

/// A record that the index led to, its header and meta checked. What is in the members was not read, but where
/// verification is strict.
struct Outline {
  Outcome outcome = Outcome::miss;
  std::string reason;  ///< of a rejection
  RecordHeader header{};
  RecordMeta meta;
  std::span<const std::uint8_t> body;
  Body copy;  ///< owns the body where the segment is not mapped
  std::shared_ptr<Segment> segment;
  std::uint32_t slot = 0;
};

struct PutMode {
  bool replace = false;        ///< replace the generation `expected` instead of publishing an absent key
  std::uint64_t expected = 0;  ///< its sequence; 0: the key must be absent
};

struct PutResult {
  tlc_status status = TLC_OK;  ///< TLC_OK, TLC_EXISTED, TLC_CONFLICT, TLC_NOT_STORED, TLC_TOO_LARGE, kReplaced
  std::string reason;
  int sys_errno = 0;
  std::uint64_t sequence = 0;
  Place place;
};

struct StoreStats {
  std::vector<NamespaceCounters> namespaces;
  std::uint64_t entries = 0, disk_bytes = 0, limit = 0, mapped = 0, unlinked = 0;
  std::uint64_t segments = 0, segment_bytes = 0, index_bytes = 0, index_generation = 0;
  bool rebuilding = false;
};

struct Damage {
  trust::Digest key;
  std::string label;
  std::string reason;
  bool repaired = false;
};

struct VerifyReport {
  std::uint64_t entries = 0, bytes = 0, leftovers = 0;
  std::vector<Damage> damaged;
  std::string index_fault;   ///< empty: whole
  std::string config_fault;  ///< likewise, of config and the limit in the control file
};

struct GcReport {
  std::uint64_t freed_bytes = 0, evicted_entries = 0, removed_files = 0;
  std::uint64_t moved_entries = 0, moved_bytes = 0;  // written again, to outlive their segment
};

/// What eviction knows of a segment's file.
struct SegmentFacts {
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;  // on disk
  std::uint64_t created_ns = 0;
  bool sole = false;  // one record, which lives: no older record of any key is in it
};

/// The index record of a stored record.
[[nodiscard]] IndexRecord make_index_record(const RecordHeader& header, std::uint32_t slot);

/// done, total; false stops.
using Progress = std::function<bool(std::uint64_t, std::uint64_t)>;

class Store : public std::enable_shared_from_this<Store> {
 public:
  /// The store of the folder; the same object for all who open it with the same options in this process.
  static Result<std::shared_ptr<Store>> open(const StoreOptions& options);
  ~Store();

  // ---- lookup.cpp
  /// `quiet`: not counted as a hit, nor what it saved: the library's own questions, and those asked again.
  [[nodiscard]] Found get(const trust::Digest& key, bool quiet = false);
  /// The part of get that a hit of a known artifact takes; nullptr: not known, or no longer current.
  [[nodiscard]] Artifact* get_known(const trust::Digest& key, bool quiet = false) {
    const std::uint64_t change = control_.header()->change.load(std::memory_order_acquire);
    bool current = false;
    Artifact* artifact = table_->find_any(key, change, quiet ? 0 : 1, current);
    if (artifact != nullptr && !current) artifact = still_current(artifact, change, quiet);
    if (artifact != nullptr) touch(*artifact);
    return artifact;
  }

  /// What get would find, without reading what is in the members, and counting nothing. Of a link only the kind is
  /// told.
  [[nodiscard]] Outline outline(const trust::Digest& key);
  /// An outline was all that somebody needed: this is its hit.
  void used(const Outline& outline);

  // ---- publish.cpp
  [[nodiscard]] PutResult put(const RecordContent& content, PutMode mode);
  /// TLC_OK, TLC_MISS, or why it could not be done. sequence 0: whatever generation is there.
  [[nodiscard]] Result<tlc_status> remove(const trust::Digest& key, std::uint64_t sequence, RemovalReason reason);
  /// Empty name: everything. Returns the number of entries that went.
  Result<std::uint64_t> clear(const std::string& name_space);
  Result<void> set_limit(std::uint64_t limit);

  // ---- evict.cpp
  /// Down to max_bytes (0: the limit), and leftovers of killed processes. progress may be empty.
  Result<GcReport> collect(std::uint64_t max_bytes, const Progress& progress);

  // ---- rebuild.cpp
  /// Indexes segments for about this long, if a rebuild is due and nobody else is at it. True when none is due any
  /// more.
  bool rebuild_some(std::uint64_t budget_ns);

  // ---- inspect.cpp
  struct Entry {
    trust::Digest key;
    IndexRecord record;
    const RecordMeta* meta;
    std::uint64_t compile_us;
    std::uint32_t used_minute;
  };
  /// Visits the entries whose record can be read. fn returns false to stop.
  Result<void> for_each(std::string_view name_space, const std::function<bool(const Entry&)>& fn);
  /// Visits what the index says, without reading the records.
  Result<void> for_each_key(const IndexReader::Visitor& fn);
  [[nodiscard]] StoreStats stats();
  Result<VerifyReport> verify(bool repair, const Progress& progress);
  [[nodiscard]] std::optional<Control::Removal> removal_of(const trust::Digest& key) const;

  // ---- folders.cpp
  /// A folder with the members as files. The same path for all who ask in this process, held until the store closes.
  Result<std::string> folder(const Artifact& artifact);

  // ---- counters
  void count(std::string_view name_space, Counter counter, std::uint64_t amount = 1);
  void fold_counters();

  [[nodiscard]] CompileLocks& compile_locks() { return compile_locks_; }
  /// An object of the layer above that all who have this store share; `make` is called once, at the first call.
  std::shared_ptr<void> companion(const std::function<std::shared_ptr<void>()>& make);
  [[nodiscard]] const std::shared_ptr<ArtifactTable>& table() const { return table_; }
  [[nodiscard]] const Control& control() const { return control_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int dir() const { return dir_.get(); }
  [[nodiscard]] bool read_only() const { return !control_.writable(); }
  [[nodiscard]] std::uint64_t limit() const { return control_.header()->limit.load(std::memory_order_relaxed); }
  /// The folder's files are no longer those this object has open.
  [[nodiscard]] bool replaced() const { return !control_.still_linked(dir_.get()); }

 private:
  Store(StoreOptions options, std::string path, port::Fd dir, port::Fd segments_dir, Control control,
        std::unique_ptr<WriteLock> write_lock, std::unique_ptr<WriteLock> maintenance_lock, Config config);

  static Result<std::shared_ptr<Store>> open_new(const StoreOptions& options, const std::string& path, port::Fd dir);
  static Result<std::shared_ptr<Store>> open_read_only(const StoreOptions& options, const std::string& path,
                                                       port::Fd dir);
  /// Write lock held: makes or mends control and config.
  static Result<std::pair<Control, Config>> mend(int dir, const StoreOptions& options);
  Config current_config();
  /// Durable: what is needed to find a record again is on the disk.
  Result<void> make_durable();
  /// A config that a power loss takes away would take the clears in it along.
  [[nodiscard]] bool config_durable() const { return options_.durable || control_.header()->durable.load() != 0; }

  // lookup.cpp
  Artifact* still_current(Artifact* artifact, std::uint64_t change, bool quiet);
  Result<Outline> read_record(const trust::Digest& key, const IndexRecord& record);
  Result<ArtifactRef> load_record(const trust::Digest& key, const IndexRecord& record, std::uint64_t change,
                                  bool quiet);
  void limit_mappings();
  void touch(Artifact& artifact);
  [[nodiscard]] std::uint32_t stamp_of(std::uint32_t minute) const;
  void drop_dead_segments();
  [[nodiscard]] const trust::MacKey* user_key() const { return options_.user_key ? &*options_.user_key : nullptr; }

  // publish.cpp
  struct Seen {
    bool present = false;        // an artifact that get would give
    std::uint64_t sequence = 0;  // of what the index has, usable or not
  };
  Seen look(const trust::Digest& key);
  PutResult publish(RecordImage& image, const PutMode& mode, const Seen& seen);
  PutResult index_record(const RecordImage& image, Place place, const PutMode& mode, const Seen& seen);
  Result<void> append_tombstone(const trust::Digest& key, std::string_view name_space);

  // evict.cpp
  std::optional<Reservation> make_room(std::uint64_t bytes);
  void relieve(std::uint64_t bytes);
  bool free_disk(std::uint64_t bytes);
  struct Survey {
    std::vector<SegmentFacts> segments;  // ascending ids
    std::vector<PolicyEntry> entries;    // empty: the index could not be read through
    std::uint64_t oldest_but(std::uint64_t id) const;
  };
  Result<Survey> survey();
  Result<GcReport> evict_to(std::uint64_t target, const Progress& progress, bool may_write = true);
  Result<GcReport> free_cleared(bool all);
  Result<void> free_unused(bool young_too, GcReport& report);

  // retire.cpp
  struct Retiring;
  Result<void> retire(const Victim& victim, Survey& survey, GcReport& report);
  void unload(Retiring& retiring);
  bool unload_batch(Retiring& retiring, std::span<const RecordHeader> batch);
  bool move(Retiring& retiring, IndexWriter& index, const RecordHeader& header, const IndexRecord& record);
  void bury(Retiring& retiring, const RecordHeader& header);
  void remove_leftovers(GcReport& report);
  std::uint64_t measure();

  // folders.cpp
  void remove_idle_folders(GcReport& report);

  // rebuild.cpp
  Result<bool> index_segment(std::uint64_t id, std::uint64_t until_ns);
  bool is_better(const RecordHeader& found, const IndexRecord& known);
  Result<void> index_batch(std::span<const RecordHeader> batch, const Config& config);
  Result<void> forget_dead(const std::vector<std::uint64_t>& segments);
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> rebuild_progress() const;  ///< segments done, of how many

  // inspect.cpp
  std::string mend_config(bool repair);
  std::optional<Damage> examine(const trust::Digest& key, const IndexRecord& record);

  StoreOptions options_;
  std::string path_;  // of the format folder
  port::Fd dir_;
  port::Fd segments_dir_;
  Control control_;
  trust::MacKey id_;
  std::unique_ptr<WriteLock> write_lock_;  // null: read-only
  std::unique_ptr<WriteLock> maintenance_lock_;
  Index index_;
  SegmentSet segments_;
  Appender appender_;
  CompileLocks compile_locks_;
  std::mutex companion_mutex_;
  std::shared_ptr<void> companion_;
  std::shared_ptr<ArtifactTable> table_;
  std::atomic<std::uint64_t> seen_removed_{0};
  std::atomic<std::uint64_t> trimmed_to_{0};  // opened segments' bytes after the last limit_mappings

  std::mutex config_mutex_;
  Config config_;
  std::uint64_t config_version_ = 0;

  struct Tally {
    std::size_t block = 0;
    std::string name;
    CounterValues values{};
  };
  std::uint32_t tally_for(std::string_view name_space);
  std::mutex tally_mutex_;
  std::vector<Tally> tallies_;
  std::map<std::string, std::uint32_t, std::less<>> tally_index_;

  struct Folder {
    std::string path;
    port::Fd lock;
    int copy = 0;
  };
  std::mutex folders_mutex_;
  std::map<std::uint64_t, Folder> folders_;  // by sequence
};

}  // namespace tlc::store
