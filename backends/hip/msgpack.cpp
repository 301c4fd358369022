// SPDX-License-Identifier: MIT
// By the first byte, as the MessagePack specification lists them:
//
//   00-7f number   80-8f map      90-9f array    a0-bf text      c0 nil        c2 c3 boolean
//   c4-c6 bytes    c7-c9 ext      ca cb float    cc-cf unsigned  d0-d3 signed  d4-d8 ext of 1 to 16 bytes
//   d9-db text     dc dd array    de df map      e0-ff small negative number
#include "hip/msgpack.hpp"

namespace tlcb::hip {

bool MsgPack::take_number(std::size_t size, std::uint64_t& value) {
  if (size > rest_.size()) return false;
  value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(rest_[i]);
  rest_.remove_prefix(size);
  return true;
}

bool MsgPack::take_bytes(std::uint64_t size, std::string_view& bytes) {
  if (size > rest_.size()) return false;
  bytes = rest_.substr(0, static_cast<std::size_t>(size));
  rest_.remove_prefix(static_cast<std::size_t>(size));
  return true;
}

/// A value whose length or count comes first, in so many bytes.
MsgPack::Item MsgPack::sized(Kind kind, std::size_t size_bytes) {
  Item item;
  std::uint64_t size = 0;
  if (!take_number(size_bytes, size)) return item;
  if (kind == Kind::array || kind == Kind::map) {
    item.count = size;
  } else if (!take_bytes(size, item.text)) {
    return item;
  }
  item.kind = kind;
  return item;
}

MsgPack::Item MsgPack::next() {
  Item item;
  std::uint64_t first = 0;
  if (!take_number(1, first)) return item;
  const auto made = [&](Kind kind) {
    item.kind = kind;
    return item;
  };
  const auto fixed = [&](Kind kind, std::size_t size) {  // bytes of a length known by the first one
    return take_bytes(size, item.text) ? made(kind) : item;
  };
  if (first <= 0x7f) {
    item.number = first;
    return made(Kind::number);
  }
  if (first >= 0xe0) return made(Kind::other);
  if (first <= 0x9f) {
    item.count = first & 0xf;
    return made(first <= 0x8f ? Kind::map : Kind::array);
  }
  if (first <= 0xbf) return fixed(Kind::text, first & 0x1f);
  switch (first) {
    case 0xc0:
      return made(Kind::nil);
    case 0xc2:
    case 0xc3:
      item.number = first & 1;
      return made(Kind::boolean);
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return sized(Kind::other, std::size_t{1} << (first - 0xc4));
    case 0xc7:
    case 0xc8:
    case 0xc9: {  // the type's byte comes between the size and the bytes
      std::uint64_t size = 0;
      return take_number(std::size_t{1} << (first - 0xc7), size) && take_bytes(1, item.text) &&
                     take_bytes(size, item.text)
                 ? made(Kind::other)
                 : item;
    }
    case 0xca:
      return fixed(Kind::other, 4);
    case 0xcb:
      return fixed(Kind::other, 8);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
      return take_number(std::size_t{1} << (first - 0xcc), item.number) ? made(Kind::number) : item;
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
      return fixed(Kind::other, std::size_t{1} << (first - 0xd0));
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
      return fixed(Kind::other, (std::size_t{1} << (first - 0xd4)) + 1);
    case 0xd9:
    case 0xda:
    case 0xdb:
      return sized(Kind::text, std::size_t{1} << (first - 0xd9));
    case 0xdc:
    case 0xdd:
      return sized(Kind::array, std::size_t{2} << (first - 0xdc));
    case 0xde:
    case 0xdf:
      return sized(Kind::map, std::size_t{2} << (first - 0xde));
    default:  // c1 means nothing
      return item;
  }
}

bool MsgPack::pass_over() {
  std::uint64_t open = 1;  // values still to come; each takes a byte at least
  while (open > 0) {
    const Item item = next();
    if (item.kind == Kind::none) return false;
    --open;
    const std::uint64_t inside = item.kind == Kind::map ? 2 * item.count : item.count;
    if (inside > rest_.size()) return false;
    open += inside;
  }
  return true;
}

}  // namespace tlcb::hip
