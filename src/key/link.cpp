// SPDX-License-Identifier: MIT
#include "key/link.hpp"

#include <algorithm>
#include <cstring>

#include "key/reader.hpp"
#include "trust/hash.hpp"

namespace tlc::key {

namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kSmallestGuard = 1 + 2 + 1;
constexpr std::string_view kGuardsTag{"tlcache-guards-1\0", 17};

void put_le(std::vector<std::uint8_t>& out, std::size_t v, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
}

Error corrupt(const char* what) {
  return make_error(TLC_E_CORRUPT, std::string("the link record is damaged: ") + what);
}

bool good_path(std::string_view path) {
  return !path.empty() && path.size() <= kMaxGuardPath && path.find('\0') == std::string_view::npos;
}

Result<void> check_guards(const std::vector<Guard>& guards) {
  if (guards.size() > kMaxGuards) {
    return make_error(TLC_E_INVALID, "a link has over " + std::to_string(kMaxGuards) + " guards");
  }
  for (const Guard& guard : guards) {
    if (!good_path(guard.path)) {
      return make_error(TLC_E_INVALID, "a guard's path is empty, over " + std::to_string(kMaxGuardPath) +
                                           " bytes, or has a zero byte");
    }
  }
  return {};
}

void put_guard(std::vector<std::uint8_t>& out, const Guard& guard) {
  out.push_back(static_cast<std::uint8_t>(guard.kind));
  put_le(out, guard.path.size(), 2);
  out.insert(out.end(), guard.path.begin(), guard.path.end());
  if (guard.kind == GuardKind::present) {
    out.insert(out.end(), guard.digest.bytes.begin(), guard.digest.bytes.end());
  }
}

// Takes from the front of a payload; false when it does not have that much.
class Cursor {
 public:
  explicit Cursor(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

  bool take(std::size_t size, std::span<const std::uint8_t>& out) {
    if (bytes_.size() < size) return false;
    out = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return true;
  }

  bool number(std::size_t size, std::size_t& out) {
    std::span<const std::uint8_t> raw;
    if (!take(size, raw)) return false;
    out = 0;
    for (std::size_t i = size; i > 0; --i) out = (out << 8U) | raw[i - 1];
    return true;
  }

  bool digest(trust::Digest& out) {
    std::span<const std::uint8_t> raw;
    if (!take(out.bytes.size(), raw)) return false;
    std::copy(raw.begin(), raw.end(), out.bytes.begin());
    return true;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

Result<void> read_guard(Cursor& in, Guard& guard) {
  std::size_t kind = 0;
  std::size_t size = 0;
  std::span<const std::uint8_t> path;
  if (!in.number(1, kind) || !in.number(2, size)) return corrupt("it ends in a guard");
  if (kind > 1) return corrupt("a guard has an unknown kind");
  if (size == 0 || size > kMaxGuardPath) return corrupt("a guard's path has a wrong length");
  if (!in.take(size, path)) return corrupt("it ends in a path");
  guard.kind = static_cast<GuardKind>(kind);
  guard.path.assign(path.begin(), path.end());
  if (!good_path(guard.path)) return corrupt("a guard's path has a zero byte");
  if (guard.kind == GuardKind::present && !in.digest(guard.digest)) {
    return corrupt("it ends in a digest");
  }
  return {};
}

Result<void> read_variant(Cursor& in, Variant& variant) {
  std::size_t count = 0;
  if (!in.number(4, count)) return corrupt("it ends in a variant");
  // A count that the rest cannot hold must not reserve memory.
  if (count > kMaxGuards || count > in.left() / kSmallestGuard) {
    return corrupt("a variant has more guards than fit");
  }
  variant.guards.resize(count);
  for (Guard& guard : variant.guards) {
    if (auto r = read_guard(in, guard); !r) return r;
  }
  if (!in.digest(variant.artifact)) return corrupt("it ends in a variant");
  return {};
}

trust::Digest guards_digest(const std::vector<Guard>& guards) {
  trust::Blake2b hash;
  hash.update(kGuardsTag.data(), kGuardsTag.size());
  std::vector<std::uint8_t> piece;
  for (const Guard& guard : guards) {
    // Only the last component: the same files below another root are the same content.
    const std::size_t slash = guard.path.rfind('/');
    const std::string_view name = std::string_view(guard.path).substr(slash == std::string::npos ? 0 : slash + 1);
    piece.clear();
    piece.push_back(static_cast<std::uint8_t>(guard.kind));
    put_le(piece, name.size(), 2);
    piece.insert(piece.end(), name.begin(), name.end());
    if (guard.kind == GuardKind::present) {
      piece.insert(piece.end(), guard.digest.bytes.begin(), guard.digest.bytes.end());
    }
    hash.update(piece.data(), piece.size());
  }
  return hash.finish();
}

}  // namespace

void Link::add(Variant variant) {
  std::erase_if(variants, [&](const Variant& old) { return old.guards == variant.guards; });
  variants.insert(variants.begin(), std::move(variant));
  if (variants.size() > kMaxVariants) variants.resize(kMaxVariants);
}

Result<std::vector<std::uint8_t>> Link::encode() const {
  if (variants.empty() || variants.size() > kMaxVariants) {
    return make_error(TLC_E_INVALID, "a link has " + std::to_string(variants.size()) + " variants; give it 1 to " +
                                         std::to_string(kMaxVariants));
  }
  std::vector<std::uint8_t> out;
  out.push_back(kVersion);
  out.push_back(static_cast<std::uint8_t>(variants.size()));
  for (const Variant& variant : variants) {
    if (auto r = check_guards(variant.guards); !r) return r.error();
    put_le(out, variant.guards.size(), 4);
    for (const Guard& guard : variant.guards) put_guard(out, guard);
    out.insert(out.end(), variant.artifact.bytes.begin(), variant.artifact.bytes.end());
  }
  return out;
}

Result<Link> Link::decode(std::span<const std::uint8_t> payload) {
  Cursor in(payload);
  std::size_t version = 0;
  std::size_t count = 0;
  if (!in.number(1, version) || !in.number(1, count)) return corrupt("it has no header");
  if (version != kVersion) return corrupt("its version is unknown");
  if (count == 0 || count > kMaxVariants) return corrupt("it does not have 1 to 8 variants");
  Link link;
  link.variants.resize(count);
  for (Variant& variant : link.variants) {
    if (auto r = read_variant(in, variant); !r) return r.error();
  }
  if (in.left() != 0) return corrupt("bytes follow its last variant");
  return link;
}

Result<Key> content_key(const Key& request, const std::vector<Guard>& guards) {
  if (auto r = check_guards(guards); !r) return r.error();
  const auto encoding = request.encoding();
  const trust::Digest digest = guards_digest(guards);
  std::vector<std::uint8_t> field;
  field.reserve(64);
  field.push_back(static_cast<std::uint8_t>(kFieldGuards.size()));
  field.insert(field.end(), kFieldGuards.begin(), kFieldGuards.end());
  field.push_back(static_cast<std::uint8_t>(Type::digest));
  field.insert(field.end(), digest.bytes.begin(), digest.bytes.end());

  std::size_t at = 0;
  Items items(encoding, true);
  for (Item item; items.next(item) == Walk::item && item.name <= kFieldGuards;) {
    if (item.name == kFieldGuards) {
      return make_error(TLC_E_INVALID, "the key already carries guards; give the request's key");
    }
    at = items.offset();
  }
  const auto split = encoding.begin() + static_cast<std::ptrdiff_t>(at);
  std::vector<std::uint8_t> out(encoding.begin(), split);
  out.insert(out.end(), field.begin(), field.end());
  out.insert(out.end(), split, encoding.end());
  if (out.size() > kMaxEncoding) {
    return make_error(TLC_E_INVALID, "the key is over 1 MiB when encoded; put a digest in it");
  }
  return Key::decode(out);
}

}  // namespace tlc::key
