// SPDX-License-Identifier: MIT
#include "store/artifact.hpp"

#include <sched.h>

#include <cstring>
#include <new>
#include <utility>

#include "port/fork.hpp"

namespace tlc::store {
namespace {

unsigned lane_of_this_thread(unsigned lanes) {
  static std::atomic<unsigned> next{0};
  thread_local const unsigned number = next.fetch_add(1, std::memory_order_relaxed);
  return number % lanes;
}

void take(std::atomic<std::uint32_t>& held) {
  for (unsigned tries = 0; held.exchange(1, std::memory_order_acquire) != 0; ++tries)
    if (tries > 64) ::sched_yield();
}

}  // namespace

class ArtifactTable::InLane {
 public:
  explicit InLane(ArtifactTable& table) : lane_(&table.lanes_[lane_of_this_thread(kLanes)]) {
    take(lane_->held);
    if (lane_->uses.size() < table.ids_) grow(table);
  }
  InLane(const InLane&) = delete;
  InLane& operator=(const InLane&) = delete;
  ~InLane() { lane_->held.store(0, std::memory_order_release); }

  [[nodiscard]] Use& use_of(const Artifact& artifact) const { return lane_->uses[artifact.id_]; }
  void count_hits(const Artifact& artifact, unsigned hits) const { lane_->hits[artifact.counter] += hits; }

 private:
  // A release must not fail for want of memory: the first lane always has room.
  void grow(ArtifactTable& table) {
    try {
      lane_->uses.resize(table.ids_);
    } catch (const std::bad_alloc&) {
      lane_->held.store(0, std::memory_order_release);
      lane_ = table.lanes_.data();
      take(lane_->held);
    }
  }

  Lane* lane_;
};

class ArtifactTable::Exclusive {
 public:
  explicit Exclusive(ArtifactTable& table) : table_(table) {
    for (Lane& lane : table_.lanes_) take(lane.held);
  }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;
  ~Exclusive() {
    for (Lane& lane : table_.lanes_) lane.held.store(0, std::memory_order_release);
  }

