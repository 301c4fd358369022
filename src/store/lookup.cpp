// SPDX-License-Identifier: MIT
// get: from a digest to a verified artifact, by way of the index. What needs no look at the index is get_known.
// outline: the same without what is in the members.
#include <algorithm>
#include <cstring>
#include <utility>

#include "port/clock.hpp"
#include "store/store.hpp"

namespace tlc::store {
namespace {

constexpr std::uint64_t kRebuildOnMissNs = 2'000'000;

bool known_kind(std::uint8_t kind) {
  return kind == static_cast<std::uint8_t>(Kind::artifact) || kind == static_cast<std::uint8_t>(Kind::link) ||
         kind == static_cast<std::uint8_t>(Kind::failure);
}

/// What leads to an artifact is not a hit of its namespace: the artifact is.
std::string_view counted_as(const Artifact& artifact) {
  return artifact.kind() == Kind::artifact ? artifact.meta().name_space : std::string_view("tlc.links");
}

bool agrees(const RecordHeader& header, const trust::Digest& key, const IndexRecord& record) {
  return header.key == key && header.sequence == record.sequence && header.record_length == record.length &&
         header.hash_lo == record.hash_lo && header.hash_hi == record.hash_hi && header.kind == record.kind;
}

}  // namespace

// Sequences follow the wall clock and never go back, as it may: what is used later has the later stamp.
std::uint32_t Store::stamp_of(std::uint32_t minute) const {
  const std::uint64_t at_least = control_.header()->sequence.load(std::memory_order_relaxed) / 60'000'000'000U;
  return std::max(minute, static_cast<std::uint32_t>(at_least));
}

void Store::touch(Artifact& artifact) {
  const std::uint32_t minute = port::coarse_minutes();
  if (artifact.stamped_minute.load(std::memory_order_relaxed) == minute) return;
  artifact.stamped_minute.store(minute, std::memory_order_relaxed);
  control_.stamp(artifact.slot, stamp_of(minute));
  if (options_.trace != nullptr)
    options_.trace->note('h', artifact.key(), artifact.header().record_length, artifact.header().compile_us,
                         artifact.meta().name_space);
}

// Segments that were unlinked keep their blocks while they are mapped: let go of what nobody holds.
void Store::drop_dead_segments() {
  const std::uint64_t removed = control_.header()->removed_segments.load(std::memory_order_acquire);
  if (seen_removed_.exchange(removed, std::memory_order_relaxed) == removed) return;
  const std::vector<std::uint64_t> dead = segments_.unlinked();
  if (dead.empty()) return;
  table_->drop_if(
      [&dead](const Artifact& artifact) {
        return artifact.segment() != nullptr &&
               std::find(dead.begin(), dead.end(), artifact.segment()->id()) != dead.end();
      },
      true);
  segments_.sweep(false);
}

// An Error says why the record cannot be had: TLC_MISS (its segment is gone) or TLC_REJECTED.
Result<Outline> Store::read_record(const trust::Digest& key, const IndexRecord& record) {
  Result<std::shared_ptr<Segment>> opened = segments_.get(record.segment);
  if (!opened) {
    Error error = std::move(opened).error();
    if (error.status != TLC_MISS) error.status = TLC_REJECTED;
    return error;
  }
  Outline found;
  found.segment = std::move(*opened);
  found.slot = record.slot;
  const Segment& segment = *found.segment;
  RecordHeader& header = found.header;
  const std::span<const std::uint8_t> view =
      segment.view(record.offset, std::max<std::uint64_t>(record.length, kHeaderSize));
  if (!view.empty())
    std::memcpy(&header, view.data(), sizeof header);
  else if (!segment.read(record.offset, &header, sizeof header))
    return make_error(TLC_REJECTED, "the segment is cut short");
  if (auto fault = check_header(header, record.segment, record.offset, id_)) return make_error(TLC_REJECTED, *fault);
  if (!agrees(header, key, record)) return make_error(TLC_REJECTED, "the index points to another record");

  if (!view.empty()) {
    found.body = view.subspan(kHeaderSize, header.body_length);
  } else if (!segment.mapped() && header.body_length <= segment.size()) {
    found.copy = make_body(header.body_length);
    if (segment.read(record.offset + kHeaderSize, found.copy.get(), header.body_length))
      found.body = {found.copy.get(), header.body_length};
  }
  if (found.body.data() == nullptr) return make_error(TLC_REJECTED, "the segment is cut short");
  Result<RecordMeta> meta = parse_meta(header, found.body);
  if (!meta) return make_error(TLC_REJECTED, meta.error().message);
  found.meta = std::move(*meta);
  found.outcome = Outcome::hit;
  return found;
}

Result<ArtifactRef> Store::load_record(const trust::Digest& key, const IndexRecord& record, std::uint64_t change,
                                       bool quiet) {
  Result<Outline> read = read_record(key, record);
  if (!read) return std::move(read).error();
  if (auto fault = check_members(read->header, read->meta, read->body, user_key()))
    return make_error(TLC_REJECTED, *fault);
  const std::uint64_t compile_us = read->header.compile_us;
  std::unique_ptr<Artifact> made = std::make_unique<Artifact>(
      read->header, std::move(read->meta), read->body, std::move(read->copy), Tier::store, std::move(read->segment));
  made->slot = record.slot;
  made->home = weak_from_this();
  const std::string_view counted = counted_as(*made);
  {
    const std::lock_guard lock(tally_mutex_);
    made->counter = tally_for(counted);
  }
  if (!quiet) count(counted, Counter::saved_us, compile_us);
  return ArtifactRef(table_->insert(std::move(made), change));
}

// The change counter moved since the artifact was last found current: it is if the index names the same
// generation still, wherever eviction has put it.
// Takes the reference, and gives it back or nullptr.
Artifact* Store::still_current(Artifact* artifact, std::uint64_t change, bool quiet) {
  IndexRecord record;
  const RecordHeader& header = artifact->header();
  if (index_.get(artifact->key(), record) == Lookup::hit && record.sequence == header.sequence &&
      record.hash_lo == header.hash_lo && record.hash_hi == header.hash_hi) {
    table_->confirm(*artifact, change, quiet ? 0 : 1);
    return artifact;
  }
  artifact->release();
  return nullptr;
}

Found Store::get(const trust::Digest& key, bool quiet) {
  if (control_.header()->removed_segments.load(std::memory_order_relaxed) !=
      seen_removed_.load(std::memory_order_relaxed))
    drop_dead_segments();
  Found found;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::uint64_t change = control_.header()->change.load(std::memory_order_acquire);
    IndexRecord record;
    const Lookup outcome = index_.get(key, record);
    if (outcome != Lookup::hit) {
      if (control_.header()->rebuild.load(std::memory_order_relaxed) == 0 || read_only()) break;
      (void)rebuild_some(kRebuildOnMissNs);
      continue;
    }
    // Sequence and hash of an artifact that was verified: the record needs no check of its own.
    if (Artifact* artifact =
            table_->find_generation(key, record.sequence, {record.hash_lo, record.hash_hi}, change, quiet ? 0 : 1)) {
      touch(*artifact);
      return {Outcome::hit, ArtifactRef(artifact), {}, 0};
    }
    if (!intact(record, key)) {
      found.outcome = Outcome::rejected;
      found.reason = "the index record is damaged";
      found.sequence = record.sequence;
      break;
    }
    if (!known_kind(record.kind)) break;
    Result<ArtifactRef> loaded = load_record(key, record, change, quiet);
    if (loaded) {
      touch(**loaded);
      if (!quiet) count(counted_as(**loaded), Counter::hits);
      limit_mappings();
      return {Outcome::hit, std::move(*loaded), {}, 0};
    }
    found.sequence = record.sequence;
    if (loaded.error().status == TLC_MISS) continue;  // evicted between the two steps, perhaps published again
    found.outcome = Outcome::rejected;
    found.reason = loaded.error().message;
    break;
  }
  return found;
}

