// SPDX-License-Identifier: MIT
// The index from the segments: after it was damaged, lost, or the control file with it.
//
// Nobody waits for it. An empty index is current at once; whoever opens the store, misses or publishes indexes a few
// segments, one process at a time (the maintenance lock). What is not indexed yet is a miss. Segments are taken in
// order of id; control's rebuild_segment and rebuild_offset say how far it came, so that the next process goes on where
// a killed one stopped.
//
// Of a key's records the one with the highest sequence counts, a tombstone too: it stays in the index as such until the
// end of the rebuild, so that an older record met later does not bring the key back.
#include <algorithm>
#include <utility>

#include "port/clock.hpp"
#include "port/step.hpp"
#include "store/format.hpp"
#include "store/store.hpp"

namespace tlc::store {
namespace {

constexpr std::size_t kBatch = 256;

bool is_cleared(const Config& config, const RecordHeader& header) {
  return std::any_of(config.clears.begin(), config.clears.end(), [&](const auto& clear) {
    return header.sequence <= clear.second && (clear.first == "*" || namespace_id(clear.first) == header.namespace_id);
  });
}

}  // namespace

// Of two records of a key the one with the higher sequence counts. But where a power loss may have taken what it had,
// and the other was to survive, only if it is whole.
bool Store::is_better(const RecordHeader& found, const IndexRecord& known) {
  if (found.sequence == known.sequence) {  // the same record, written again by eviction: better if the other went
    if (found.segment == known.segment && found.offset == known.offset) return false;
    Result<std::shared_ptr<Segment>> other = segments_.get(known.segment);
    return !other || (*other)->unlinked() || !(*other)->has_whole(known.offset, id_);
  }
  const bool newer = found.sequence > known.sequence;
  if (control_.header()->durable.load(std::memory_order_relaxed) == 0) return newer;
  Result<std::shared_ptr<Segment>> segment = segments_.get(newer ? found.segment : known.segment);
  const bool whole = segment && (*segment)->has_whole(newer ? found.offset : known.offset, id_);
  return newer == whole;
}

Result<void> Store::index_batch(std::span<const RecordHeader> batch, const Config& config) {
  return index_.update([&](IndexWriter& index) -> Result<void> {
    for (const RecordHeader& header : batch) {
      control_.raise_sequence(header.sequence);
      IndexRecord old;
      Result<Lookup> got = index.get(header.key, old);
      if (!got) return std::move(got).error();
      if (is_cleared(config, header)) {  // an index from before a power loss may still have it
        if (*got == Lookup::hit && old.sequence == header.sequence)
          if (Result<bool> gone = index.remove(header.key); !gone) return std::move(gone).error();
        continue;
      }
      if (*got == Lookup::hit && intact(old, header.key) && !is_better(header, old)) continue;
      Result<bool> put = index.put(header.key, make_index_record(header, control_.take_slot()));
      if (!put) return std::move(put).error();
    }
    return {};
  });
}

// True if the whole segment was done, false if the time was up before.
Result<bool> Store::index_segment(std::uint64_t id, std::uint64_t until_ns) {
  Result<std::shared_ptr<Segment>> segment = Segment::open(segments_dir_.get(), id);
  if (!segment) return true;  // evicted, or of no use
  const Config config = current_config();
  std::vector<RecordHeader> batch;
  Result<void> done;
  bool whole = true;
  const auto flush = [&] {
    done = index_batch(batch, config);
    if (done && !batch.empty())
      control_.header()->rebuild_offset.store(batch.back().offset + batch.back().record_length);
    batch.clear();
    TLC_STEP("rebuild.batch");
    return done.ok();
  };
  (*segment)->for_each(control_.header()->rebuild_offset.load(), id_, [&](const RecordHeader& header) {
    batch.push_back(header);
    if (batch.size() < kBatch) return true;
    if (!flush()) return false;
    whole = port::monotonic_ns() < until_ns;
    return whole;
  });
  if (done && !batch.empty()) flush();
  if (!done) return std::move(done).error();
  return whole;
}

// Tombstones, and entries whose segment is gone: what a power loss left of an eviction. `segments` is sorted; those
// with higher ids came later.
Result<void> Store::forget_dead(const std::vector<std::uint64_t>& segments) {
  const auto is_dead = [&](const IndexRecord& record) {
    return record.kind == static_cast<std::uint8_t>(Kind::tombstone) ||
           (!segments.empty() && record.segment <= segments.back() &&
            !std::binary_search(segments.begin(), segments.end(), record.segment));
  };
  std::vector<trust::Digest> keys;
  const Lookup outcome = index_.for_each([&](const trust::Digest& key, const IndexRecord& record) {
    if (is_dead(record)) keys.push_back(key);
    return true;
  });
  if (outcome != Lookup::hit) return make_error(TLC_E_BUSY, "the index could not be read through");
  for (std::size_t at = 0; at < keys.size(); at += kBatch) {
    Result<void> done = index_.update([&](IndexWriter& index) -> Result<void> {
      for (std::size_t i = at; i < std::min(at + kBatch, keys.size()); ++i) {
        IndexRecord record;
        Result<Lookup> got = index.get(keys[i], record);
        if (!got) return std::move(got).error();
        if (*got != Lookup::hit || !is_dead(record)) continue;
        if (Result<bool> gone = index.remove(keys[i]); !gone) return std::move(gone).error();
      }
      return {};
    });
    if (!done) return done;
  }
  return {};
}

std::pair<std::uint64_t, std::uint64_t> Store::rebuild_progress() const {
  Result<std::vector<std::uint64_t>> ids = list_segments(segments_dir_.get());
  if (!ids) return {0, 0};
  const auto next = std::lower_bound(ids->begin(), ids->end(), control_.header()->rebuild_segment.load());
  return {static_cast<std::uint64_t>(next - ids->begin()), ids->size()};
}

bool Store::rebuild_some(std::uint64_t budget_ns) {
  ControlHeader* header = control_.header();
  if (header->rebuild.load(std::memory_order_acquire) == 0 || read_only()) return true;
  Result<WriteLock::Held> held = maintenance_lock_->acquire(port::Deadline::already());
  if (!held) return false;
  const std::uint64_t until = port::monotonic_ns() + budget_ns;
  Result<std::vector<std::uint64_t>> ids = list_segments(segments_dir_.get());
  if (!ids) return false;
  if (!ids->empty()) Appender::raise_next_segment(control_, ids->back());
  for (const std::uint64_t id : *ids) {
    if (id < header->rebuild_segment.load()) continue;
    if (header->rebuild_segment.load() != id) {  // else a process was killed, or its time was up, in this segment
      header->rebuild_offset.store(0);
      header->rebuild_segment.store(id);
    }
    Result<bool> whole = index_segment(id, until);
    if (!whole || !*whole) return false;
    header->rebuild_offset.store(0);
    header->rebuild_segment.store(id + 1);
    if (port::monotonic_ns() >= until && id != ids->back()) return false;
  }
  if (!forget_dead(*ids)) return false;
  header->rebuild.store(0, std::memory_order_release);
  header->change.fetch_add(1, std::memory_order_release);
  return true;
}

}  // namespace tlc::store
