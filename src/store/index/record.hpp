// SPDX-License-Identifier: MIT
// The index record: what the index keeps for a key, 128 bytes, little-endian, copied with memcpy.
//
//   offset size field         meaning
//        0    1 version       kRecordVersion; another value is not ours to read
//        1    1 kind          artifact, link, failure or tombstone (an unknown kind is a miss)
//        2    2 flags         the low half of the record header's
//        4    4 slot          recency slot of the control mapping
//        8    8 namespace_id  hash of the namespace's name
//       16    8 segment       id of the segment that holds the stored body
//       24    8 offset        of the segment record's header, in bytes
//       32    8 length        of the segment record, header included, in bytes
//       40    8 sequence      store-wide, from the control mapping (transaction ids can repeat)
//       48    8 hash_lo       XXH3-128 of the stored body, low half
//       56    8 hash_hi       and high half
//       64    8 created_ns    wall clock
//       72    4 compile_ms    what this entry cost to make
//       76    4 reserved0     0
//       80    8 label_hash    of the label, for listing without reading the segment
//       88    8 epoch         of the store when it was written; clear raises the store's
//       96   24 reserved1     0
//      120    8 checksum      XXH3-64 of bytes 0..119, seeded from all 32 bytes of the key
//
// The checksum ties a record to its key: a record found under another key, or read from a page that
// was being overwritten, does not pass. It is no authentication.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trust/digest.hpp"

namespace tlc::store {

inline constexpr std::size_t kKeySize = 32;
inline constexpr std::size_t kRecordSize = 128;
inline constexpr std::uint8_t kRecordVersion = 1;

struct IndexRecord {
  std::uint8_t version = kRecordVersion;
  std::uint8_t kind = 0;
  std::uint16_t flags = 0;
  std::uint32_t slot = 0;
  std::uint64_t namespace_id = 0;
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t sequence = 0;
  std::uint64_t hash_lo = 0;
  std::uint64_t hash_hi = 0;
  std::uint64_t created_ns = 0;
  std::uint32_t compile_ms = 0;
  std::uint32_t reserved0 = 0;
  std::uint64_t label_hash = 0;
  std::uint64_t epoch = 0;
  std::uint8_t reserved1[24] = {};
  std::uint64_t checksum = 0;
};
static_assert(sizeof(IndexRecord) == kRecordSize);
static_assert(offsetof(IndexRecord, checksum) == 120);

/// Sets version and checksum. The last thing done to a record before it is put.
void seal(IndexRecord& record, const trust::Digest& key);

/// True if `record` is of our version and its checksum is right for `key`. IndexReader does not
/// call it: its caller must.
[[nodiscard]] bool intact(const IndexRecord& record, const trust::Digest& key);

}  // namespace tlc::store
