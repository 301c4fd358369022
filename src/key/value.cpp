// SPDX-License-Identifier: MIT
#include "key/value.hpp"

#include <cstring>

namespace tlc::key {

std::string_view type_name(Type type) {
  switch (type) {
    case Type::null:
      return "null";
    case Type::boolean:
      return "bool";
    case Type::integer:
      return "int";
    case Type::f64:
      return "f64";
    case Type::text:
      return "text";
    case Type::bytes:
      return "bytes";
    case Type::digest:
      return "digest";
    case Type::list:
      return "list";
    case Type::map:
      return "map";
  }
  return "unknown";
}

namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;

bool is_continuation(unsigned char c) {
  return (c & 0xC0U) == 0x80U;
}

// The length of the well-formed sequence of 2 to 4 bytes at `p`, or 0.
std::size_t sequence_length(const unsigned char* p, std::size_t left) {
  const unsigned char c = p[0];
  if (c < 0xC2) return 0;
  if (c < 0xE0) return left >= 2 && is_continuation(p[1]) ? 2 : 0;
  if (c < 0xF0) {
    if (left < 3 || !is_continuation(p[1]) || !is_continuation(p[2])) return 0;
    if (c == 0xE0 && p[1] < 0xA0) return 0;  // overlong
    if (c == 0xED && p[1] > 0x9F) return 0;  // surrogate
    return 3;
  }
  if (c > 0xF4 || left < 4) return 0;
  if (!is_continuation(p[1]) || !is_continuation(p[2]) || !is_continuation(p[3])) return 0;
  if (c == 0xF0 && p[1] < 0x90) return 0;  // overlong
  if (c == 0xF4 && p[1] > 0x8F) return 0;  // above U+10FFFF
  return 4;
}

// Whether these are 4 to 16 ASCII bytes, which names nearly always are. False says nothing.
bool is_short_ascii(std::string_view bytes) {
  const std::size_t size = bytes.size();
  if (size < 4 || size > 16) return false;
  const auto high = [&]<typename Word>(Word) {  // two words that may overlap cover it
    Word first = 0;
    Word last = 0;
    std::memcpy(&first, bytes.data(), sizeof first);
    std::memcpy(&last, bytes.data() + size - sizeof last, sizeof last);
    return ((first | last) & static_cast<Word>(kHighBits)) != 0;
  };
  return size < 8 ? !high(std::uint32_t{}) : !high(std::uint64_t{});
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  if (is_short_ascii(bytes)) return true;
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  while (left > 0) {
    // Sources and names are nearly all ASCII: whole words keep this far cheaper than the hash.
    while (left >= 32) {
      std::uint64_t w[4];
      std::memcpy(w, p, sizeof w);
      if (((w[0] | w[1] | w[2] | w[3]) & kHighBits) != 0) break;
      p += 32;
      left -= 32;
    }
    while (left >= 8) {
      std::uint64_t w = 0;
      std::memcpy(&w, p, sizeof w);
      if ((w & kHighBits) != 0) break;
      p += 8;
      left -= 8;
    }
    for (std::size_t budget = 32; left > 0 && budget > 0; --budget) {
      const std::size_t n = p[0] < 0x80 ? 1 : sequence_length(p, left);
      if (n == 0) return false;
      p += n;
      left -= n;
    }
  }
  return true;
}

}  // namespace tlc::key
