// SPDX-License-Identifier: MIT
// put, remove, clear: what changes the store.
//
// A put is: room made and set aside, record appended, index transaction. A process killed before the transaction leaves
// bytes that no index points to and a rebuild may find: they are a whole record of the key, or none.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "port/clock.hpp"
#include "port/step.hpp"
#include "store/format.hpp"
#include "store/store.hpp"

namespace tlc::store {
namespace {

constexpr std::size_t kBatch = 256;
constexpr std::uint64_t kRebuildOnPutNs = 2'000'000;
constexpr std::uint64_t kSpare = std::uint64_t{4} << 20;  // for the index and what others write meanwhile

bool is_full(int sys_errno) {
  return sys_errno == ENOSPC || sys_errno == EDQUOT;
}

PutResult outcome(tlc_status status, std::string reason, int sys_errno = 0) {
  PutResult result;
  result.status = status;
  result.reason = std::move(reason);
  result.sys_errno = sys_errno;
  return result;
}

PutResult outcome(Error error) {
  return outcome(error.status, std::move(error.message), error.sys_errno);
}

}  // namespace

IndexRecord make_index_record(const RecordHeader& header, std::uint32_t slot) {
  IndexRecord record;
  record.kind = static_cast<std::uint8_t>(header.kind);
  record.flags = static_cast<std::uint16_t>(header.flags);
  record.slot = slot;
  record.namespace_id = header.namespace_id;
  record.segment = header.segment;
  record.offset = header.offset;
  record.length = header.record_length;
  record.sequence = header.sequence;
  record.hash_lo = header.hash_lo;
  record.hash_hi = header.hash_hi;
  record.created_ns = header.created_ns;
  record.compile_ms = static_cast<std::uint32_t>(std::min<std::uint64_t>(header.compile_us / 1000, UINT32_MAX));
  record.label_hash = header.label_hash;
  seal(record, header.key);
  return record;
}

Store::Seen Store::look(const trust::Digest& key) {
  const Found found = get(key, true);
  // A failure record gives way to whatever is published.
  if (found.outcome == Outcome::hit)
    return {found.artifact->kind() != Kind::failure, found.artifact->header().sequence};
  return {false, found.sequence};
}

PutResult Store::put(const RecordContent& content, PutMode mode) {
  if (read_only()) return outcome(TLC_NOT_STORED, "the store is read-only");
  const Seen seen = look(content.key);
  if (!mode.replace && seen.present) return outcome(TLC_EXISTED, "the key is already stored");
  RecordContent described = content;
  described.later = seen.sequence != 0 || mode.expected != 0;
  Result<RecordImage> image = RecordImage::make(described, control_.next_sequence(), port::wall_ns(), user_key());
  if (!image) return outcome(std::move(image).error());
  if (image->length() > limit() / 8)
    return outcome(TLC_TOO_LARGE, "the artifact takes " + std::to_string(image->length()) +
                                      " bytes, over an eighth of the store's limit of " + std::to_string(limit()));
  PutResult result = publish(*image, mode, seen);
  // Unlinking needs no space, so a full disk makes room like a full store.
  if (result.status == TLC_NOT_STORED && is_full(result.sys_errno) && free_disk(image->length() + kSpare))
    result = publish(*image, mode, seen);
  if (result.status == TLC_OK) count(content.name_space, Counter::puts);
  if (result.status == TLC_OK && options_.trace != nullptr)
    options_.trace->note('p', content.key, image->length(), content.compile_us, content.name_space);
  if (result.status == TLC_NOT_STORED) count(content.name_space, Counter::not_stored);
  if (control_.header()->rebuild.load(std::memory_order_relaxed) != 0) (void)rebuild_some(kRebuildOnPutNs);
  return result;
}

PutResult Store::publish(RecordImage& image, const PutMode& mode, const Seen& seen) {
  const std::uint64_t space = appender_.space_for(image.length());
  std::optional<Reservation> room = make_room(space);
  if (!room) return outcome(TLC_NOT_STORED, "no room could be made under the store's limit");
  TLC_STEP("put.reserved");
  Result<Place> place = appender_.append(image, id_);
  if (place) room->settle(space);
  if (!place && place.error().sys_errno == ENOENT && replaced())
    return outcome(kReplaced, "the store's folder was removed or replaced");
  if (!place) return outcome(std::move(place).error());
  return index_record(image, *place, mode, seen);
}

// What the index has now decides, not what was seen: only an entry that was seen to be unusable counts as absent.
PutResult Store::index_record(const RecordImage& image, Place place, const PutMode& mode, const Seen& seen) {
  const RecordHeader& header = image.header();
  tlc_status status = TLC_OK;
  bool replaced = false;
  TLC_STEP("put.appended");
  Result<void> done = index_.update([&](IndexWriter& index) -> Result<void> {
    IndexRecord old;
    Result<Lookup> got = index.get(header.key, old);
    if (!got) return std::move(got).error();
    // A rebuild in another process may have found this very record already.
    if (*got == Lookup::hit && intact(old, header.key) && old.sequence == header.sequence) return {};
    replaced = *got == Lookup::hit;
    const bool present = replaced && intact(old, header.key) &&
                         old.kind != static_cast<std::uint8_t>(Kind::tombstone) &&
                         (seen.present || old.sequence != seen.sequence);
    if (!mode.replace && present) status = TLC_EXISTED;
    if (mode.replace && (mode.expected == 0 ? present : !present || old.sequence != mode.expected))
      status = TLC_CONFLICT;
    if (status != TLC_OK) return make_error(status, "");
    const Result<bool> stored = index.put(header.key, make_index_record(header, control_.take_slot()));
    if (!stored) return stored.error();
    TLC_STEP("put.before_commit");
    return {};
  });
  TLC_STEP("put.committed");
  if (status == TLC_EXISTED) return outcome(TLC_EXISTED, "the key is already stored");
  if (status == TLC_CONFLICT) return outcome(TLC_CONFLICT, "another generation of the key is stored");
  if (!done) return outcome(std::move(done).error());
  if (replaced) control_.header()->change.fetch_add(1, std::memory_order_release);
  PutResult result;
  result.sequence = header.sequence;
  result.place = place;
  return result;
}

// So that a rebuild does not bring back what was removed.
Result<void> Store::append_tombstone(const trust::Digest& key, std::string_view name_space) {
  RecordContent content;
  content.kind = Kind::tombstone;
  content.key = key;
  content.name_space = name_space;
  Result<RecordImage> image = RecordImage::make(content, control_.next_sequence(), port::wall_ns(), user_key());
  if (!image) return std::move(image).error();
  Result<Place> place = appender_.append(*image, id_);
  if (!place) return std::move(place).error();
  control_.header()->used_bytes.fetch_add(image->length(), std::memory_order_relaxed);
  if (control_.header()->rebuild.load() == 0) return {};
  return index_.update([&](IndexWriter& index) -> Result<void> {
    const Result<bool> put = index.put(key, make_index_record(image->header(), 0));
    return put ? Result<void>{} : Result<void>(put.error());
  });
}

Result<tlc_status> Store::remove(const trust::Digest& key, std::uint64_t sequence, RemovalReason reason) {
  if (read_only()) return make_error(TLC_NOT_STORED, "the store is read-only");
  bool removed = false;
  std::uint64_t segment = 0;
  Result<void> done = index_.update([&](IndexWriter& index) -> Result<void> {
    IndexRecord old;
    Result<Lookup> got = index.get(key, old);
    if (!got) return std::move(got).error();
    if (*got != Lookup::hit || old.kind == static_cast<std::uint8_t>(Kind::tombstone)) return {};
    if (sequence != 0 && old.sequence != sequence) return {};
    segment = old.segment;
    Result<bool> gone = index.remove(key);
    if (!gone) return std::move(gone).error();
    removed = *gone;
    return {};
  });
  if (!done) return std::move(done).error();
  const bool rebuilding = control_.header()->rebuild.load() != 0;
  if (removed) {
    control_.header()->change.fetch_add(1, std::memory_order_release);
    control_.note_removal(key, reason);
  }
  table_->drop(key);
  // A full disk must not keep anything from being removed: then only a rebuild could bring it back.
  if (removed || rebuilding) (void)append_tombstone(key, "tlc.tombstone");
  return removed ? tlc_status{TLC_OK} : tlc_status{TLC_MISS};
}

Result<std::uint64_t> Store::clear(const std::string& name_space) {
  if (read_only()) return make_error(TLC_NOT_STORED, "the store is read-only");
  const std::uint64_t floor = control_.next_sequence();
  {
    Result<WriteLock::Held> held = write_lock_->acquire(port::Deadline::after_ms(5000));
    if (!held) return std::move(held).error();
    Config config = current_config();
    config.clears[name_space.empty() ? "*" : name_space] = floor;
    if (name_space.empty()) std::erase_if(config.clears, [](const auto& entry) { return entry.first != "*"; });
    if (Result<void> done = write_config(dir_.get(), config, config_durable()); !done) return std::move(done).error();
    control_.header()->config_version.fetch_add(1, std::memory_order_release);
  }
  TLC_STEP("clear.config");
  const std::uint64_t id = namespace_id(name_space);
  std::vector<trust::Digest> keys;
  (void)index_.for_each([&](const trust::Digest& key, const IndexRecord& record) {
    if (record.sequence <= floor && (name_space.empty() || record.namespace_id == id)) keys.push_back(key);
    return true;
  });
  std::uint64_t removed = 0;
  for (std::size_t at = 0; at < keys.size(); at += kBatch) {
    Result<void> done = index_.update([&](IndexWriter& index) -> Result<void> {
      for (std::size_t i = at; i < std::min(at + kBatch, keys.size()); ++i) {
        IndexRecord old;
        Result<Lookup> got = index.get(keys[i], old);
        if (!got) return std::move(got).error();
        if (*got != Lookup::hit || old.sequence > floor) continue;
        Result<bool> gone = index.remove(keys[i]);
        if (!gone) return std::move(gone).error();
        control_.note_removal(keys[i], RemovalReason::cleared);
        removed += *gone ? 1 : 0;
      }
      return {};
    });
    if (!done) return std::move(done).error();
    TLC_STEP("clear.batch");
  }
  control_.header()->change.fetch_add(1, std::memory_order_release);
  table_->drop_if(
      [&](const Artifact& artifact) { return name_space.empty() || artifact.meta().name_space == name_space; }, false);
  if (Result<GcReport> freed = free_cleared(name_space.empty()); !freed) return std::move(freed).error();
  return removed;
}

Result<void> Store::set_limit(std::uint64_t limit) {
  if (read_only()) return make_error(TLC_NOT_STORED, "the store is read-only");
  if (limit < kMinLimit)
    return make_error(TLC_E_INVALID, "the limit must be at least " + std::to_string(kMinLimit) + " bytes");
  {
    Result<WriteLock::Held> held = write_lock_->acquire(port::Deadline::after_ms(5000));
    if (!held) return std::move(held).error();
    Config config = current_config();
    config.limit = limit;
    config.segment_size = segment_size_for(limit);
    if (Result<void> done = write_config(dir_.get(), config, config_durable()); !done) return done;
    control_.set_limits(config.limit, config.segment_size);
    control_.header()->config_version.fetch_add(1, std::memory_order_release);
  }
  (void)make_room(0);  // gone at once: nothing is kept aside
  return {};
}

}  // namespace tlc::store
