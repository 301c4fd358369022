// SPDX-License-Identifier: MIT
// One segment goes: what the policy keeps of it is written again, the rest leaves the index, the file is unlinked.
//
// Entries are taken in small batches. What is to be kept is read before the write lock is taken; under it, if the index
// still points to the old place, the record is appended to another segment and the index pointed there, in one
// transaction. Its sequence, its times and its recency slot stay: it is the same generation, so the change counter does
// not move, and who has it mapped at the old place keeps it. Killed before the commit, the index points to the old
// place and the copy is unused bytes; killed after it, to the new.
//
// Where the index cannot be written (a full disk, say) the file is unlinked all the same: an entry whose segment is
// missing is a miss.
//
// Segments do not go in order of age, so the newest record of a key may go before an older one. A rebuild of the index
// must not bring that back: a tombstone, or the record of a later generation, leaves a tombstone behind while any
// segment is left that was made before it and may hold an older record.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "port/clock.hpp"
#include "port/file.hpp"
#include "port/step.hpp"
#include "store/format.hpp"
#include "store/store.hpp"

namespace tlc::store {
namespace {

constexpr std::size_t kBatch = 256;
constexpr std::uint64_t kBatchBytes = std::uint64_t{1} << 20;  // read before, and written under, the write lock
constexpr std::uint64_t kClockSlackNs = 60'000'000'000;
constexpr std::uint64_t kTombstoneShare = 8;  // of a segment's bytes may become tombstones

/// Age of an entry in seconds since it was last used or made.
std::uint64_t idle_seconds(const IndexRecord& record, std::uint32_t stamped_minute) {
  const std::uint64_t now = port::wall_ns() / 1'000'000'000;
  const std::uint64_t used =
      std::max<std::uint64_t>(std::uint64_t{stamped_minute} * 60, record.created_ns / 1'000'000'000);
  return now > used ? std::max<std::uint64_t>(now - used, 1) : 1;
}

/// The namespace at the start of a body.
std::string namespace_of(const Segment& segment, const RecordHeader& header) {
  std::uint16_t length = 0;
  if (header.meta_length < 2 || !segment.read(header.offset + kHeaderSize, &length, sizeof length)) return {};
  std::string name(std::min<std::size_t>(length, 128), '\0');
  if (!segment.read(header.offset + kHeaderSize + 2, name.data(), name.size())) return {};
  return name;
}

bool is_tombstone(const RecordHeader& header) {
  return header.kind == static_cast<std::uint16_t>(Kind::tombstone);
}

}  // namespace

/// A record of the segment that goes, read to be written again.
struct Copy {
  const RecordHeader* header;
  Body body;
  RecordImage image;
};

struct Store::Retiring {
  const Segment& segment;
  const Victim& victim;
  std::uint64_t older_ns;    // when the oldest of the other segments was made
  std::uint64_t tombstones;  // bytes that may still be written
  std::vector<Copy> copies;  // of the batch, by offset
  std::vector<const RecordHeader*> left_behind;
  struct Gone {
    const RecordHeader* header;
    std::uint64_t idle_s;
  };
  std::vector<Gone> gone;
  GcReport& report;
};

/// When the oldest segment but this was made, of those that may hold an older record of some key.
std::uint64_t Store::Survey::oldest_but(std::uint64_t id) const {
  std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
  for (const SegmentFacts& one : segments)
    if (one.id != id && !one.sole) oldest = std::min(oldest, one.created_ns);
  return oldest;
}

// Maintenance lock held.
Result<void> Store::retire(const Victim& victim, Survey& survey, GcReport& report) {
  Result<std::shared_ptr<Segment>> opened = Segment::open(segments_dir_.get(), victim.segment);
  if (opened) {
    const std::uint64_t size = (*opened)->size();
    Retiring retiring{**opened, victim, survey.oldest_but(victim.segment), size / kTombstoneShare, {}, {}, {}, report};
    unload(retiring);
  } else if (opened.error().status == TLC_MISS) {
    return {};
  }
  const std::string name = segment_name(victim.segment);
  struct stat st {};
  const bool known = ::fstatat(segments_dir_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
  TLC_STEP("evict.before_unlink");
  if (::unlinkat(segments_dir_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    return io_error(errno, "cannot remove segment " + name);
  TLC_STEP("evict.unlinked");
  std::erase_if(survey.segments, [&](const SegmentFacts& one) { return one.id == victim.segment; });
  ControlHeader* header = control_.header();
  header->removed_segments.fetch_add(1, std::memory_order_release);
  const std::uint64_t freed = known ? port::allocated_bytes(st) : 0;
  std::uint64_t used = header->used_bytes.load();
  while (!header->used_bytes.compare_exchange_weak(used, used - std::min(used, freed))) {
  }
  report.freed_bytes += freed;
  ++report.removed_files;
  return {};
}

void Store::unload(Retiring& retiring) {
  std::vector<RecordHeader> headers;
  retiring.segment.for_each(0, id_, [&](const RecordHeader& header) {
    headers.push_back(header);
    return true;
  });
  const auto keeps = [&](const RecordHeader& header) {
    return std::binary_search(retiring.victim.kept.begin(), retiring.victim.kept.end(), header.offset) &&
           ((header.flags & kStrict) == 0 || user_key() != nullptr);
  };
  for (std::size_t at = 0; at < headers.size();) {
    std::size_t end = at;
    std::uint64_t bytes = 0;
    retiring.copies.clear();
    for (; end < headers.size() && end - at < kBatch && bytes < kBatchBytes; ++end) {
      const RecordHeader& header = headers[end];
      if (!keeps(header)) continue;
      Body body = make_body(header.body_length);
      if (!retiring.segment.read(header.offset + kHeaderSize, body.get(), header.body_length)) continue;
      // What is damaged is not carried on, and a strict record is authenticated anew only if it was authentic.
      const std::span<const std::uint8_t> view(body.get(), header.body_length);
      const Result<RecordMeta> meta = parse_meta(header, view);
      if (!meta || check_members(header, *meta, view, user_key())) continue;
      RecordImage image = RecordImage::copy(header, view, user_key());
      retiring.copies.push_back({&header, std::move(body), std::move(image)});
      bytes += header.record_length;
    }
    if (!unload_batch(retiring, {headers.data() + at, end - at})) return;
    at = end;
    TLC_STEP("evict.batch");
  }
}

// False if the index cannot be written.
bool Store::unload_batch(Retiring& retiring, std::span<const RecordHeader> batch) {
  retiring.left_behind.clear();
  retiring.gone.clear();
  std::uint64_t moved_entries = 0, moved_bytes = 0;
  const Result<void> done = index_.update([&](IndexWriter& index) -> Result<void> {
    for (const RecordHeader& header : batch) {
      if (is_tombstone(header)) {
        retiring.left_behind.push_back(&header);
        continue;
      }
      IndexRecord record;
      Result<Lookup> got = index.get(header.key, record);
      if (!got) return std::move(got).error();
      // Only what still points here: a key may have been published again elsewhere.
      if (*got != Lookup::hit || record.segment != header.segment || record.offset != header.offset) continue;
      if (move(retiring, index, header, record)) {
        ++moved_entries;
        moved_bytes += header.record_length;
        continue;
      }
      if (Result<bool> removed = index.remove(header.key); !removed) return std::move(removed).error();
      retiring.gone.push_back({&header, idle_seconds(record, control_.stamped(record.slot))});
      if ((header.flags & kLater) != 0) retiring.left_behind.push_back(&header);
    }
    TLC_STEP("evict.before_commit");
    return {};
  });
  if (!done) return false;
  retiring.report.moved_entries += moved_entries;
  retiring.report.moved_bytes += moved_bytes;
  for (const RecordHeader* header : retiring.left_behind) bury(retiring, *header);
  for (const Retiring::Gone& gone : retiring.gone) {
    control_.note_removal(gone.header->key, RemovalReason::evicted);
    const std::string name = namespace_of(retiring.segment, *gone.header);
    count(name, Counter::evictions);
    count(name, Counter::youngest_evicted_s, gone.idle_s);
  }
  retiring.report.evicted_entries += retiring.gone.size();
  return true;
}

// Under the write lock, in a transaction. False if the record is not to be kept, or cannot be written.
bool Store::move(Retiring& retiring, IndexWriter& index, const RecordHeader& header, const IndexRecord& record) {
  const auto copy = std::find_if(retiring.copies.begin(), retiring.copies.end(),
                                 [&](const Copy& one) { return one.header == &header; });
  if (copy == retiring.copies.end()) return false;
  const Result<Place> place = appender_.append(copy->image, id_);
  if (!place) return false;
  control_.header()->used_bytes.fetch_add(header.record_length, std::memory_order_relaxed);
  TLC_STEP("evict.moved");
  return index.put(header.key, make_index_record(copy->image.header(), record.slot)).ok();
}

// A tombstone for the key, where one is needed.
void Store::bury(Retiring& retiring, const RecordHeader& header) {
  if (retiring.older_ns > header.sequence + kClockSlackNs) return;
  RecordImage image = RecordImage::tombstone(header);
  if (image.length() > retiring.tombstones) return;
  retiring.tombstones -= image.length();
  if (appender_.append(image, id_)) control_.header()->used_bytes.fetch_add(image.length(), std::memory_order_relaxed);
}

}  // namespace tlc::store
