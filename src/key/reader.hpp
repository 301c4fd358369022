// SPDX-License-Identifier: MIT
// Items: walks the entries of an encoding or of a container in place. Bounds-checked; copies
// nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "key/value.hpp"

namespace tlc::key {

/// One field, map entry or list element.
struct Item {
  std::string_view name;  ///< empty for an element of a list
  Type type = Type::null;
  bool hashed = false;
  std::uint64_t length = 0;               ///< bytes of the payload, hashed or not
  std::span<const std::uint8_t> payload;  ///< the payload, or its 32-byte hash
  std::span<const std::uint8_t> raw;      ///< type byte to the end of the value
};

/// What ended a walk.
enum class Walk : std::uint8_t { item, end, malformed };

class Items {
 public:
  /// `named` for an encoding and a map, not for a list.
  Items(std::span<const std::uint8_t> bytes, bool named) : bytes_(bytes), named_(named) {}
  explicit Items(const Item& container) : bytes_(container.payload), named_(container.type == Type::map) {}

  /// The next one. Checks structure (bounds, known types), not canonical form: Key::decode does
  /// that.
  [[nodiscard]] Walk next(Item& item);
  [[nodiscard]] std::size_t offset() const { return offset_; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t offset_ = 0;
  bool named_;
};

/// The payload bytes of an integer as sign and magnitude: the value is magnitude, or -1 -
/// magnitude.
struct Integer {
  bool negative = false;
  std::uint64_t magnitude = 0;
};
[[nodiscard]] Integer read_integer(std::span<const std::uint8_t> payload);
[[nodiscard]] double read_f64(std::span<const std::uint8_t> payload);

}  // namespace tlc::key
