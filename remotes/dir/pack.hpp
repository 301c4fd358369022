// SPDX-License-Identifier: MIT
// A pack: an immutable file of blobs with an index at its end.
//
// Name: <host>-<stamp>-<random>.pack: which host wrote it, the youngest stamp in it and 64 random bits, both as 16 hex
// digits. Little-endian:
//
//   offset   size  what
//   0        8     magic "TLCDIR01"
//   8        8     version, 1
//   16       16    0
//   32             blobs, one after the other
//   index    64    for each entry, sorted by digest, each digest once:
//     +0     32      digest of the key
//     +32    8       offset of the blob
//     +40    8       its length; 0: removed
//     +48    8       stamp: wall clock ns when it was put, always above that of the entry it replaces
//     +56    8       CRC-64/XZ of the blob
//   footer   64    at the end of the file:
//     +0     8       magic "TLCDIREN"
//     +8     8       number of entries, at most 65536
//     +16    8       offset of the index
//     +24    8       length of the file
//     +32    8       CRC-64/XZ of the index
//     +40    16      0
//     +56    8       CRC-64/XZ of the footer's first 56 bytes
//
// Of a digest's entries in all packs, the one with the highest stamp counts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::dir {

inline constexpr std::size_t kPackHead = 32;
inline constexpr std::size_t kEntrySize = 64;
inline constexpr std::size_t kFooterSize = 64;
inline constexpr std::size_t kMostEntries = 65536;
inline constexpr std::uint64_t kMostBlob = std::uint64_t{1} << 30;

using Digest = std::array<std::uint8_t, 32>;

struct Entry {
  Digest digest{};
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  ///< 0: removed
  std::uint64_t stamp = 0;
  std::uint64_t crc = 0;
};

struct Footer {
  std::uint64_t entries = 0;
  std::uint64_t index_offset = 0;
  std::uint64_t index_crc = 0;
};

struct PackName {
  std::string host;
  std::uint64_t stamp = 0;
};

[[nodiscard]] std::string make_pack_name(std::string_view host, std::uint64_t stamp, std::uint64_t random);
/// Nothing if the name is none of a pack.
[[nodiscard]] std::optional<PackName> parse_pack_name(std::string_view name);

[[nodiscard]] std::array<std::uint8_t, kPackHead> make_pack_head();
/// Index and footer for blobs that end at `offset`. Sorts the entries.
[[nodiscard]] std::vector<std::uint8_t> make_pack_end(std::vector<Entry>& entries, std::uint64_t offset);

/// Nothing for bytes that make_pack_end would not have written for a file of this length.
[[nodiscard]] std::optional<Footer> parse_footer(std::span<const std::uint8_t> bytes, std::uint64_t file_length);
[[nodiscard]] std::optional<std::vector<Entry>> parse_index(std::span<const std::uint8_t> bytes, const Footer& footer);
/// The digest's entry of a sorted index, or nullptr.
[[nodiscard]] const Entry* find_entry(const std::vector<Entry>& index, const Digest& digest);

}  // namespace tlc::dir
