// SPDX-License-Identifier: MIT
// Key: the digest over an encoding, and the strict reading of one.
#include <cstring>
#include <string>

#include "key/encode.hpp"
#include "key/key.hpp"
#include "key/reader.hpp"
#include "key/target.hpp"
#include "trust/hash.hpp"

namespace tlc::key {

namespace {

constexpr std::string_view kTag{"tlcache-key-1\0", 14};

Error corrupt(std::string_view name, const std::string& what) {
  std::string message = "the key encoding is damaged";
  if (!name.empty() && is_utf8(name)) message += " at \"" + std::string(name) + "\"";
  return make_error(TLC_E_CORRUPT, message + ": " + what);
}

std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_container(Type type) {
  return type == Type::list || type == Type::map;
}

Result<void> check_hashed(const Item& item) {
  const std::uint64_t n = item.length;
  bool good = true;
  switch (item.type) {
    case Type::null:
      good = n == 0;
      break;
    case Type::boolean:
      good = n == 1;
      break;
    case Type::integer:
      good = n >= 1 && n <= 9;
      break;
    case Type::f64:
      good = n == 8;
      break;
    case Type::digest:
      good = n == 32;
      break;
    case Type::list:
    case Type::map:
      good = n <= kMaxEncoding;
      break;
    case Type::text:
    case Type::bytes:
      break;
  }
  if (!good) return corrupt(item.name, "a hashed value has a length that its type cannot have");
  return {};
}

Result<void> check_leaf(const Item& item, std::size_t limit) {
  const auto p = item.payload;
  switch (item.type) {
    case Type::boolean:
      if (p[0] > 1) return corrupt(item.name, "a bool is neither 0 nor 1");
      break;
    case Type::integer:
      if (p.size() > 1 && p[1] == 0) return corrupt(item.name, "an int is not minimal");
      // -1 - magnitude has to stay at or above -2^63.
      if ((p[0] & 0x10U) != 0 && p.size() == 9 && p[1] > 0x7F) {
        return corrupt(item.name, "an int is below -2^63");
      }
      break;
    case Type::f64:
      // Biased exponent all ones and a fraction: a NaN, of which there is one.
      if ((p[7] & 0x7FU) == 0x7F && p[6] >= 0xF0) {
        constexpr std::uint8_t kNan[8] = {0, 0, 0, 0, 0, 0, 0xF8, 0x7F};
        constexpr std::uint8_t kInf[7] = {0, 0, 0, 0, 0, 0, 0xF0};
        if (std::memcmp(p.data(), kNan, 8) != 0 && std::memcmp(p.data(), kInf, 7) != 0) {
          return corrupt(item.name, "a NaN is not the canonical one");
        }
      }
      break;
    case Type::text:
      if (!is_utf8(as_text(p))) return corrupt(item.name, "a text is not valid UTF-8");
      [[fallthrough]];
    case Type::bytes:
      if (p.size() > limit) return corrupt(item.name, "a long value is not hashed");
      break;
    default:
      break;
  }
  return {};
}

// What the library's own fields have to be.
Result<void> check_library_field(const Item& item) {
  const std::string_view text = as_text(item.payload);
  const bool is_text = item.type == Type::text && !item.hashed;
  if (item.name == kFieldNamespace) {
    if (!is_text || !check_namespace(text, Origin::library)) {
      return corrupt(item.name, "it is no namespace");
    }
  } else if (item.name == kFieldEngine) {
    if (!is_text || !check_engine(text)) return corrupt(item.name, "it is no engine");
  } else if (item.name == kFieldTarget) {
    if (item.type != Type::text) return corrupt(item.name, "it is no text");
    if (is_text) {
      const auto target = Target::parse(text);
      if (!target || target->canonical() != text || !target->resolved()) {
        return corrupt(item.name, "it is no canonical, resolved target");
      }
    }
  } else if (item.name == kFieldGuards && item.type != Type::digest) {
    return corrupt(item.name, "it is no digest");
  }
  return {};
}

Result<void> check_items(std::span<const std::uint8_t> bytes, bool named, std::size_t depth);

Result<void> check_item(const Item& item, std::size_t depth) {
  if (item.hashed) return check_hashed(item);
  if (is_container(item.type)) {
    if (item.payload.size() > kInlineContainer) {
      return corrupt(item.name, "a long list or map is not hashed");
    }
    if (depth == kMaxDepth) return corrupt(item.name, "lists and maps are nested too deep");
    return check_items(item.payload, item.type == Type::map, depth + 1);
  }
  const bool library = depth == 0 && item.type == Type::text && is_reserved(item.name);
  return check_leaf(item, library ? kInlineReserved : kInlineLeaf);
}

// `depth` is the number of containers around these items; recursion ends at kMaxDepth.
Result<void> check_items(std::span<const std::uint8_t> bytes, bool named, std::size_t depth) {
  Items items(bytes, named);
  Item item;
  std::string_view last;
  for (;;) {
    const Walk walk = items.next(item);
    if (walk == Walk::end) return {};
    if (walk == Walk::malformed) return corrupt(last, "the bytes after it cannot be read");
    if (named) {
      if (!is_utf8(item.name)) return corrupt({}, "a name is not valid UTF-8");
      if (!last.empty() && last.compare(item.name) >= 0) {
        return corrupt(item.name, "names are not sorted, each once");
      }
      last = item.name;
    }
    if (auto r = check_item(item, depth); !r) return r;
    if (depth == 0 && is_reserved(item.name)) {
      if (auto r = check_library_field(item); !r) return r;
    }
  }
}

}  // namespace

Key::Key(std::vector<std::uint8_t> encoding, std::size_t ns_offset, std::size_t ns_length)
    : encoding_(std::move(encoding)), ns_offset_(ns_offset), ns_length_(ns_length) {
  trust::Blake2b hash;
  hash.update(kTag.data(), kTag.size());
  hash.update(encoding_.data(), encoding_.size());
  digest_ = hash.finish();
}

Result<Key> Key::decode(std::span<const std::uint8_t> encoding) {
  if (encoding.size() > kMaxEncoding) return corrupt({}, "it is over 1 MiB");
  if (auto r = check_items(encoding, true, 0); !r) return r.error();
  Items items(encoding, true);
  for (Item item; items.next(item) == Walk::item;) {
    if (item.name != kFieldNamespace) continue;
    const auto offset = static_cast<std::size_t>(item.payload.data() - encoding.data());
    return Key({encoding.begin(), encoding.end()}, offset, item.payload.size());
  }
  return corrupt({}, "it has no namespace");
}

std::string_view Key::name_space() const {
  return as_text(std::span(encoding_).subspan(ns_offset_, ns_length_));
}

std::string_view Key::library_text(std::string_view name) const {
  Items items(encoding_, true);
  for (Item item; items.next(item) == Walk::item;) {
    if (item.name != name) continue;
    return item.type == Type::text && !item.hashed ? as_text(item.payload) : std::string_view();
  }
  return {};
}

}  // namespace tlc::key
