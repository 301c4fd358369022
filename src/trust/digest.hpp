// SPDX-License-Identifier: MIT
// Digest: 32 bytes that name content, and their hexadecimal text.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace tlc::trust {

struct Digest {
  std::array<std::uint8_t, 32> bytes{};

  friend bool operator==(const Digest&, const Digest&) = default;
  friend std::strong_ordering operator<=>(const Digest& a, const Digest& b) { return a.bytes <=> b.bytes; }
};

/// For unordered containers: a digest is uniform already, its first 8 bytes will do.
struct DigestHash {
  [[nodiscard]] std::size_t operator()(const Digest& digest) const noexcept {
    std::uint64_t first = 0;
    std::memcpy(&first, digest.bytes.data(), sizeof first);
    return static_cast<std::size_t>(first);
  }
};

/// 64 characters, lower case.
[[nodiscard]] std::string to_hex(const Digest& digest);

/// Exactly 64 hexadecimal characters of either case, else nothing.
[[nodiscard]] std::optional<Digest> digest_from_hex(std::string_view text);

}  // namespace tlc::trust
