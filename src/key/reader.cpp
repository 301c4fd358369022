// SPDX-License-Identifier: MIT
#include "key/reader.hpp"

#include <bit>

namespace tlc::key {

namespace {

std::uint64_t read_le(std::span<const std::uint8_t> bytes) {
  std::uint64_t v = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) v = (v << 8U) | bytes[i - 1];
  return v;
}

// How long an inline payload is and where it begins after the type byte; false if it cannot be
// read.
bool inline_extent(Type type, std::span<const std::uint8_t> rest, std::size_t& skip, std::size_t& size) {
  skip = 0;
  switch (type) {
    case Type::null:
      size = 0;
      return true;
    case Type::boolean:
      size = 1;
      return true;
    case Type::f64:
      size = 8;
      return true;
    case Type::digest:
      size = 32;
      return true;
    case Type::integer:
      if (rest.empty()) return false;
      size = 1U + (rest[0] & 0x0FU);
      return (rest[0] & 0xE0U) == 0 && size <= 9;
    case Type::text:
    case Type::bytes:
      if (rest.size() < 2) return false;
      skip = 2;
      size = static_cast<std::size_t>(read_le(rest.first(2)));
      return true;
    case Type::list:
    case Type::map:
      if (rest.size() < 4) return false;
      skip = 4;
      size = static_cast<std::size_t>(read_le(rest.first(4)));
      return true;
  }
  return false;
}

}  // namespace

Walk Items::next(Item& item) {
  if (offset_ == bytes_.size()) return Walk::end;
  auto rest = bytes_.subspan(offset_);
  item = Item{};
  if (named_) {
    const std::size_t n = rest[0];
    if (n == 0 || rest.size() < 1 + n) return Walk::malformed;
    item.name = {reinterpret_cast<const char*>(rest.data()) + 1, n};
    rest = rest.subspan(1 + n);
  }
  if (rest.empty()) return Walk::malformed;
  const std::uint8_t type = rest[0] & static_cast<std::uint8_t>(~kHashedBit);
  if (type > static_cast<std::uint8_t>(Type::map)) return Walk::malformed;
  item.type = static_cast<Type>(type);
  item.hashed = (rest[0] & kHashedBit) != 0;
  const auto body = rest.subspan(1);
  std::size_t skip = 8;
  std::size_t size = 32;
  if (!item.hashed && !inline_extent(item.type, body, skip, size)) return Walk::malformed;
  if (body.size() < skip || body.size() - skip < size) return Walk::malformed;
  item.payload = body.subspan(skip, size);
  item.length = item.hashed ? read_le(body.first(8)) : size;
  item.raw = rest.first(1 + skip + size);
  offset_ = bytes_.size() - rest.size() + item.raw.size();
  return Walk::item;
}

Integer read_integer(std::span<const std::uint8_t> payload) {
  Integer v;
  if (payload.empty()) return v;
  v.negative = (payload[0] & 0x10U) != 0;
  for (const std::uint8_t byte : payload.subspan(1)) v.magnitude = (v.magnitude << 8U) | byte;
  return v;
}

double read_f64(std::span<const std::uint8_t> payload) {
  return std::bit_cast<double>(payload.size() == 8 ? read_le(payload) : 0);
}

}  // namespace tlc::key
