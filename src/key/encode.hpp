// SPDX-License-Identifier: MIT
// Builder: makes the canonical typed encoding of a key, and the Key. docs/key-format.md is its
// specification.
//
// One growing buffer; the offsets of the entries of each open container are on one stack, so that
// closing a container that was filled in order costs nothing and any other costs one sort.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "key/key.hpp"
#include "key/small_buffer.hpp"
#include "key/value.hpp"
#include "port/result.hpp"
#include "trust/digest.hpp"

namespace tlc::key {

/// Who builds: names that begin `tlc.` are refused from a user.
enum class Origin : std::uint8_t { user, library };

/// Whether a field's or a map entry's name is one: UTF-8, 1 to 255 bytes; at the top level not
/// `tlc.`.
[[nodiscard]] Result<void> check_name(std::string_view name, bool top_level, Origin origin);
/// Whether a namespace is one: 1 to 128 of [A-Za-z0-9._/+-], not beginning `tlc.` unless ours.
[[nodiscard]] Result<void> check_namespace(std::string_view name, Origin origin);
/// Whether an engine's name is one: 1 to 128 of [A-Za-z0-9._/+-].
[[nodiscard]] Result<void> check_engine(std::string_view name);

class Builder {
 public:
  /// Whether names of fields and the namespace have been through check_name and check_namespace already.
  enum class Names : std::uint8_t { unchecked, checked };
  explicit Builder(Origin origin = Origin::user, Names names = Names::unchecked);

  // Each returns false once an error has occurred; the first is kept and is what finish() returns.
  // An element of a list has an empty name.
  bool add_null(std::string_view name, Flags flags = 0);
  bool add_bool(std::string_view name, bool value, Flags flags = 0);
  bool add_int(std::string_view name, std::int64_t value, Flags flags = 0);
  bool add_uint(std::string_view name, std::uint64_t value, Flags flags = 0);
  bool add_f64(std::string_view name, double value, Flags flags = 0);
  bool add_text(std::string_view name, std::string_view value, Flags flags = 0);
  bool add_bytes(std::string_view name, std::span<const std::uint8_t> value, Flags flags = 0);
  bool add_digest(std::string_view name, const trust::Digest& value, Flags flags = 0);
  bool begin_list(std::string_view name, Flags flags = 0);
  bool begin_map(std::string_view name, Flags flags = 0);
  bool end();
  bool add_value(std::string_view name, const Value& value);

  // The library's own fields.
  bool set_namespace(std::string_view name);
  /// Any spelling of a target; its canonical text is the field. Unresolved is TLC_E_UNCACHEABLE.
  bool set_target(std::string_view target);
  bool set_engine(std::string_view engine);
  bool set_toolchain(std::span<const std::uint8_t> identity);
  /// What the backend identified and what the request declared, both.
  bool set_toolchain(std::span<const std::uint8_t> identity, std::span<const std::uint8_t> declared);
  /// There is no toolchain: the field is null, which differs from absent.
  bool set_no_toolchain();
  bool set_host(std::string_view host);

  /// The first error, or null.
  [[nodiscard]] const Error* error() const { return failed_ ? &error_ : nullptr; }
  /// Sorts, hashes and hands over the encoding. The builder is spent.
  [[nodiscard]] Result<Key> finish();

 private:
  static constexpr std::size_t kNoEntry = SIZE_MAX;

  struct Open {
    std::size_t entry = 0;    // where its own entry begins
    std::size_t payload = 0;  // where its payload begins
    std::size_t first = 0;    // its first entry in entries_
    Type type = Type::map;
    Flags flags = 0;
    bool sorted = true;
  };

  bool refuse(tlc_status status, std::string message);
  bool begin_entry(std::string_view name);
  bool begin_library_entry(std::string_view name);
  bool begin_container(std::string_view name, Type type, Flags flags);
  bool fits();
  void put_name(std::string_view name);
  bool put_leaf(Type type, const void* payload, std::size_t size, Flags flags);
  bool put_string(Type type, const void* data, std::size_t size, std::size_t limit, Flags flags);
  void put_hashed(Type type, const void* payload, std::size_t size);
  bool put_magnitude(std::string_view name, std::uint8_t sign, std::uint64_t magnitude, Flags flags);
  bool put_target(std::string_view text);
  struct Span;
  [[nodiscard]] std::span<Span> spans_of(const Open& open, std::span<Span> few, std::vector<Span>& many) const;
  template <typename Put>
  bool in_order(const Open& open, Put&& put);
  bool sort_entries(const Open& open);
  [[nodiscard]] std::string_view name_at(std::size_t entry) const;
  [[nodiscard]] std::string open_path() const;
  [[nodiscard]] std::string path(std::string_view name) const;

  Origin origin_;
  Names names_;
  bool failed_ = false;
  std::size_t depth_ = 0;  // index of the innermost open container; 0 is the encoding itself
  std::array<Open, kMaxDepth + 1> open_;
  SmallBuffer<std::size_t, 32> entries_;  // where each entry of the open containers begins
  SmallBuffer<std::uint8_t, 1024> buffer_;
  std::size_t namespace_entry_ = kNoEntry;
  Error error_;
};

}  // namespace tlc::key
