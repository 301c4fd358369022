// SPDX-License-Identifier: MIT
// The limit: oldest segments go first, as wholes.
//
// One process evicts at a time (the maintenance lock). A segment's entries leave the index in small transactions, then
// the file is unlinked; who holds an artifact in it keeps it. Where the index cannot be written (a full disk, say) the
// file is unlinked all the same: an entry whose segment is missing is a miss.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "port/clock.hpp"
#include "port/file.hpp"
#include "port/lock.hpp"
#include "port/step.hpp"
#include "store/format.hpp"
#include "store/opening_mark.hpp"
#include "store/store.hpp"

namespace tlc::store {
namespace {

constexpr std::size_t kBatch = 256;
constexpr std::uint64_t kWaitMs = 1000;
constexpr std::int64_t kLeftoverAgeS = 3600;
constexpr std::int64_t kAsideAgeS = std::int64_t{7} * 24 * 3600;
constexpr std::int64_t kOldFormatAgeS = std::int64_t{30} * 24 * 3600;

std::int64_t age_of(const struct stat& st) {
  return static_cast<std::int64_t>(port::wall_ns() / 1'000'000'000) - st.st_mtim.tv_sec;
}

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

}  // namespace

std::uint64_t Store::measure() {
  Result<std::uint64_t> bytes = port::tree_allocated_bytes(dir_.get());
  if (!bytes) return control_.header()->used_bytes.load();
  if (control_.writable()) control_.header()->used_bytes.store(*bytes, std::memory_order_relaxed);
  return *bytes;
}

bool Store::make_room(std::uint64_t bytes) {
  const auto fits = [&] { return control_.header()->used_bytes.load(std::memory_order_relaxed) + bytes <= limit(); };
  if (fits()) return true;
  Result<WriteLock::Held> held = maintenance_lock_->acquire(port::Deadline::after_ms(kWaitMs));
  if (!held) return fits();
  if (measure() + bytes <= limit()) return true;
  GcReport folders;
  remove_idle_folders(folders);
  if (measure() + bytes <= limit()) return true;
  const std::uint64_t low_water = limit() / 10 * 9;
  (void)evict_to(low_water > bytes ? low_water - bytes : 0, {});
  return fits();
}

// On a full disk, whatever the limit says. True if something was freed.
bool Store::free_disk(std::uint64_t bytes) {
  Result<WriteLock::Held> held = maintenance_lock_->acquire(port::Deadline::after_ms(kWaitMs));
  if (!held) return false;
  GcReport folders;
  remove_idle_folders(folders);
  const std::uint64_t used = measure();
  const Result<GcReport> report = evict_to(used > bytes ? used - bytes : 0, {});
  return folders.removed_files != 0 || (report && report->removed_files != 0);
}

// Maintenance lock held.
Result<GcReport> Store::evict_to(std::uint64_t target, const Progress& progress) {
  GcReport report;
  const std::uint64_t start = control_.header()->used_bytes.load();
  for (int round = 0; round < 2; ++round) {
    Result<std::vector<std::uint64_t>> ids = list_segments(segments_dir_.get());
    if (!ids) return std::move(ids).error();
    for (const std::uint64_t id : *ids) {
      const std::uint64_t used = control_.header()->used_bytes.load();
      if (used <= target) return report;
      if (progress && !progress(start - std::min(start, used), start - std::min(start, target)))
        return make_error(TLC_E_CANCELLED, "stopped by the caller");
      if (appender_.is_active(id)) continue;
      if (Result<void> gone = evict_segment(id, report); !gone) return std::move(gone).error();
    }
    // Only segments that take appends are left.
    if (control_.header()->used_bytes.load() <= target || appender_.seal_all() == 0) break;
  }
  return report;
}

Result<void> Store::evict_segment(std::uint64_t id, GcReport& report) {
  Result<std::shared_ptr<Segment>> opened = Segment::open(segments_dir_.get(), id);
  if (opened)
    forget_entries_of(**opened, report);
  else if (opened.error().status == TLC_MISS)
    return {};
  const std::string name = segment_name(id);
  struct stat st {};
  const bool known = ::fstatat(segments_dir_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
  TLC_STEP("evict.before_unlink");
  if (::unlinkat(segments_dir_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    return io_error(errno, "cannot remove segment " + name);
  TLC_STEP("evict.unlinked");
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

// Only entries that still point into the segment: a key may have been published again elsewhere.
void Store::forget_entries_of(const Segment& segment, GcReport& report) {
  std::vector<RecordHeader> headers;
  segment.for_each(0, id_, [&](const RecordHeader& header) {
    if (header.kind != static_cast<std::uint16_t>(Kind::tombstone)) headers.push_back(header);
    return true;
  });
  for (std::size_t at = 0; at < headers.size(); at += kBatch) {
    const std::span<const RecordHeader> batch(headers.data() + at, std::min(kBatch, headers.size() - at));
    std::vector<std::pair<const RecordHeader*, std::uint64_t>> gone;  // with idle seconds
    const Result<void> done = index_.update([&](IndexWriter& index) -> Result<void> {
      for (const RecordHeader& header : batch) {
        IndexRecord record;
        Result<Lookup> got = index.get(header.key, record);
        if (!got) return std::move(got).error();
        if (*got != Lookup::hit || record.segment != segment.id() || record.offset != header.offset) continue;
        if (Result<bool> removed = index.remove(header.key); !removed) return std::move(removed).error();
        gone.emplace_back(&header, idle_seconds(record, control_.stamped(record.slot)));
      }
      return {};
    });
    if (!done) return;
    for (const auto& [header, idle] : gone) {
      control_.note_removal(header->key, RemovalReason::evicted);
      const std::string name = namespace_of(segment, *header);
      count(name, Counter::evictions);
      count(name, Counter::youngest_evicted_s, idle);
    }
    report.evicted_entries += gone.size();
    TLC_STEP("evict.batch");
  }
}

// After a clear. Segments that take appends are sealed first. Until a rebuild is through, a segment without an entry
// may merely not be indexed yet: then only what is cleared as a whole goes.
Result<GcReport> Store::free_cleared(bool all) {
  GcReport report;
  Result<WriteLock::Held> held = maintenance_lock_->acquire(port::Deadline::after_ms(kWaitMs));
  if (!held || (!all && control_.header()->rebuild.load() != 0)) return report;
  appender_.seal_all();
  if (Result<void> done = free_unused(true, report); !done) return std::move(done).error();
  return report;
}

// Segments without an entry, which is what processes leave that were killed before their commit. Young ones may belong
// to a put that is under way. Maintenance lock held.
Result<void> Store::free_unused(bool young_too, GcReport& report) {
  std::vector<std::uint64_t> used;
  const Lookup walked = index_.for_each([&](const trust::Digest&, const IndexRecord& record) {
    used.push_back(record.segment);
    return true;
  });
  if (walked != Lookup::hit) return {};  // what it did not name may be in use
  std::sort(used.begin(), used.end());
  Result<std::vector<std::uint64_t>> ids = list_segments(segments_dir_.get());
  if (!ids) return std::move(ids).error();
  for (const std::uint64_t id : *ids) {
    if (std::binary_search(used.begin(), used.end(), id) || appender_.is_active(id)) continue;
    struct stat st {};
    if (::fstatat(segments_dir_.get(), segment_name(id).c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!young_too && age_of(st) < kLeftoverAgeS) continue;
    if (Result<void> gone = evict_segment(id, report); !gone) return gone;
  }
  return {};
}

Result<GcReport> Store::collect(std::uint64_t max_bytes, const Progress& progress) {
  if (read_only()) return make_error(TLC_NOT_STORED, "the store is read-only");
  Result<WriteLock::Held> held = maintenance_lock_->acquire(port::Deadline::after_ms(10 * kWaitMs));
  if (!held && held.error().status == kReplaced) return std::move(held).error();
  if (!held) return make_error(TLC_E_BUSY, "another process is evicting or rebuilding; try again later");
  GcReport leftovers;
  remove_leftovers(leftovers);
  if (control_.header()->rebuild.load() == 0) (void)free_unused(false, leftovers);
  (void)measure();
  Result<GcReport> report = evict_to(max_bytes == 0 ? limit() : max_bytes, progress);
  if (!report) return report;
  report->removed_files += leftovers.removed_files;
  report->freed_bytes += leftovers.freed_bytes;
  return report;
}

// What killed processes leave behind: temporary files, index folders that are not current, formats nobody uses.
void Store::remove_leftovers(GcReport& report) {
  const auto remove_old = [&](int dir, const std::string& name, std::int64_t least_age) {
    struct stat st {};
    if (::fstatat(dir, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || age_of(st) < least_age) return;
    if (port::remove_tree_at(dir, name.c_str())) ++report.removed_files;
  };
  const std::string current = "index-" + std::to_string(control_.header()->index_generation.load());
  for (const char* folder : {".", "segments", "files"}) {
    Result<port::Fd> dir = port::open_at(dir_.get(), folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!dir) continue;
    Result<std::vector<std::string>> names = port::list_dir_at(dir->get(), ".");
    if (!names) continue;
    for (const std::string& name : *names)
      if (port::is_temporary_name(name) || (name.starts_with("index-") && name != current))
        remove_old(dir->get(), name, kLeftoverAgeS);
  }
  remove_idle_folders(report);
  Result<port::Fd> root = port::open_at(AT_FDCWD, options_.root.c_str(), O_RDONLY | O_DIRECTORY);
  if (!root) return;
  Result<std::vector<std::string>> names = port::list_dir_at(root->get(), ".");
  if (!names) return;
  for (const std::string& name : *names)
    if (name.starts_with("tlc") && name.find("-lmdb") != std::string::npos && name != format_folder_name())
      remove_old(root->get(), name, is_aside_name(name) ? kAsideAgeS : kOldFormatAgeS);
}

}  // namespace tlc::store
