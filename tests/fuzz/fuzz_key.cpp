// SPDX-License-Identifier: MIT
// Any bytes as an encoding: Key::decode, describe, diff and distance neither crash nor disagree,
// and what decodes is canonical: a Builder that is given what the encoding says writes the same
// bytes.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "key/describe.hpp"
#include "key/diff.hpp"
#include "key/encode.hpp"
#include "key/key.hpp"
#include "key/reader.hpp"
#include "trust/digest.hpp"

using namespace tlc::key;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool add_all(Builder& builder, Items items);

// False if the item cannot be rebuilt: only the hash is known.
bool add(Builder& b, const Item& item) {
  const auto p = item.payload;
  if (item.hashed) return false;
  switch (item.type) {
    case Type::null:
      b.add_null(item.name);
      break;
    case Type::boolean:
      b.add_bool(item.name, p[0] != 0);
      break;
    case Type::integer: {
      const Integer v = read_integer(p);
      if (v.negative) {
        b.add_int(item.name, -1 - static_cast<std::int64_t>(v.magnitude));
      } else {
        b.add_uint(item.name, v.magnitude);
      }
      break;
    }
    case Type::f64:
      b.add_f64(item.name, read_f64(p));
      break;
    case Type::text:
      b.add_text(item.name, {reinterpret_cast<const char*>(p.data()), p.size()});
      break;
    case Type::bytes:
      b.add_bytes(item.name, p);
      break;
    case Type::digest: {
      tlc::trust::Digest digest;
      std::copy(p.begin(), p.end(), digest.bytes.begin());
      b.add_digest(item.name, digest);
      break;
    }
    case Type::list:
    case Type::map:
      item.type == Type::list ? b.begin_list(item.name) : b.begin_map(item.name);
      if (!add_all(b, Items(item))) return false;
      b.end();
      break;
  }
  return true;
}

bool add_all(Builder& builder, Items items) {
  for (Item item; items.next(item) == Walk::item;) {
    if (!add(builder, item)) return false;
  }
  return true;
}

void check_one(std::span<const std::uint8_t> bytes) {
  const auto key = Key::decode(bytes);
  require(describe(bytes).ok() == key.ok());
  (void)distance(bytes, bytes);
  if (!key) return;
  require(!key->name_space().empty());
  require(distance(bytes, bytes) == 0);
  require(diff(bytes, bytes)->empty());
  Builder builder(Origin::library);
  if (!add_all(builder, Items(bytes, true))) return;
  const auto again = builder.finish();
  require(again.ok() && *again == *key);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> all(data, size);
  check_one(all);
  // Two encodings, the first as long as the first two bytes say.
  if (size < 2) return 0;
  const std::size_t split = std::min<std::size_t>(size - 2, data[0] | (data[1] << 8U));
  const auto a = all.subspan(2, split);
  const auto b = all.subspan(2 + split);
  check_one(a);
  check_one(b);
  const auto found = diff(a, b);
  const std::size_t apart = distance(a, b);
  if (found.ok()) require((apart == 0) == found->empty());
  return 0;
}
