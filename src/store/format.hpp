// SPDX-License-Identifier: MIT
// What the store's folder looks like, and the numbers its files agree on. docs/store-format.md is the specification.
//
//   <root>/                        0700, chosen by location.hpp
//     tlc1-lmdb1-le64-p4096-glibc/ one folder per format; never migrated
//       config                     text: id, limit, sizes, clears (config.hpp)
//       control                    mapped by every process (control.hpp)
//       write.lock evict.lock      OFD locks; never unlinked
//       compile/0 .. compile/f     compile locks: byte ranges by digest (compile_locks.hpp)
//       index-<generation>/data.mdb  the LMDB index (index/)
//       segments/<id>.seg          payloads, append-only (segment.hpp)
//       files/<name>/              materialised artifacts (folders.hpp)
//       outbox/<remote>/           what is still to be written to a remote (tier/outbox.hpp)
//       memo                       digests of files outside the store (file_memo.hpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tlcache/tlcache.h"

namespace tlc::store {

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::uint64_t kAlignment = 64;
inline constexpr std::size_t kIndexMapSize = std::size_t{1} << 30;

inline constexpr std::uint64_t kMinLimit = std::uint64_t{8} << 20;
inline constexpr std::uint64_t kMinSegment = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxSegment = std::uint64_t{64} << 20;

/// Internal status: the store's files were removed or replaced under this process, which must open it anew.
inline constexpr tlc_status kReplaced = -1000;

/// What a record is. Numbers are part of the format; an unknown one is a miss.
enum class Kind : std::uint8_t { artifact = 1, link = 2, failure = 3, tombstone = 4 };

/// "tlc1-lmdb1-le64-p4096-glibc": all that must be equal for two processes to share the files.
[[nodiscard]] std::string format_folder_name();

[[nodiscard]] constexpr std::uint64_t align_up(std::uint64_t value) {
  return (value + kAlignment - 1) / kAlignment * kAlignment;
}

/// Size at which a segment of a store with this limit is full.
[[nodiscard]] constexpr std::uint64_t segment_size_for(std::uint64_t limit) {
  const std::uint64_t part = limit / 64;
  return part < kMinSegment ? kMinSegment : part > kMaxSegment ? kMaxSegment : part;
}

}  // namespace tlc::store
