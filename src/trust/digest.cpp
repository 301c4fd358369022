// SPDX-License-Identifier: MIT
// Digests as hexadecimal text.
#include "trust/digest.hpp"

namespace tlc::trust {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

/// 0 to 15, or -1. Not isxdigit: the locale must not matter.
int value_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_hex(const Digest& digest) {
  std::string text;
  text.reserve(digest.bytes.size() * 2);
  for (const unsigned byte : digest.bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::optional<Digest> digest_from_hex(std::string_view text) {
  Digest digest;
  if (text.size() != digest.bytes.size() * 2) return std::nullopt;
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = value_of(text[2 * i]);
    const int low = value_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

}  // namespace tlc::trust
