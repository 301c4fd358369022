// SPDX-License-Identifier: MIT
#include "store/control.hpp"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "port/clock.hpp"
#include "port/file.hpp"
#include "port/lock.hpp"
#include "store/counters.hpp"
#include "store/format.hpp"

namespace tlc::store {
namespace {

constexpr const char* kFileName = "control";
constexpr std::size_t kCountersAt = 4096;
constexpr std::size_t kNotesAt = kCountersAt + kCounterBlocks * sizeof(CounterBlock);
constexpr std::size_t kStampsAt = kNotesAt + kEvictedNotes * sizeof(EvictedNote);
constexpr std::size_t kMapSize = kStampsAt + std::size_t{kMaxSlots} * 4;
static_assert(kNotesAt == 45056 && kStampsAt == 307200);

std::uint64_t file_size_for(std::uint64_t slots) {
  return kStampsAt + slots * 4;
}

std::uint64_t static_check(const ControlHeader& header) {
  return trust::xxh3_64(&header, offsetof(ControlHeader, check));
}

std::uint64_t mix_limits(std::uint64_t limit, std::uint64_t segment_size) {
  return limit ^ std::rotl(segment_size, 32) ^ kControlMagic;
}

std::uint64_t prefix_of(const trust::Digest& digest) {
  std::uint64_t prefix = 0;
  std::memcpy(&prefix, digest.bytes.data(), sizeof prefix);
  return prefix;
}

}  // namespace

Control::Control(port::Fd file, port::Mapping mapping, bool writable)
    : file_(std::move(file)), mapping_(std::move(mapping)), writable_(writable) {}

// The mapping spans the largest file there can be; nothing beyond `slots`, checked against the file, is touched.
Result<Control> Control::map(port::Fd file, bool writable) {
  struct stat st {};
  if (::fstat(file.get(), &st) != 0) return io_error(errno, "cannot stat the control file");
  if (static_cast<std::uint64_t>(st.st_size) < file_size_for(kSlotStep))
    return make_error(TLC_E_CORRUPT, "the control file is cut short");
  Result<port::Mapping> mapping =
      writable ? port::Mapping::map_shared(file.get(), kMapSize) : port::Mapping::map_read(file.get(), kMapSize);
  if (!mapping) return std::move(mapping).error();
  Control control(std::move(file), std::move(*mapping), writable);
  control.file_id_ = {st.st_dev, st.st_ino};
  const ControlHeader& header = *control.header();
  if (header.magic != kControlMagic || header.version != kFormatVersion || header.check != static_check(header))
    return make_error(TLC_E_CORRUPT, "the control file is damaged");
  const std::uint64_t room = (static_cast<std::uint64_t>(st.st_size) - kStampsAt) / 4;
  const std::uint64_t slots = header.slots.load(std::memory_order_relaxed);
  if (slots < kSlotStep || slots > room || slots > kMaxSlots || !control.limits_intact() ||
      header.index_generation.load(std::memory_order_relaxed) == 0)
    return make_error(TLC_E_CORRUPT, "the control file is damaged");
  return control;
}

Result<Control> Control::open(int format_dir, bool writable) {
  Result<port::Fd> file = port::open_at(format_dir, kFileName, writable ? O_RDWR : O_RDONLY);
  if (!file) return std::move(file).error();
  return map(std::move(*file), writable);
}

Result<Control> Control::create(int format_dir, const Start& start) {
  std::string bytes(file_size_for(kSlotStep), '\0');
  auto* header = reinterpret_cast<ControlHeader*>(bytes.data());
  header->magic = kControlMagic;
  header->version = kFormatVersion;
  std::copy(start.id.bytes.begin(), start.id.bytes.end(), header->id);
  header->check = static_check(*header);
  header->slots.store(kSlotStep);
  header->index_generation.store(start.generation);
  header->next_segment.store(1);
  header->durable.store(start.durable ? 1 : 0);
  header->limit.store(start.limit);
  header->segment_size.store(start.segment_size);
  header->limit_check.store(mix_limits(start.limit, start.segment_size));
  if (Result<void> done = port::write_file_atomic_at(format_dir, kFileName, bytes, 0600, false); !done)
    return std::move(done).error();
  return open(format_dir, true);
}

trust::MacKey Control::id() const {
  trust::MacKey key;
  std::copy(std::begin(header()->id), std::end(header()->id), key.bytes.begin());
  return key;
}

void Control::set_limits(std::uint64_t limit, std::uint64_t segment_size) const {
  header()->limit.store(limit);
  header()->segment_size.store(segment_size);
  header()->limit_check.store(mix_limits(limit, segment_size));
}

bool Control::limits_intact() const {
  return header()->limit_check.load() == mix_limits(header()->limit.load(), header()->segment_size.load());
}

std::uint64_t Control::next_sequence() const {
  std::uint64_t last = header()->sequence.load(std::memory_order_relaxed);
  std::uint64_t next = 0;
  do {
    next = std::max(last + 1, port::wall_ns());
  } while (!header()->sequence.compare_exchange_weak(last, next, std::memory_order_relaxed));
  return next;
}

void Control::raise_sequence(std::uint64_t seen) const {
  std::uint64_t last = header()->sequence.load(std::memory_order_relaxed);
  while (last < seen && !header()->sequence.compare_exchange_weak(last, seen, std::memory_order_relaxed)) {
  }
}

std::uint64_t Control::usable_slots() const {
  return std::min<std::uint64_t>(header()->slots.load(std::memory_order_acquire), kMaxSlots);
}

std::uint32_t Control::take_slot() const {
  const std::uint64_t slot = header()->next_slot.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t have = usable_slots();
  if (slot < have || have >= kMaxSlots) return static_cast<std::uint32_t>(slot % have);
  // Called under the write lock. Zeros are written, not a hole: see the top of the header.
  const std::string zeros(std::size_t{kSlotStep} * 4, '\0');
  if (!port::pwrite_full(file_.get(), zeros.data(), zeros.size(), static_cast<off_t>(file_size_for(have))))
    return static_cast<std::uint32_t>(slot % have);
  header()->slots.store(have + kSlotStep, std::memory_order_release);
  return static_cast<std::uint32_t>(slot % (have + kSlotStep));
}

std::atomic<std::uint32_t>* Control::stamps() const {
  return reinterpret_cast<std::atomic<std::uint32_t>*>(mapping_.data() + kStampsAt);
}

EvictedNote* Control::notes() const {
  return reinterpret_cast<EvictedNote*>(mapping_.data() + kNotesAt);
}

CounterBlock* Control::counter_blocks() const {
  return reinterpret_cast<CounterBlock*>(mapping_.data() + kCountersAt);
}

void Control::stamp(std::uint32_t slot, std::uint32_t minute) const {
  if (writable_ && slot < usable_slots()) stamps()[slot].store(minute, std::memory_order_relaxed);
}

std::uint32_t Control::stamped(std::uint32_t slot) const {
  return slot < usable_slots() ? stamps()[slot].load(std::memory_order_relaxed) : 0;
}

void Control::note_removal(const trust::Digest& digest, RemovalReason reason) const {
  const std::uint64_t place = header()->evicted_head.fetch_add(1, std::memory_order_relaxed) % kEvictedNotes;
  EvictedNote& note = notes()[place];
  note.minute.store(port::coarse_minutes(), std::memory_order_relaxed);
  note.reason.store(static_cast<std::uint32_t>(reason), std::memory_order_relaxed);
  note.digest_prefix.store(prefix_of(digest), std::memory_order_release);
}

Control::Removal Control::find_removal(const trust::Digest& digest) const {
  Removal found{0, RemovalReason::evicted};
  const std::uint64_t wanted = prefix_of(digest);
  for (std::size_t i = 0; i < kEvictedNotes; ++i) {
    const EvictedNote& note = notes()[i];
    if (note.digest_prefix.load(std::memory_order_acquire) != wanted) continue;
    const std::uint32_t minute = note.minute.load(std::memory_order_relaxed);
    const std::uint32_t reason = note.reason.load(std::memory_order_relaxed);
    if (minute >= found.minute && reason >= 1 && reason <= 4) found = {minute, static_cast<RemovalReason>(reason)};
  }
  return found;
}

Result<void> Control::make_durable() const {
  header()->durable.store(1);
  return port::sync_data(file_.get());
}

bool Control::still_linked(int format_dir) const {
  return port::is_named(file_id_, format_dir, kFileName);
}

}  // namespace tlc::store
