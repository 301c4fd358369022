// SPDX-License-Identifier: MIT
#include "dir/pack.hpp"

#include <algorithm>
#include <cstring>

#include "dir/crc64.hpp"

namespace tlc::dir {
namespace {

constexpr std::uint64_t kHeadMagic = 0x3130524944434c54;    // "TLCDIR01"
constexpr std::uint64_t kFooterMagic = 0x4e45524944434c54;  // "TLCDIREN"
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kHex = 16;
constexpr std::string_view kEnding = ".pack";

void put(std::uint8_t* at, std::uint64_t value) {
  for (std::size_t i = 0; i < sizeof value; ++i) at[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

std::uint64_t get(const std::uint8_t* at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) value |= std::uint64_t{at[i]} << (8 * i);
  return value;
}

std::string hex(std::uint64_t value) {
  std::string text(kHex, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4) *digit = "0123456789abcdef"[value & 15];
  return text;
}

std::optional<std::uint64_t> from_hex(std::string_view text) {
  std::uint64_t value = 0;
  for (const char c : text) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value << 4 | digit;
  }
  return value;
}

}  // namespace

std::string make_pack_name(std::string_view host, std::uint64_t stamp, std::uint64_t random) {
  return std::string(host) + "-" + hex(stamp) + "-" + hex(random) + std::string(kEnding);
}

std::optional<PackName> parse_pack_name(std::string_view name) {
  constexpr std::size_t kRest = 2 * (kHex + 1) + kEnding.size();
  if (name.size() <= kRest || !name.ends_with(kEnding)) return std::nullopt;
  const std::string_view host = name.substr(0, name.size() - kRest);
  name = name.substr(host.size(), kRest - kEnding.size());
  const auto stamp = from_hex(name.substr(1, kHex));
  if (name[0] != '-' || name[kHex + 1] != '-' || !stamp || !from_hex(name.substr(kHex + 2))) return std::nullopt;
  return PackName{std::string(host), *stamp};
}

std::array<std::uint8_t, kPackHead> make_pack_head() {
  std::array<std::uint8_t, kPackHead> head{};
  put(head.data(), kHeadMagic);
  put(head.data() + 8, kVersion);
  return head;
}

std::vector<std::uint8_t> make_pack_end(std::vector<Entry>& entries, std::uint64_t offset) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.digest < b.digest; });
  std::vector<std::uint8_t> bytes(entries.size() * kEntrySize + kFooterSize);
  std::uint8_t* at = bytes.data();
  for (const Entry& entry : entries) {
    std::memcpy(at, entry.digest.data(), entry.digest.size());
    put(at + 32, entry.offset);
    put(at + 40, entry.length);
    put(at + 48, entry.stamp);
    put(at + 56, entry.crc);
    at += kEntrySize;
  }
  put(at, kFooterMagic);
  put(at + 8, entries.size());
  put(at + 16, offset);
  put(at + 24, offset + bytes.size());
  put(at + 32, crc64(bytes.data(), entries.size() * kEntrySize));
  put(at + 56, crc64(at, 56));
  return bytes;
}

std::optional<Footer> parse_footer(std::span<const std::uint8_t> bytes, std::uint64_t file_length) {
  if (bytes.size() != kFooterSize) return std::nullopt;
  const std::uint8_t* at = bytes.data();
  const Footer footer{get(at + 8), get(at + 16), get(at + 32)};
  if (get(at) != kFooterMagic || get(at + 56) != crc64(at, 56) || get(at + 24) != file_length) return std::nullopt;
  if (footer.entries > kMostEntries || footer.index_offset < kPackHead || footer.index_offset > file_length)
    return std::nullopt;
  if (file_length - footer.index_offset != footer.entries * kEntrySize + kFooterSize) return std::nullopt;
  return footer;
}

std::optional<std::vector<Entry>> parse_index(std::span<const std::uint8_t> bytes, const Footer& footer) {
  if (bytes.size() != footer.entries * kEntrySize || crc64(bytes.data(), bytes.size()) != footer.index_crc)
    return std::nullopt;
  std::vector<Entry> entries(footer.entries);
  const std::uint8_t* at = bytes.data();
  for (std::size_t i = 0; i < entries.size(); ++i, at += kEntrySize) {
    Entry& entry = entries[i];
    std::memcpy(entry.digest.data(), at, entry.digest.size());
    entry.offset = get(at + 32);
    entry.length = get(at + 40);
    entry.stamp = get(at + 48);
    entry.crc = get(at + 56);
    if (entry.offset < kPackHead || entry.offset > footer.index_offset ||
        entry.length > footer.index_offset - entry.offset || entry.length > kMostBlob)
      return std::nullopt;
    if (i > 0 && !(entries[i - 1].digest < entry.digest)) return std::nullopt;
  }
  return entries;
}

const Entry* find_entry(const std::vector<Entry>& index, const Digest& digest) {
  const auto at = std::lower_bound(index.begin(), index.end(), digest,
                                   [](const Entry& entry, const Digest& wanted) { return entry.digest < wanted; });
  return at != index.end() && at->digest == digest ? &*at : nullptr;
}

}  // namespace tlc::dir