 private:
  ArtifactTable& table_;
};

Body make_body(std::uint64_t size) {
  return Body(static_cast<std::uint8_t*>(::operator new[](size, std::align_val_t{kAlignment})));
}

const MemberView* Artifact::find(std::string_view name) const {
  for (const MemberView& member : meta_.members)
    if (member.name == name) return &member;
  return nullptr;
}

// The hash was verified with the record; the mapping is not looked at, since somebody may have cut the file.
Result<void> Artifact::read(std::size_t member, void* into, std::size_t capacity) const {
  if (member >= meta_.members.size())
    return make_error(TLC_E_INVALID, "the artifact has " + std::to_string(meta_.members.size()) + " members");
  const MemberView& from = meta_.members[member];
  if (capacity < from.data.size() || (into == nullptr && !from.data.empty()))
    return make_error(TLC_E_INVALID, "the buffer has " + std::to_string(capacity) + " bytes and the member " +
                                         std::to_string(from.data.size()));
  if (from.data.empty()) return {};
  if (memory_ != nullptr) {
    std::memcpy(into, from.data.data(), from.data.size());
    return {};
  }
  const auto at = static_cast<std::uint64_t>(from.data.data() - body_.data());
  if (!segment_->read(header_.offset + kHeaderSize + at, into, from.data.size()))
    return make_error(TLC_E_IO, "the segment is cut short");
  if (trust::xxh3_128(into, from.data.size()) != from.hash)
    return make_error(TLC_E_CORRUPT, "the segment was overwritten while the artifact was held");
  return {};
}

bool Artifact::inherited() const {
  return fork_epoch_ != port::fork_epoch();
}

void Artifact::retain() {
  if (inherited()) return;
  const ArtifactTable::InLane in(*table_);
  if (detached_)
    references_.fetch_add(1, std::memory_order_relaxed);
  else
    ++in.use_of(*this).count;
}

void Artifact::release() {
  if (inherited()) return;
  bool last = false;
  {
    const ArtifactTable::InLane in(*table_);
    if (detached_)
      last = references_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    else
      --in.use_of(*this).count;
  }
  if (last) {
    const std::shared_ptr<ArtifactTable> keep = table_;
    keep->memory_bytes_.fetch_sub(memory_bytes(), std::memory_order_relaxed);
    delete this;  // NOLINT: enrolled artifacts are owned by their references
  }
}

// Not so small that what two lanes write would lie in one cache line.
ArtifactTable::ArtifactTable() {
  for (Lane& lane : lanes_) {
    lane.uses.reserve(16);
    lane.hits.reserve(32);
  }
}

ArtifactTable::~ArtifactTable() = default;

void ArtifactTable::enroll(Artifact* artifact) {
  artifact->table_ = shared_from_this();
  artifact->fork_epoch_ = port::fork_epoch();
  memory_bytes_.fetch_add(artifact->memory_bytes(), std::memory_order_relaxed);
}

Artifact* ArtifactTable::find_any(const trust::Digest& key, std::uint64_t change, unsigned hits, bool& current) {
  const InLane in(*this);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  Artifact* artifact = found->second;
  Use& use = in.use_of(*artifact);
  current = use.checked == change;
  ++use.count;
  if (current) in.count_hits(*artifact, hits);
  return artifact;
}

void ArtifactTable::confirm(Artifact& artifact, std::uint64_t change, unsigned hits) {
  const InLane in(*this);
  if (!artifact.detached_) in.use_of(artifact).checked = change;
  in.count_hits(artifact, hits);
}

Artifact* ArtifactTable::find_generation(const trust::Digest& key, std::uint64_t sequence, const trust::Hash128& hash,
                                         std::uint64_t change, unsigned hits) {
  const InLane in(*this);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  Artifact* artifact = found->second;
  const RecordHeader& header = artifact->header_;
  if (header.sequence != sequence || header.hash_lo != hash.lo || header.hash_hi != hash.hi) return nullptr;
  in.use_of(*artifact).checked = change;
  ++in.use_of(*artifact).count;
  in.count_hits(*artifact, hits);
  return artifact;
}

Artifact* ArtifactTable::insert(std::unique_ptr<Artifact> artifact, std::uint64_t change) {
  std::vector<std::unique_ptr<Artifact>> freed;
  enroll(artifact.get());
  const Exclusive all(*this);
  if (free_ids_.empty()) {  // what can fail for want of memory comes first
    lanes_[0].uses.resize(ids_ + 1);
    free_ids_.reserve(ids_ + 1);
    free_ids_.push_back(ids_++);
  }
  Lane& lane = lanes_[lane_of_this_thread(kLanes)];
  if (lane.uses.size() < ids_) lane.uses.resize(ids_);
  Artifact*& place = entries_[artifact->key()];
  if (place != nullptr && place->header_.sequence == artifact->header_.sequence && place->tier_ == artifact->tier_) {
    memory_bytes_.fetch_sub(artifact->memory_bytes(), std::memory_order_relaxed);
    freed.push_back(std::move(artifact));
    lane.uses[place->id_].checked = change;
    ++lane.uses[place->id_].count;
    return place;
  }
  if (place != nullptr) detach(place, freed);
  artifact->id_ = free_ids_.back();
  free_ids_.pop_back();
  lane.uses[artifact->id_] = {change, 1};
  return place = artifact.release();
}

Artifact* ArtifactTable::adopt(std::unique_ptr<Artifact> artifact) {
  enroll(artifact.get());
  artifact->detached_ = true;
  artifact->references_.store(1, std::memory_order_relaxed);
  return artifact.release();
}

std::int64_t ArtifactTable::references(const Artifact& artifact) const {
  std::int64_t sum = 0;
  for (const Lane& lane : lanes_)
    if (artifact.id_ < lane.uses.size()) sum += lane.uses[artifact.id_].count;
  return sum;
}

// All lanes are held.
void ArtifactTable::detach(Artifact* artifact, std::vector<std::unique_ptr<Artifact>>& freed) {
  const std::int64_t held = references(*artifact);
  for (Lane& lane : lanes_)
    if (artifact->id_ < lane.uses.size()) lane.uses[artifact->id_] = {};
  free_ids_.push_back(artifact->id_);
  artifact->detached_ = true;
  artifact->references_.store(static_cast<std::uint64_t>(held), std::memory_order_release);
  if (held != 0) return;
  memory_bytes_.fetch_sub(artifact->memory_bytes(), std::memory_order_relaxed);
  freed.emplace_back(artifact);
}

void ArtifactTable::drop(const trust::Digest& key) {
  std::vector<std::unique_ptr<Artifact>> freed;  // freed after the lanes are let go
  const Exclusive all(*this);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  detach(found->second, freed);
  entries_.erase(found);
}

void ArtifactTable::drop_if(const std::function<bool(const Artifact&)>& wanted, bool unreferenced_only) {
  std::vector<std::unique_ptr<Artifact>> freed;
  const Exclusive all(*this);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    Artifact* artifact = entry->second;
    if (!wanted(*artifact) || (unreferenced_only && references(*artifact) != 0)) {
      ++entry;
      continue;
    }
    detach(artifact, freed);
    entry = entries_.erase(entry);
  }
}

std::vector<std::uint64_t> ArtifactTable::take_hits() {
  const Exclusive all(*this);
  std::vector<std::uint64_t> sums(lanes_[0].hits.size(), 0);
  for (Lane& lane : lanes_)
    for (std::size_t i = 0; i < lane.hits.size(); ++i) sums[i] += std::exchange(lane.hits[i], 0);
  return sums;
}

void ArtifactTable::add_counter() {
  const Exclusive all(*this);
  for (Lane& lane : lanes_) lane.hits.push_back(0);
}

}  // namespace tlc::store
