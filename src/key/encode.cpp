// SPDX-License-Identifier: MIT
#include "key/encode.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "key/char_set.hpp"
#include "key/reader.hpp"
#include "key/target.hpp"
#include "trust/hash.hpp"

namespace tlc::key {

namespace {

constexpr std::uint64_t kOneNan = 0x7FF8000000000000ULL;

template <std::size_t size>
std::array<std::uint8_t, size> little_endian(std::uint64_t v) {
  std::array<std::uint8_t, size> raw{};
  for (std::size_t i = 0; i < size; ++i) raw[i] = static_cast<std::uint8_t>(v >> (8 * i));
  return raw;
}

// The first 8 bytes of a name as a number in the order of names. `left`: what may be read from its beginning.
std::uint64_t name_prefix(std::string_view name, std::size_t left) {
  const std::size_t size = std::min<std::size_t>(name.size(), 8);
  if (size == 0) return 0;
  std::uint64_t prefix = 0;
  if (left >= 8) {  // a word at once, without what follows the name
    std::memcpy(&prefix, name.data(), 8);
    return __builtin_bswap64(prefix) & (~std::uint64_t{0} << (8 * (8 - size)));
  }
  for (std::size_t i = 0; i < size; ++i) prefix = (prefix << 8U) | static_cast<std::uint8_t>(name[i]);
  return prefix << (8 * (8 - size));
}

std::string quoted(std::string_view name) {
  return is_utf8(name) ? "\"" + std::string(name) + "\"" : std::string("with invalid UTF-8");
}

constexpr CharSet kWord("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/+-");

Result<void> check_word(std::string_view what, std::string_view word, std::size_t limit) {
  if (word.empty() || word.size() > limit) {
    return make_error(TLC_E_INVALID, "the " + std::string(what) + " has " + std::to_string(word.size()) +
                                         " bytes; give it 1 to " + std::to_string(limit));
  }
  const std::size_t bad = kWord.first_other(word);
  if (bad != word.size()) {
    return make_error(TLC_E_INVALID, "the " + std::string(what) + " has a character outside " +
                                         "[A-Za-z0-9._/+-] at byte " + std::to_string(bad));
  }
  return {};
}

}  // namespace

Result<void> check_name(std::string_view name, bool top_level, Origin origin) {
  if (name.empty() || name.size() > kMaxName) {
    return make_error(TLC_E_INVALID, "a field's name has " + std::to_string(name.size()) + " bytes; give it 1 to " +
                                         std::to_string(kMaxName));
  }
  if (!is_utf8(name)) return make_error(TLC_E_INVALID, "a field's name is not valid UTF-8");
  if (top_level && origin == Origin::user && is_reserved(name)) {
    return make_error(TLC_E_INVALID,
                      "the field name " + quoted(name) + " is reserved: names that begin \"tlc.\" are the library's");
  }
  return {};
}

Result<void> check_namespace(std::string_view name, Origin origin) {
  if (auto r = check_word("namespace", name, kMaxNamespace); !r) return r;
  if (origin == Origin::user && is_reserved(name)) {
    return make_error(TLC_E_INVALID,
                      "the namespace " + quoted(name) + " is reserved: names that begin \"tlc.\" are the library's");
  }
  return {};
}

Result<void> check_engine(std::string_view name) {
  return check_word("engine", name, kMaxEngine);
}

// Where an entry lies; most comparisons end at the beginning of its name.
struct Builder::Span {
  std::uint64_t prefix = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

Builder::Builder(Origin origin, Names names) : origin_(origin), names_(names) {}

bool Builder::refuse(tlc_status status, std::string message) {
  if (!failed_) {
    failed_ = true;
    error_ = make_error(status, std::move(message));
  }
  return false;
}

std::string_view Builder::name_at(std::size_t entry) const {
  return {reinterpret_cast<const char*>(buffer_.data()) + entry + 1, buffer_[entry]};
}

// For errors: the innermost open container, as "define" or "options[]".
std::string Builder::open_path() const {
  std::string out;
  for (std::size_t i = 1; i <= depth_; ++i) {
    if (open_[i - 1].type == Type::list) {
      out += "[]";
    } else {
      out += (out.empty() ? "" : ".") + std::string(name_at(open_[i].entry));
    }
  }
  return out;
}

// For errors: an entry of the innermost open container.
std::string Builder::path(std::string_view name) const {
  const std::string open = open_path();
  if (name.empty()) return quoted(open + "[]");
  return quoted(open.empty() ? std::string(name) : open + "." + std::string(name));
}

void Builder::put_name(std::string_view name) {
  buffer_.push_back(static_cast<std::uint8_t>(name.size()));
  buffer_.append(reinterpret_cast<const std::uint8_t*>(name.data()), name.size());
}

// Writes what precedes a value: in a map its checked name, in a list nothing.
bool Builder::begin_entry(std::string_view name) {
  if (failed_) return false;
  Open& open = open_[depth_];
  if (open.type == Type::list) {
    if (!name.empty()) {
      return refuse(TLC_E_INVALID, "the element " + path(name) + " of a list has a name; give elements an empty name");
    }
    return true;
  }
  if (names_ == Names::unchecked) {
    if (auto r = check_name(name, depth_ == 0, origin_); !r) return refuse(r.error().status, r.error().message);
  }
  const std::size_t entry = buffer_.size();
  if (entries_.size() > open.first && open.sorted) {
    const int order = name_at(entries_.back()).compare(name);
    if (order == 0) {
      return refuse(TLC_E_INVALID, "the field " + path(name) + " is given twice; give each once");
    }
    open.sorted = order < 0;
  }
  entries_.push_back(entry);
  put_name(name);
  return true;
}

// The library's own fields come through setters, whoever builds.
bool Builder::begin_library_entry(std::string_view name) {
  if (failed_) return false;
  if (depth_ != 0) {
    return refuse(TLC_E_INVALID, "the field " + quoted(name) + " is set inside an open list or map");
  }
  const Origin origin = origin_;
  origin_ = Origin::library;
  const bool ok = begin_entry(name);
  origin_ = origin;
  return ok;
}

// A payload only grows, so checking the innermost container at each step is exact.
bool Builder::fits() {
  if (buffer_.size() - open_[depth_].payload <= kMaxEncoding) return true;
  return refuse(TLC_E_INVALID, (depth_ == 0 ? std::string("the key") : quoted(open_path())) +
                                   " is over 1 MiB when encoded; put a digest of it in the key");
}

void Builder::put_hashed(Type type, const void* payload, std::size_t size) {
  const trust::Digest hash = trust::blake2b(payload, size);
  buffer_.push_back(static_cast<std::uint8_t>(type) | kHashedBit);
  buffer_.append(little_endian<8>(size).data(), 8);
  buffer_.append(hash.bytes.data(), hash.bytes.size());
}

// A value whose payload has a size known from its type.
bool Builder::put_leaf(Type type, const void* payload, std::size_t size, Flags flags) {
  if ((flags & kDigestOnly) != 0) {
    put_hashed(type, payload, size);
  } else {
    buffer_.push_back(static_cast<std::uint8_t>(type));
    buffer_.append(static_cast<const std::uint8_t*>(payload), size);
  }
  return fits();
}

bool Builder::put_string(Type type, const void* data, std::size_t size, std::size_t limit, Flags flags) {
  if (size > limit || (flags & kDigestOnly) != 0) {
    put_hashed(type, data, size);
  } else {
    buffer_.push_back(static_cast<std::uint8_t>(type));
    buffer_.append(little_endian<2>(size).data(), 2);
    buffer_.append(static_cast<const std::uint8_t*>(data), size);
  }
  return fits();
}

bool Builder::put_magnitude(std::string_view name, std::uint8_t sign, std::uint64_t magnitude, Flags flags) {
  if (!begin_entry(name)) return false;
  std::array<std::uint8_t, 9> payload{};
  const auto size = static_cast<std::size_t>((std::bit_width(magnitude) + 7) / 8);
  payload[0] = static_cast<std::uint8_t>(sign | size);
  for (std::size_t i = 0; i < size; ++i) {
    payload[size - i] = static_cast<std::uint8_t>(magnitude >> (8 * i));
  }
  return put_leaf(Type::integer, payload.data(), 1 + size, flags);
}

bool Builder::add_null(std::string_view name, Flags flags) {
  return begin_entry(name) && put_leaf(Type::null, "", 0, flags);
}

bool Builder::add_bool(std::string_view name, bool value, Flags flags) {
  const std::uint8_t payload = value ? 1 : 0;
  return begin_entry(name) && put_leaf(Type::boolean, &payload, 1, flags);
}

bool Builder::add_int(std::string_view name, std::int64_t value, Flags flags) {
  if (value >= 0) return put_magnitude(name, 0, static_cast<std::uint64_t>(value), flags);
  return put_magnitude(name, 0x10, static_cast<std::uint64_t>(-(value + 1)), flags);
}

bool Builder::add_uint(std::string_view name, std::uint64_t value, Flags flags) {
  return put_magnitude(name, 0, value, flags);
}

bool Builder::add_f64(std::string_view name, double value, Flags flags) {
  if (!begin_entry(name)) return false;
  const std::uint64_t bits = std::isnan(value) ? kOneNan : std::bit_cast<std::uint64_t>(value);
  std::array<std::uint8_t, 8> payload{};
  for (std::size_t i = 0; i < 8; ++i) payload[i] = static_cast<std::uint8_t>(bits >> (8 * i));
  return put_leaf(Type::f64, payload.data(), payload.size(), flags);
}

bool Builder::add_text(std::string_view name, std::string_view value, Flags flags) {
  if (!begin_entry(name)) return false;
  if ((flags & kCheckedText) == 0 && !is_utf8(value)) {
    return refuse(TLC_E_INVALID, "the text of field " + path(name) + " is not valid UTF-8; give it as bytes");
  }
  const bool library = depth_ == 0 && is_reserved(name);
  return put_string(Type::text, value.data(), value.size(), library ? kInlineReserved : kInlineLeaf, flags);
}

bool Builder::add_bytes(std::string_view name, std::span<const std::uint8_t> value, Flags flags) {
  return begin_entry(name) && put_string(Type::bytes, value.data(), value.size(), kInlineLeaf, flags);
}

bool Builder::add_digest(std::string_view name, const trust::Digest& value, Flags flags) {
  return begin_entry(name) && put_leaf(Type::digest, value.bytes.data(), 32, flags);
}

bool Builder::begin_list(std::string_view name, Flags flags) {
  return begin_container(name, Type::list, flags);
}

bool Builder::begin_map(std::string_view name, Flags flags) {
  return begin_container(name, Type::map, flags);
}

bool Builder::begin_container(std::string_view name, Type type, Flags flags) {
  const std::size_t entry = buffer_.size();
  if (!begin_entry(name)) return false;
  if (depth_ == kMaxDepth) {
    return refuse(TLC_E_INVALID, "the field " + path(name) + " is nested deeper than " + std::to_string(kMaxDepth) +
                                     " lists and maps");
  }
  buffer_.push_back(static_cast<std::uint8_t>(type));
  buffer_.append(little_endian<4>(0).data(), 4);  // the payload's length: end() knows it
  ++depth_;
  open_[depth_] = Open{entry, buffer_.size(), entries_.size(), type, flags, true};
  return true;
}

std::span<Builder::Span> Builder::spans_of(const Open& open, std::span<Span> few, std::vector<Span>& many) const {
  const std::size_t count = entries_.size() - open.first;
  if (count > few.size()) many.resize(count);
  const std::span<Span> spans(many.empty() ? few.data() : many.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = entries_[open.first + i];
    const std::size_t end = i + 1 < count ? entries_[open.first + i + 1] : buffer_.size();
    spans[i] = Span{name_prefix(name_at(begin), buffer_.size() - begin - 1), begin, end};
  }
  return spans;
}

// Hands the entries of a map to `put` in the order of their names.
template <typename Put>
bool Builder::in_order(const Open& open, Put&& put) {
  std::array<Span, 24> few;  // enough for nearly every key, without memory of its own
  std::vector<Span> many;
  const std::span<Span> spans = spans_of(open, few, many);
  const auto less = [this](const Span& a, const Span& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    return name_at(a.begin).compare(name_at(b.begin)) < 0;
  };
  std::sort(spans.begin(), spans.end(), less);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (i > 0 && !less(spans[i - 1], spans[i])) {
      return refuse(TLC_E_INVALID, "the field " + path(name_at(spans[i].begin)) + " is given twice; give each once");
    }
    put(spans[i]);
  }
  return true;
}

bool Builder::sort_entries(const Open& open) {
  std::vector<std::uint8_t> sorted;
  sorted.reserve(buffer_.size() - open.payload);
  const bool ok = in_order(open, [&](const Span& span) {
    sorted.insert(sorted.end(), buffer_.data() + span.begin, buffer_.data() + span.end);
  });
  if (ok) std::memcpy(buffer_.data() + open.payload, sorted.data(), sorted.size());
  return ok;
}

bool Builder::end() {
  if (failed_) return false;
  if (depth_ == 0) return refuse(TLC_E_INVALID, "end without an open list or map");
  const Open open = open_[depth_];
  if (!open.sorted && !sort_entries(open)) return false;
  entries_.truncate(open.first);
  --depth_;
  const std::size_t size = buffer_.size() - open.payload;
  if (size > kInlineContainer || (open.flags & kDigestOnly) != 0) {
    const trust::Digest hash = trust::blake2b(buffer_.data() + open.payload, size);
    buffer_.truncate(open.payload - 5);
    buffer_.push_back(static_cast<std::uint8_t>(open.type) | kHashedBit);
    buffer_.append(little_endian<8>(size).data(), 8);
    buffer_.append(hash.bytes.data(), hash.bytes.size());
  } else {
    for (std::size_t i = 0; i < 4; ++i) {
      buffer_[open.payload - 4 + i] = static_cast<std::uint8_t>(size >> (8 * i));
    }
  }
  return fits();
}

bool Builder::add_value(std::string_view name, const Value& value) {
  const std::string_view str = value.str();
  const auto* data = reinterpret_cast<const std::uint8_t*>(str.data());
  switch (value.type) {
    case Type::null:
      return add_null(name, value.flags);
    case Type::boolean:
      return add_bool(name, value.boolean, value.flags);
    case Type::integer:
      if (value.negative) {
        return add_int(name, static_cast<std::int64_t>(value.integer), value.flags);
      }
      return add_uint(name, value.integer, value.flags);
    case Type::f64:
      return add_f64(name, value.number, value.flags);
    case Type::text:
      return add_text(name, str, value.flags);
    case Type::bytes:
      return add_bytes(name, {data, str.size()}, value.flags);
    case Type::digest: {
      trust::Digest digest;
      if (str.size() != digest.bytes.size()) {
        return refuse(TLC_E_INVALID, "the digest " + path(name) + " does not have 32 bytes");
      }
      std::memcpy(digest.bytes.data(), data, digest.bytes.size());
      return add_digest(name, digest, value.flags);
    }
    case Type::list:
    case Type::map: {
      if (!begin_container(name, value.type, value.flags)) return false;
      for (const auto& [item_name, item] : value.items) {
        if (!add_value(item_name, item)) return false;
      }
      return end();
    }
  }
  return refuse(TLC_E_INVALID, "the field " + path(name) + " has an unknown type");
}

bool Builder::set_namespace(std::string_view name) {
  if (failed_) return false;
  if (names_ == Names::unchecked) {
    if (auto r = check_namespace(name, origin_); !r) return refuse(r.error().status, r.error().message);
  }
  const std::size_t entry = buffer_.size();
  if (!begin_library_entry(kFieldNamespace)) return false;
  namespace_entry_ = entry;
  return put_string(Type::text, name.data(), name.size(), kInlineReserved, 0);
}

bool Builder::set_target(std::string_view target) {
  if (failed_) return false;
  if (!Target::is_plain(target)) {
    const auto parsed = Target::parse(target);
    if (!parsed) return refuse(parsed.error().status, parsed.error().message);
    if (!parsed->resolved()) {
      return refuse(TLC_E_UNCACHEABLE, "the target \"" + parsed->canonical() +
                                           "\" is not resolved: the backend has to replace auto "
                                           "and native before there is a key");
    }
    return put_target(parsed->canonical());
  }
  return put_target(target);
}

bool Builder::put_target(std::string_view text) {
  return begin_library_entry(kFieldTarget) && put_string(Type::text, text.data(), text.size(), kInlineReserved, 0);
}

bool Builder::set_engine(std::string_view engine) {
  if (failed_) return false;
  if (auto r = check_engine(engine); !r) return refuse(r.error().status, r.error().message);
  return begin_library_entry(kFieldEngine) && put_string(Type::text, engine.data(), engine.size(), kInlineReserved, 0);
}

bool Builder::set_toolchain(std::span<const std::uint8_t> identity) {
  if (failed_) return false;
  if (identity.empty()) {
    return refuse(TLC_E_UNCACHEABLE,
                  "the toolchain identity is empty; say that there is none, or "
                  "give the identity of the compiler");
  }
  return begin_library_entry(kFieldToolchain) &&
         put_string(Type::bytes, identity.data(), identity.size(), kInlineLeaf, 0);
}

bool Builder::set_toolchain(std::span<const std::uint8_t> identity, std::span<const std::uint8_t> declared) {
  if (failed_) return false;
  if (identity.empty() || declared.empty()) return set_toolchain({});
  if (depth_ != 0) return begin_library_entry(kFieldToolchain);
  const Origin origin = origin_;
  origin_ = Origin::library;
  const bool ok = begin_list(kFieldToolchain) && add_bytes({}, identity) && add_bytes({}, declared) && end();
  origin_ = origin;
  return ok;
}

bool Builder::set_no_toolchain() {
  return begin_library_entry(kFieldToolchain) && put_leaf(Type::null, "", 0, 0);
}

bool Builder::set_host(std::string_view host) {
  if (failed_) return false;
  if (host.empty() || !is_utf8(host)) {
    return refuse(TLC_E_INVALID, "the host is empty or not valid UTF-8");
  }
  return begin_library_entry(kFieldHost) && put_string(Type::text, host.data(), host.size(), kInlineReserved, 0);
}

Result<Key> Builder::finish() {
  if (!failed_ && depth_ != 0) {
    refuse(TLC_E_INVALID, "the field " + quoted(open_path()) + " is still open; end every list and map");
  }
  std::vector<std::uint8_t> encoding;
  std::size_t namespace_at = namespace_entry_;
  if (!failed_ && open_[0].sorted) {
    encoding.assign(buffer_.data(), buffer_.data() + buffer_.size());
  } else if (!failed_) {
    encoding.resize(buffer_.size());
    std::size_t at = 0;
    in_order(open_[0], [&](const Span& span) {
      if (span.begin == namespace_entry_) namespace_at = at;
      std::memcpy(encoding.data() + at, buffer_.data() + span.begin, span.end - span.begin);
      at += span.end - span.begin;
    });
  }
  if (failed_) return error_;
  if (namespace_at == kNoEntry) {
    return make_error(TLC_E_INVALID, "the key has no namespace; set one, for example the program's name");
  }
  // Its text lies behind the name with its length, the type, and the text's length.
  const std::size_t text = namespace_at + 1 + kFieldNamespace.size() + 1 + 2;
  const std::size_t length = encoding[text - 2];
  return Key(std::move(encoding), text, length);
}

}  // namespace tlc::key
