// SPDX-License-Identifier: MIT
// The control file: what every process of a store shares through one mapping.
//
//      offset     size  what
//           0     4096  ControlHeader
//        4096    40960  128 counter blocks of 320 bytes (counters.hpp)
//       45056   262144  16384 evicted notes of 16 bytes: first 8 bytes of the digest, minute, reason
//      307200     4 * n  recency stamps, u32 minutes since 1970, one per slot; n grows in steps of 65536 to 2097152
//
// Everything in it is a hint or can be found again, except that readers trust `index` (index/control_word.hpp). So the
// file is never replaced while its index folder is in use: a damaged one is set aside together with the index. It is
// written in full, never sparse: a store through a mapping into a hole of a full disk would be a SIGBUS.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "port/fd.hpp"
#include "port/lock.hpp"
#include "port/mapping.hpp"
#include "port/result.hpp"
#include "store/index/control_word.hpp"
#include "trust/hash.hpp"

namespace tlc::store {

inline constexpr std::uint64_t kControlMagic = 0x31304c5443434c54;  // "TLCCTL01"
inline constexpr std::size_t kActiveSegments = 8;
inline constexpr std::size_t kPendingWords = 4;
inline constexpr std::size_t kCounterBlocks = 128;
inline constexpr std::size_t kEvictedNotes = 16384;
inline constexpr std::uint32_t kSlotStep = 65536;
inline constexpr std::uint32_t kMaxSlots = 2097152;

using SharedWord = std::atomic<std::uint64_t>;

struct ControlHeader {
  // Written once, at creation; `check` is the XXH3-64 of the bytes before it.
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t reserved;
  std::uint8_t id[32];
  std::uint64_t check;

  IndexControl index;  // offset 64

  // Read at every look-up.
  alignas(64) SharedWord change;  // grows when a key's entry is replaced, removed or invalidated
  SharedWord index_generation;    // which index-<n> folder is current
  SharedWord removed_segments;    // grows when a segment is unlinked

  // Written by publishers.
  alignas(64) SharedWord sequence;  // highest given out
  SharedWord next_segment;
  SharedWord next_slot;
  SharedWord slots;                                // stamps the file has room for
  SharedWord used_bytes;                           // estimate of what is allocated under the root
  SharedWord limit;                                // copy of the config's
  SharedWord segment_size;                         // copy of the config's
  SharedWord limit_check;                          // limit ^ rotated segment_size ^ kControlMagic
  alignas(64) SharedWord active[kActiveSegments];  // ids of the segments that take appends, 0: none

  alignas(64) SharedWord boot;  // hash of the boot id under which the index was last opened for writing
  SharedWord suspect;           // generation of an index that a reader found damaged, 0: none
  SharedWord rebuild;           // 1 while segments remain to be indexed
  SharedWord rebuild_segment;   // all segments with lower ids are indexed
  SharedWord evicted_head;      // next evicted note
  SharedWord config_version;    // grows when the config file is replaced
  SharedWord durable;           // 1 once there are records that must survive a power loss
  SharedWord opening_boot;      // opening_mark.hpp: hash of the boot id,

  alignas(64) SharedWord opening;  // and openings of the index in a row that have not ended
  SharedWord rebuild_offset;       // records of segment rebuild_segment before it are indexed

  alignas(64) SharedWord pending[kPendingWords];  // bytes that puts are about to write (reservation.hpp)
};
static_assert(offsetof(ControlHeader, index) == 64 && offsetof(ControlHeader, change) == 128 &&
              offsetof(ControlHeader, sequence) == 192 && offsetof(ControlHeader, active) == 256 &&
              offsetof(ControlHeader, boot) == 320 && offsetof(ControlHeader, opening_boot) == 376 &&
              offsetof(ControlHeader, rebuild_offset) == 392 && offsetof(ControlHeader, pending) == 448 &&
              sizeof(ControlHeader) == 512);

struct EvictedNote {
  SharedWord digest_prefix;
  std::atomic<std::uint32_t> minute;
  std::atomic<std::uint32_t> reason;  // RemovalReason
};
static_assert(sizeof(EvictedNote) == 16);

enum class RemovalReason : std::uint32_t { evicted = 1, removed = 2, invalidated = 3, cleared = 4 };

struct CounterBlock;

class Control {
 public:
  /// Maps an existing file. TLC_E_CORRUPT if it is not one of ours or was cut; TLC_E_IO with ENOENT if there is none.
  static Result<Control> open(int format_dir, bool writable);
  /// Makes the file anew (write lock held), with this id, and maps it.
  /// Whole from its first moment: whoever finds the file finds its limits and the index's generation in it.
  struct Start {
    trust::MacKey id;
    std::uint64_t generation = 1;
    std::uint64_t limit = 0, segment_size = 0;
    bool durable = false;
  };
  static Result<Control> create(int format_dir, const Start& start);

  [[nodiscard]] ControlHeader* header() const { return reinterpret_cast<ControlHeader*>(mapping_.data()); }
  [[nodiscard]] bool writable() const { return writable_; }
  [[nodiscard]] trust::MacKey id() const;

  void set_limits(std::uint64_t limit, std::uint64_t segment_size) const;
  /// False if limit and segment size are not what set_limits stored.
  [[nodiscard]] bool limits_intact() const;

  /// A sequence above all given out before, and not below the wall clock's nanoseconds.
  [[nodiscard]] std::uint64_t next_sequence() const;
  /// Lets sequences go on above this one, seen in a segment.
  void raise_sequence(std::uint64_t seen) const;

  /// A recency slot for a new entry. Grows the file when it can, else an old slot is shared.
  [[nodiscard]] std::uint32_t take_slot() const;
  void stamp(std::uint32_t slot, std::uint32_t minute) const;
  [[nodiscard]] std::uint32_t stamped(std::uint32_t slot) const;

  void note_removal(const trust::Digest& digest, RemovalReason reason) const;
  struct Removal {
    std::uint32_t minute;
    RemovalReason reason;
  };
  /// The latest note about this digest; minute 0 if there is none.
  [[nodiscard]] Removal find_removal(const trust::Digest& digest) const;

  /// Says, on the disk, that there are records that must survive.
  Result<void> make_durable() const;

  [[nodiscard]] CounterBlock* counter_blocks() const;

  /// Whether the folder still has the file that is mapped.
  [[nodiscard]] bool still_linked(int format_dir) const;

 private:
  Control(port::Fd file, port::Mapping mapping, bool writable);
  static Result<Control> map(port::Fd file, bool writable);

  [[nodiscard]] std::atomic<std::uint32_t>* stamps() const;
  [[nodiscard]] EvictedNote* notes() const;
  [[nodiscard]] std::uint64_t usable_slots() const;

  port::Fd file_;
  port::FileId file_id_;
  port::Mapping mapping_;
  bool writable_ = false;
};

}  // namespace tlc::store
