// SPDX-License-Identifier: MIT
// Artifact: one verified generation of a key, immutable; and ArtifactTable: those a process knows, with their
// references.
//
// A reference is the only pin there is: it keeps the segment's mapping (or the memory) alive, nothing else, in no file.
//
// Readers share no cache line. Each thread belongs to one of 16 lanes; a lane has a lock that only its own threads
// take, and for every artifact its own count and its own note of when it was last found current. The number of
// references is the sum over lanes, which may be taken only while all lanes are held (Exclusive). When an artifact
// leaves the table, that sum moves into one atomic counter, and the last release frees it. The idea is that of the
// Linux kernel's percpu_ref and of the big-reader lock.
//
// In a forked child the lanes may be held by threads that are no more: the child makes a new table, and references to
// inherited artifacts are no longer counted (their memory is the child's copy, and ends with it).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "port/result.hpp"
#include "store/record.hpp"
#include "store/segment.hpp"
#include "trust/digest.hpp"

namespace tlc::store {

class ArtifactTable;
class Store;

/// A folder of an artifact's files outside any store; removed with its owner.
class PrivateFolder {
 public:
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Memory for an artifact's body, aligned as members need it.
struct FreeBody {
  void operator()(std::uint8_t* body) const { ::operator delete[](body, std::align_val_t{kAlignment}); }
};
using Body = std::unique_ptr<std::uint8_t[], FreeBody>;
[[nodiscard]] Body make_body(std::uint64_t size);

/// Where an artifact was found. Values of TLC_TIER_*.
enum class Tier : std::uint8_t { memory = TLC_TIER_MEMORY, store = TLC_TIER_STORE };

class Artifact {
 public:
  /// Over a body that was checked: in the mapping of `segment`, or in `memory` (what was read, or is kept in memory
  /// only).
  Artifact(const RecordHeader& header, RecordMeta meta, std::span<const std::uint8_t> body, Body memory, Tier tier,
           std::shared_ptr<Segment> segment)
      : header_(header),
        meta_(std::move(meta)),
        segment_(std::move(segment)),
        memory_(std::move(memory)),
        body_(body),
        tier_(tier) {}

  [[nodiscard]] const trust::Digest& key() const { return header_.key; }
  [[nodiscard]] Kind kind() const { return static_cast<Kind>(header_.kind); }
  [[nodiscard]] const RecordHeader& header() const { return header_; }
  [[nodiscard]] const RecordMeta& meta() const { return meta_; }
  [[nodiscard]] const std::vector<MemberView>& members() const { return meta_.members; }
  [[nodiscard]] Tier tier() const { return tier_; }
  [[nodiscard]] std::uint64_t memory_bytes() const { return tier_ == Tier::memory ? header_.body_length : 0; }
  [[nodiscard]] const std::shared_ptr<Segment>& segment() const { return segment_; }

  /// The member of this name, or nullptr.
  [[nodiscard]] const MemberView* find(std::string_view name) const;
  /// Copies a member by pread where it is in a segment, else from memory, and compares the copy with what was verified.
  Result<void> read(std::size_t member, void* into, std::size_t capacity) const;

  /// A folder with the members as files (folders.cpp): the store's, or one of its own for what is in memory only.
  [[nodiscard]] Result<std::string> folder() const;
  /// Whether it was made by the parent of this process.
  [[nodiscard]] bool inherited() const;

  void retain();
  void release();

  /// The store it was found in, if any.
  std::weak_ptr<Store> home;

  /// Recency: the slot in the control file, and the last minute this process stamped there.
  std::uint32_t slot = 0;
  std::atomic<std::uint32_t> stamped_minute{0};
  /// Index of its namespace in the counters of the table's owner.
  std::uint32_t counter = 0;

 private:
  friend class ArtifactTable;

  RecordHeader header_;
  RecordMeta meta_;
  std::shared_ptr<Segment> segment_;
  Body memory_;
  std::span<const std::uint8_t> body_;
  Tier tier_ = Tier::store;
  mutable std::mutex folder_mutex_;
  mutable std::unique_ptr<PrivateFolder> private_folder_;

  // Set by the table.
  std::shared_ptr<ArtifactTable> table_;
  std::uint64_t fork_epoch_ = 0;
  std::uint32_t id_ = 0;                      // place in each lane's uses
  bool detached_ = false;                     // under a lane's lock
  std::atomic<std::uint64_t> references_{0};  // once detached
};

class ArtifactTable : public std::enable_shared_from_this<ArtifactTable> {
 public:
  static std::shared_ptr<ArtifactTable> create() { return std::shared_ptr<ArtifactTable>(new ArtifactTable); }
  ~ArtifactTable();

