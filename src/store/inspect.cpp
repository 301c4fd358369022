// SPDX-License-Identifier: MIT
// What is in the store, and whether it is whole.
#include <algorithm>
#include <cstring>
#include <utility>

#include "port/file.hpp"
#include "store/format.hpp"
#include "store/store.hpp"

namespace tlc::store {
namespace {

struct Listed {
  trust::Digest key;
  IndexRecord record;
};

/// A record read once, without keeping it: view of the mapping, or a copy.
struct Loaded {
  RecordHeader header{};
  Body copy;
  std::span<const std::uint8_t> body;
};

std::optional<std::string> load(const Segment& segment, const trust::Digest& key, const IndexRecord& record,
                                const trust::MacKey& id, Loaded& out) {
  if (record.length < kHeaderSize) return "the index record is damaged";
  if (!segment.read(record.offset, &out.header, sizeof out.header)) return "the segment is cut short";
  if (auto fault = check_header(out.header, record.segment, record.offset, id)) return fault;
  if (out.header.key != key || out.header.sequence != record.sequence || out.header.record_length != record.length)
    return "the index points to another record";
  out.body = segment.view(record.offset + kHeaderSize, out.header.body_length);
  if (!out.body.empty()) return std::nullopt;
  if (out.header.body_length > segment.size()) return "the segment is cut short";
  out.copy = make_body(out.header.body_length);
  if (!segment.read(record.offset + kHeaderSize, out.copy.get(), out.header.body_length))
    return "the segment is cut short";
  out.body = {out.copy.get(), out.header.body_length};
  return std::nullopt;
}

}  // namespace

Result<void> Store::for_each_key(const IndexReader::Visitor& fn) {
  const Lookup outcome = index_.for_each(
      [&](const trust::Digest& key, const IndexRecord& record) { return !intact(record, key) || fn(key, record); });
  if (outcome == Lookup::corrupt)
    return make_error(TLC_E_CORRUPT, "the index is damaged; the next publish rebuilds it");
  return {};
}

Result<void> Store::for_each(std::string_view name_space, const std::function<bool(const Entry&)>& fn) {
  const std::uint64_t wanted = namespace_id(name_space);
  std::vector<Listed> listed;
  Result<void> walked = for_each_key([&](const trust::Digest& key, const IndexRecord& record) {
    if (record.kind != static_cast<std::uint8_t>(Kind::tombstone) &&
        (name_space.empty() || record.namespace_id == wanted))
      listed.push_back({key, record});
    return true;
  });
  if (!walked) return walked;
  std::sort(listed.begin(), listed.end(), [](const Listed& a, const Listed& b) {
    return std::pair(a.record.segment, a.record.offset) < std::pair(b.record.segment, b.record.offset);
  });
  for (const Listed& one : listed) {
    Result<std::shared_ptr<Segment>> segment = segments_.get(one.record.segment);
    if (!segment) continue;
    Loaded loaded;
    if (load(**segment, one.key, one.record, id_, loaded)) continue;
    Result<RecordMeta> meta = parse_meta(loaded.header, loaded.body);
    if (!meta) continue;
    const Entry entry{one.key, one.record, &*meta, loaded.header.compile_us, control_.stamped(one.record.slot)};
    if (!fn(entry)) break;
  }
  limit_mappings();
  return {};
}

StoreStats Store::stats() {
  fold_counters();
  StoreStats stats;
  stats.namespaces = read_counters(control_);
  stats.entries = index_.entries();
  stats.disk_bytes = measure();
  stats.limit = limit();
  const SegmentSet::Usage usage = segments_.usage();
  stats.mapped = usage.mapped;
  stats.unlinked = usage.unlinked;
  if (Result<std::vector<std::uint64_t>> ids = list_segments(segments_dir_.get()); ids) stats.segments = ids->size();
  if (Result<std::uint64_t> bytes = port::tree_allocated_bytes(segments_dir_.get()); bytes)
    stats.segment_bytes = *bytes;
  stats.index_bytes = index_.used_bytes();
  stats.index_generation = control_.header()->index_generation.load();
  stats.rebuilding = control_.header()->rebuild.load() != 0;
  return stats;
}

std::optional<Damage> Store::examine(const trust::Digest& key, const IndexRecord& record) {
  const auto damage = [&](std::string reason, std::string label = {}) {
    return Damage{key, std::move(label), std::move(reason), false};
  };
  if (!intact(record, key)) return damage("the index record is damaged");
  if (record.kind == static_cast<std::uint8_t>(Kind::tombstone)) return std::nullopt;
  Result<std::shared_ptr<Segment>> segment = segments_.get(record.segment);
  if (!segment) return damage(segment.error().status == TLC_MISS ? "its segment is missing" : segment.error().message);
  Loaded loaded;
  if (auto fault = load(**segment, key, record, id_, loaded)) return damage(*fault);
  Result<RecordMeta> meta = parse_meta(loaded.header, loaded.body);
  if (!meta) return damage(meta.error().message);
  if (auto fault = check_members(loaded.header, *meta, loaded.body, user_key()))
    return damage(*fault, std::string(meta->label));
  return std::nullopt;
}

// Another program may have damaged or deleted it since it was read; the control file has what matters of it, and this
// process the rest. Returns what was wrong, "" if nothing was.
std::string Store::mend_config(bool repair) {
  Result<WriteLock::Held> held = write_lock_->acquire(port::Deadline::after_ms(1000));
  if (!held) return {};
  std::string fault;
  Result<std::optional<Config>> read = read_config(dir_.get());
  if (!read)
    fault = read.error().message;
  else if (!*read)
    fault = "the config file is damaged or gone";
  else if ((*read)->id.bytes != id_.bytes)
    fault = "the config file is of another store";
  if (fault.empty() && control_.limits_intact()) return {};
  if (fault.empty()) fault = "the limit in the control file is damaged";
  if (!repair) return fault;
  Config config = current_config();
  config.id = id_;
  if (control_.limits_intact()) config.limit = limit();
  if (control_.limits_intact()) config.segment_size = control_.header()->segment_size.load();
  control_.set_limits(config.limit, config.segment_size);
  (void)write_config(dir_.get(), config, options_.durable);
  control_.header()->config_version.fetch_add(1, std::memory_order_release);
  return fault;
}

Result<VerifyReport> Store::verify(bool repair, const Progress& progress) {
  if (repair && read_only()) return make_error(TLC_NOT_STORED, "the store is read-only: it cannot be repaired");
  VerifyReport report;
  if (!read_only()) {
    Result<std::string> fault = index_.validate_now(repair);
    if (!fault) return std::move(fault).error();
    report.index_fault = std::move(*fault);
    if (repair)
      while (!rebuild_some(100'000'000)) {
        const auto [done, total] = rebuild_progress();
        if (progress && !progress(done, total)) return make_error(TLC_E_CANCELLED, "stopped by the caller");
      }
    report.config_fault = mend_config(repair);
  }
  std::vector<Listed> listed;
  (void)index_.for_each([&](const trust::Digest& key, const IndexRecord& record) {
    listed.push_back({key, record});
    return true;
  });
  for (const Listed& one : listed) {
    if (progress && !progress(report.entries, listed.size()))
      return make_error(TLC_E_CANCELLED, "stopped by the caller");
    ++report.entries;
    report.bytes += one.record.length;
    std::optional<Damage> damage = examine(one.key, one.record);
    if (!damage) continue;
    if (repair) {
      const Result<tlc_status> gone = remove(one.key, one.record.sequence, RemovalReason::invalidated);
      damage->repaired = gone.ok();
    }
    report.damaged.push_back(std::move(*damage));
  }
  if (repair) {
    GcReport leftovers;
    if (Result<WriteLock::Held> held = maintenance_lock_->acquire(port::Deadline::after_ms(1000)); held) {
      remove_leftovers(leftovers);
      if (control_.header()->rebuild.load() == 0) (void)free_unused(false, leftovers);
    }
    report.leftovers = leftovers.removed_files;
  }
  limit_mappings();
  return report;
}

std::optional<Control::Removal> Store::removal_of(const trust::Digest& key) const {
  const Control::Removal removal = control_.find_removal(key);
  if (removal.minute == 0) return std::nullopt;
  return removal;
}

}  // namespace tlc::store