Outline Store::outline(const trust::Digest& key) {
  if (control_.header()->removed_segments.load(std::memory_order_relaxed) !=
      seen_removed_.load(std::memory_order_relaxed))
    drop_dead_segments();
  Outline found;
  for (int attempt = 0; attempt < 2; ++attempt) {
    IndexRecord record;
    if (index_.get(key, record) != Lookup::hit || !known_kind(record.kind)) break;
    if (intact(record, key) && record.kind == static_cast<std::uint8_t>(Kind::link)) {
      found.outcome = Outcome::hit;
      found.header.kind = record.kind;
      break;
    }
    Result<Outline> read =
        intact(record, key) ? read_record(key, record) : make_error(TLC_REJECTED, "the index record is damaged");
    if (read && user_key() != nullptr)
      if (auto fault = check_members(read->header, read->meta, read->body, user_key()))
        read = make_error(TLC_REJECTED, *fault);
    if (read) {
      limit_mappings();
      return std::move(*read);
    }
    if (read.error().status == TLC_MISS) continue;  // evicted between the two steps, perhaps published again
    found.outcome = Outcome::rejected;
    found.reason = read.error().message;
    break;
  }
  return found;
}

void Store::used(const Outline& outline) {
  const std::uint32_t minute = port::coarse_minutes();
  if (control_.stamped(outline.slot) < minute) control_.stamp(outline.slot, stamp_of(minute));
  count(outline.meta.name_space, Counter::hits);
  count(outline.meta.name_space, Counter::saved_us, outline.header.compile_us);
  if (options_.trace != nullptr)
    options_.trace->note('h', outline.header.key, outline.header.record_length, outline.header.compile_us,
                         outline.meta.name_space);
}

// What nobody holds may stay mapped up to an eighth of the limit. Looked at again only when another segment was mapped.
void Store::limit_mappings() {
  const std::uint64_t opened = segments_.opened_bytes();
  if (opened <= limit() / 8 || opened == trimmed_to_.load(std::memory_order_relaxed)) return;
  table_->drop_if([](const Artifact& artifact) { return artifact.segment() != nullptr; }, true);
  segments_.sweep(true);
  trimmed_to_.store(segments_.opened_bytes(), std::memory_order_relaxed);
}

}  // namespace tlc::store