  /// A new reference to the artifact of this key. `current`: whether this lane's threads found it current at this value
  /// of the change counter; only then are `hits` (0 or 1) counted.
  [[nodiscard]] Artifact* find_any(const trust::Digest& key, std::uint64_t change, unsigned hits, bool& current);
  /// The same, if it is current.
  [[nodiscard]] Artifact* find(const trust::Digest& key, std::uint64_t change, unsigned hits = 1) {
    bool current = false;
    Artifact* artifact = find_any(key, change, hits, current);
    if (artifact == nullptr || current) return artifact;
    artifact->release();
    return nullptr;
  }
  /// An artifact that `find_any` gave is found current, and its hits are counted.
  void confirm(Artifact& artifact, std::uint64_t change, unsigned hits);
  /// The same for the artifact of this generation, which is hereby found current, wherever its record lies now:
  /// eviction may have written it again.
  [[nodiscard]] Artifact* find_generation(const trust::Digest& key, std::uint64_t sequence, const trust::Hash128& hash,
                                          std::uint64_t change, unsigned hits = 1);
  /// Takes an artifact in and gives a reference to it. An older generation of the key leaves the table; if the same one
  /// is there already, that is used.
  Artifact* insert(std::unique_ptr<Artifact> artifact, std::uint64_t change);
  /// A reference to an artifact that is not to be found by others.
  Artifact* adopt(std::unique_ptr<Artifact> artifact);
  /// Takes the key's artifact out. Those who hold it keep it.
  void drop(const trust::Digest& key);
  /// Takes out all that the predicate wants and, if `unreferenced_only`, nobody holds.
  void drop_if(const std::function<bool(const Artifact&)>& wanted, bool unreferenced_only);
  /// Takes everything out.
  void clear() {
    drop_if([](const Artifact&) { return true; }, false);
  }

  /// Adds up and resets the hits counted since the last call, per counter index.
  [[nodiscard]] std::vector<std::uint64_t> take_hits();
  /// Room for one more counter index.
  void add_counter();
  [[nodiscard]] std::uint64_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }

 private:
  friend class Artifact;
  static constexpr unsigned kLanes = 16;

  struct Use {
    std::uint64_t checked = 0;  // the store's change counter when the artifact was last found current
    std::int64_t count = 0;     // references taken minus references released
  };
  struct alignas(64) Lane {
    std::atomic<std::uint32_t> held{0};
    std::vector<Use> uses;  // by id; those of lanes that no thread has used yet are short
    std::vector<std::uint64_t> hits;
  };
  class InLane;
  class Exclusive;

  ArtifactTable();
  void detach(Artifact* artifact, std::vector<std::unique_ptr<Artifact>>& freed);
  std::int64_t references(const Artifact& artifact) const;
  void enroll(Artifact* artifact);

  std::array<Lane, kLanes> lanes_;
  std::unordered_map<trust::Digest, Artifact*, trust::DigestHash> entries_;
  std::vector<std::uint32_t> free_ids_;
  std::uint32_t ids_ = 0;
  std::atomic<std::uint64_t> memory_bytes_{0};
};

/// Owns one reference.
class ArtifactRef {
 public:
  ArtifactRef() = default;
  explicit ArtifactRef(Artifact* artifact) : artifact_(artifact) {}
  ArtifactRef(ArtifactRef&& other) noexcept : artifact_(other.take()) {}
  ArtifactRef& operator=(ArtifactRef&& other) noexcept {
    if (this != &other) {
      reset();
      artifact_ = other.take();
    }
    return *this;
  }
  ~ArtifactRef() { reset(); }

  explicit operator bool() const { return artifact_ != nullptr; }
  [[nodiscard]] Artifact* get() const { return artifact_; }
  Artifact* operator->() const { return artifact_; }
  Artifact& operator*() const { return *artifact_; }
  [[nodiscard]] Artifact* take() {
    Artifact* artifact = artifact_;
    artifact_ = nullptr;
    return artifact;
  }
  [[nodiscard]] ArtifactRef copy() const {
    if (artifact_ != nullptr) artifact_->retain();
    return ArtifactRef(artifact_);
  }
  void reset() {
    if (artifact_ != nullptr) artifact_->release();
    artifact_ = nullptr;
  }

 private:
  Artifact* artifact_ = nullptr;
};

}  // namespace tlc::store
