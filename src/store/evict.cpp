// SPDX-License-Identifier: MIT
// The limit: when there is too much, and which segments go. What becomes of a segment that goes is in retire.cpp.
//
// One process evicts at a time (the maintenance lock): it looks through index and segments, asks the policy
// (policy.hpp) for an order, and takes segments out until there is little enough. Where the index cannot be read, or is
// being rebuilt, the oldest go first.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "port/clock.hpp"
#include "port/file.hpp"
#include "port/lock.hpp"
#include "store/format.hpp"
#include "store/opening_mark.hpp"
#include "store/policy.hpp"
#include "store/reservation.hpp"
#include "store/store.hpp"

namespace tlc::store {
namespace {

constexpr std::uint64_t kWaitMs = 1000;
constexpr std::int64_t kLeftoverAgeS = 3600;
constexpr std::int64_t kAsideAgeS = std::int64_t{7} * 24 * 3600;
constexpr std::int64_t kOldFormatAgeS = std::int64_t{30} * 24 * 3600;

std::int64_t age_of(const struct stat& st) {
  return static_cast<std::int64_t>(port::wall_ns() / 1'000'000'000) - st.st_mtim.tv_sec;
}

// Publishing starts to evict over the first and goes down to the second, so that only what comes faster than it can be
// evicted meets the limit itself.
std::uint64_t soft_limit(std::uint64_t limit) {
  return limit / 32 * 31;
}
std::uint64_t low_water(std::uint64_t limit) {
  return limit / 10 * 9;
}

std::uint64_t less(std::uint64_t a, std::uint64_t b) {
  return a - std::min(a, b);
}

std::optional<SegmentFacts> facts_of(int segments_dir, std::uint64_t id) {
  struct {
    SegmentHeader segment;
    RecordHeader first;
  } start{};
  static_assert(sizeof start == kSegmentHeaderSize + kHeaderSize);
  Result<port::Fd> file = port::open_at(segments_dir, segment_name(id).c_str(), O_RDONLY | O_NOFOLLOW);
  struct stat st {};
  if (!file || ::fstat(file->get(), &st) != 0) return std::nullopt;
  const Result<std::size_t> got = port::pread_full(file->get(), &start, sizeof start, 0);
  SegmentFacts facts;
  facts.id = id;
  facts.bytes = port::allocated_bytes(st);
  if (!got || *got < kSegmentHeaderSize || !is_segment_header(start.segment, id)) return facts;
  facts.created_ns = start.segment.created_ns;
  facts.sole =
      *got == sizeof start && start.first.magic == kRecordMagic &&
      kSegmentHeaderSize + start.first.record_length + kSegmentFooterSize == static_cast<std::uint64_t>(st.st_size);
  return facts;
}

PolicyEntry policy_entry(const IndexRecord& record, std::uint32_t used_minute, bool has_user_key) {
  PolicyEntry entry;
  entry.segment = record.segment;
  entry.offset = record.offset;
  entry.bytes = record.length;
  entry.sequence = record.sequence;
  entry.name_space = record.namespace_id;
  entry.compile_ms = record.kind == static_cast<std::uint8_t>(Kind::failure) ? 1 : record.compile_ms;
  // Sequences follow the wall clock and never go back, as it may.
  entry.made_minute = static_cast<std::uint32_t>(record.sequence / 60'000'000'000U);
  entry.used_minute = used_minute;
  entry.movable = has_user_key || (record.flags & kStrict) == 0;
  return entry;
}

}  // namespace

// What others add while the folder is walked is not lost: some of it may count twice, until the next time.
std::uint64_t Store::measure() {
  SharedWord& used = control_.header()->used_bytes;
  const std::uint64_t before = used.load();
  Result<std::uint64_t> bytes = port::tree_allocated_bytes(dir_.get());
  if (!bytes || !control_.writable()) return bytes ? *bytes : before;
  std::uint64_t now = used.load();
  while (!used.compare_exchange_weak(now, *bytes + less(now, before))) {
  }
  return *bytes + less(now, before);
}

// Over the soft limit whoever comes first evicts, and the others go on; at the limit all wait for it.
std::optional<Reservation> Store::make_room(std::uint64_t bytes) {
  ControlHeader& header = *control_.header();
  if (header.used_bytes.load(std::memory_order_relaxed) + reserved_bytes(header) + bytes > soft_limit(limit()))
    if (Result<WriteLock::Held> held = maintenance_lock_->acquire(port::Deadline::already()); held) relieve(bytes);
  if (std::optional<Reservation> room = Reservation::take(header, bytes, limit())) return room;
  if (Result<WriteLock::Held> held = maintenance_lock_->acquire(port::Deadline::after_ms(kWaitMs)); held)
    relieve(bytes);
  return Reservation::take(header, bytes, limit());
}

// Maintenance lock held.
void Store::relieve(std::uint64_t bytes) {
  const auto relieved = [&] { return measure() + reserved_bytes(*control_.header()) + bytes <= soft_limit(limit()); };
  if (relieved()) return;
  GcReport folders;
  remove_idle_folders(folders);
  if (relieved()) return;
  (void)evict_to(less(low_water(limit()), bytes + reserved_bytes(*control_.header())), {});
}

// On a full disk, whatever the limit says. True if something was freed. Nothing can be kept by writing it again.
bool Store::free_disk(std::uint64_t bytes) {
  Result<WriteLock::Held> held = maintenance_lock_->acquire(port::Deadline::after_ms(kWaitMs));
  if (!held) return false;
  GcReport folders;
  remove_idle_folders(folders);
  const Result<GcReport> report = evict_to(less(measure(), bytes), {}, false);
  return folders.removed_files != 0 || (report && report->removed_files != 0);
}

Result<Store::Survey> Store::survey() {
  Survey survey;
  Result<std::vector<std::uint64_t>> ids = list_segments(segments_dir_.get());
  if (!ids) return std::move(ids).error();
  const Lookup walked = index_.for_each([&](const trust::Digest& key, const IndexRecord& record) {
    if (intact(record, key) && record.kind != static_cast<std::uint8_t>(Kind::tombstone))
      survey.entries.push_back(policy_entry(record, control_.stamped(record.slot), user_key() != nullptr));
    return true;
  });
  // While a rebuild goes on, what is not indexed yet would look as if nothing lived in it.
  if (walked != Lookup::hit || control_.header()->rebuild.load() != 0) survey.entries.clear();
  std::vector<std::uint64_t> live;
  live.reserve(survey.entries.size());
  for (const PolicyEntry& entry : survey.entries) live.push_back(entry.segment);
  std::sort(live.begin(), live.end());
  for (const std::uint64_t id : *ids) {
    std::optional<SegmentFacts> facts = facts_of(segments_dir_.get(), id);
    if (!facts) continue;
    facts->sole = facts->sole && std::binary_search(live.begin(), live.end(), id);
    survey.segments.push_back(*facts);
  }
  return survey;
}

// Maintenance lock held.
Result<GcReport> Store::evict_to(std::uint64_t target, const Progress& progress, bool may_write) {
  GcReport report;
  const SharedWord& used = control_.header()->used_bytes;
  const std::uint64_t start = used.load();
  for (int round = 0; round < 2; ++round) {
    Result<Survey> seen = survey();
    if (!seen) return std::move(seen).error();
    std::vector<PolicySegment> sealed;
    for (const SegmentFacts& segment : seen->segments)
      if (!appender_.is_active(segment.id)) sealed.push_back({segment.id, segment.bytes});
    for (const Victim& victim : plan_eviction(std::move(sealed), seen->entries, may_write)) {
      const std::uint64_t now = used.load();
      if (now <= target) return report;
      if (progress && !progress(less(start, now), less(start, target)))
        return make_error(TLC_E_CANCELLED, "stopped by the caller");
      if (Result<void> gone = retire(victim, *seen, report); !gone) return std::move(gone).error();
    }
    if (used.load() <= target) break;
    // What is left takes appends, or was written just now: then nothing is kept any more.
    appender_.seal_all();
    may_write = false;
  }
  return report;
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
  Result<Survey> seen = survey();
  if (!seen) return std::move(seen).error();
  const std::vector<SegmentFacts> segments = seen->segments;  // those of the survey change
  for (const SegmentFacts& segment : segments) {
    if (std::binary_search(used.begin(), used.end(), segment.id) || appender_.is_active(segment.id)) continue;
    struct stat st {};
    if (::fstatat(segments_dir_.get(), segment_name(segment.id).c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!young_too && age_of(st) < kLeftoverAgeS) continue;
    if (Result<void> gone = retire({segment.id, {}}, *seen, report); !gone) return gone;
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
