// SPDX-License-Identifier: MIT
#include "key/request.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "key/target.hpp"

namespace tlc::key {

namespace {

constexpr std::size_t kMaxLabel = 4096;
// Eight entries are 1024 bytes: the most that glibc's allocator hands out from a thread's own list.
constexpr std::size_t kFewFields = 8;

std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Request::Request(Origin origin) : origin_(origin) {
  root_.type = Type::map;
  root_.items.reserve(kFewFields);
}

Error Request::keep(Error error) {
  if (!error_) error_ = std::move(error);
  return *error_;
}

Value& Request::open_container() {
  Value* value = &root_;
  for (std::size_t i = 0; i < depth_; ++i) value = &value->items.back().second;
  return *value;
}

Result<Value*> Request::add(std::string_view name, Type type, Flags flags) {
  if (error_) return *error_;
  Value& parent = open_container();
  if (parent.type == Type::list) {
    if (!name.empty()) {
      return keep(make_error(TLC_E_INVALID,
                             "the element \"" + std::string(name) + "\" of a list has a name; give elements none"));
    }
  } else if (auto r = check_name(name, depth_ == 0, origin_); !r) {
    return keep(r.error());
  }
  if (parent.items.empty()) parent.items.reserve(kFewFields);
  Value& value =
      parent.items.emplace_back(std::piecewise_construct, std::forward_as_tuple(name), std::forward_as_tuple()).second;
  value.type = type;
  value.flags = flags & (kDigestOnly | kBorrowed);
  return &value;
}

Result<void> Request::add_null(std::string_view name, Flags flags) {
  if (auto r = add(name, Type::null, flags); !r) return r.error();
  return {};
}

Result<void> Request::add_bool(std::string_view name, bool value, Flags flags) {
  auto r = add(name, Type::boolean, flags);
  if (!r) return r.error();
  (*r)->boolean = value;
  return {};
}

Result<void> Request::add_int(std::string_view name, std::int64_t value, Flags flags) {
  auto r = add(name, Type::integer, flags);
  if (!r) return r.error();
  (*r)->negative = value < 0;
  (*r)->integer = static_cast<std::uint64_t>(value);
  return {};
}

Result<void> Request::add_uint(std::string_view name, std::uint64_t value, Flags flags) {
  auto r = add(name, Type::integer, flags);
  if (!r) return r.error();
  (*r)->integer = value;
  return {};
}

Result<void> Request::add_f64(std::string_view name, double value, Flags flags) {
  auto r = add(name, Type::f64, flags);
  if (!r) return r.error();
  (*r)->number = value;
  return {};
}

Result<void> Request::add_string(std::string_view name, Type type, std::string_view bytes, Flags flags) {
  auto r = add(name, type, flags);
  if (!r) return r.error();
  (*r)->set_str(bytes);
  return {};
}

Result<void> Request::add_text(std::string_view name, std::string_view value, Flags flags) {
  if (error_) return *error_;
  if (!is_utf8(value)) {
    return keep(make_error(TLC_E_INVALID, "the text of field \"" + (is_utf8(name) ? std::string(name) : "?") +
                                              "\" is not valid UTF-8; give it as bytes"));
  }
  auto r = add(name, Type::text, flags);
  if (!r) return r.error();
  // Borrowed text may change before the key is made, so that is checked again then.
  if ((flags & kBorrowed) == 0) (*r)->flags |= kCheckedText;
  (*r)->set_str(value);
  return {};
}

Result<void> Request::add_bytes(std::string_view name, std::span<const std::uint8_t> value, Flags flags) {
  return add_string(name, Type::bytes, as_text(value), flags);
}

Result<void> Request::add_digest(std::string_view name, const trust::Digest& value, Flags flags) {
  return add_string(name, Type::digest, as_text(value.bytes), flags);
}

Result<void> Request::begin(std::string_view name, Type type, Flags flags) {
  if (error_) return *error_;
  if (depth_ == kMaxDepth) {
    return keep(make_error(TLC_E_INVALID, "the field \"" + (is_utf8(name) ? std::string(name) : "?") +
                                              "\" is nested deeper than " + std::to_string(kMaxDepth) +
                                              " lists and maps"));
  }
  if (auto r = add(name, type, flags); !r) return r.error();
  ++depth_;
  return {};
}

Result<void> Request::begin_list(std::string_view name, Flags flags) {
  return begin(name, Type::list, flags);
}

Result<void> Request::begin_map(std::string_view name, Flags flags) {
  return begin(name, Type::map, flags);
}

Result<void> Request::end() {
  if (error_) return *error_;
  if (depth_ == 0) return keep(make_error(TLC_E_INVALID, "end without an open list or map"));
  --depth_;
  return {};
}

Result<void> Request::set_namespace(std::string_view name) {
  if (error_) return *error_;
  if (auto r = check_namespace(name, origin_); !r) return keep(r.error());
  namespace_ = name;
  return {};
}

Result<void> Request::set_target(std::string_view target) {
  if (error_) return *error_;
  if (Target::is_plain(target)) {
    target_ = target;
    return {};
  }
  auto parsed = Target::parse(target);
  if (!parsed) return keep(parsed.error());
  target_ = parsed->canonical();
  return {};
}

Result<void> Request::set_engine(std::string_view engine) {
  if (error_) return *error_;
  if (auto r = check_engine(engine); !r) return keep(r.error());
  engine_ = engine;
  return {};
}

Result<void> Request::set_toolchain(std::span<const std::uint8_t> identity) {
  if (error_) return *error_;
  if (identity.empty()) {
    return keep(make_error(TLC_E_INVALID,
                           "the toolchain identity is empty; say that there is "
                           "none, or give the identity of the compiler"));
  }
  toolchain_.emplace(identity.begin(), identity.end());
  return {};
}

Result<void> Request::set_label(std::string_view label) {
  if (error_) return *error_;
  if (label.size() > kMaxLabel || !is_utf8(label)) {
    return keep(
        make_error(TLC_E_INVALID, "the label is over " + std::to_string(kMaxLabel) + " bytes or not valid UTF-8"));
  }
  label_ = label;
  return {};
}

Result<void> Request::require_member(std::string_view name) {
  if (error_) return *error_;
  if (name.empty() || name.size() > kMaxName || !is_utf8(name)) {
    return keep(make_error(TLC_E_INVALID,
                           "a required member's name is not 1 to " + std::to_string(kMaxName) + " bytes of UTF-8"));
  }
  if (std::find(members_.begin(), members_.end(), name) == members_.end()) {
    members_.emplace_back(name);
  }
  return {};
}

const Value* Request::find(std::string_view name) const {
  for (const auto& [field, value] : root_.items) {
    if (field == name) return &value;
  }
  return nullptr;
}

Result<Key> Request::make_key(std::string_view target, std::string_view engine,
                              std::optional<std::span<const std::uint8_t>> toolchain,
                              std::optional<std::string_view> host) const {
  if (error_) return *error_;
  if (depth_ != 0) {
    return make_error(TLC_E_INVALID, "a list or map of the request is still open; end every list and map");
  }
  if (no_toolchain_ && toolchain_) {
    return make_error(TLC_E_INVALID,
                      "the request carries a toolchain and the flag that there is "
                      "none; drop one");
  }
  if (!toolchain && !toolchain_ && !no_toolchain_) {
    return make_error(TLC_E_UNCACHEABLE,
                      "nothing identifies the toolchain: use a backend that does, set the "
                      "request's toolchain, or set its flag that there is none");
  }
  Builder builder(origin_, Builder::Names::checked);
  for (const auto& [name, value] : root_.items) {
    if (!builder.add_value(name, value)) break;
  }
  // In the order of their names, and behind the request's, most of which come before: cheapest to sort.
  if (!engine.empty()) builder.set_engine(engine);
  if (host) builder.set_host(*host);
  if (!namespace_.empty()) builder.set_namespace(namespace_);
  if (!target.empty()) builder.set_target(target);
  if (toolchain && toolchain_) {
    builder.set_toolchain(*toolchain, *toolchain_);
  } else if (toolchain) {
    builder.set_toolchain(*toolchain);
  } else if (toolchain_) {
    builder.set_toolchain(*toolchain_);
  } else {
    builder.set_no_toolchain();
  }
  return builder.finish();
}

}  // namespace tlc::key
