// SPDX-License-Identifier: MIT
// An encoding made readable: its fields, flat, each with its path.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "key/reader.hpp"
#include "key/value.hpp"
#include "port/result.hpp"

namespace tlc::key {

struct Field {
  std::string name;  ///< path: "options[3]", "define.N"
  Type type = Type::null;
  std::string text;          ///< human rendering; a list or map says how many it has
  bool hashed = false;       ///< only type, length and hash are known
  std::uint64_t length = 0;  ///< bytes of the value's payload
};

/// Every field, container and element, in order of encoding. TLC_E_CORRUPT if this is no encoding.
[[nodiscard]] Result<std::vector<Field>> describe(std::span<const std::uint8_t> encoding);

/// One value for people: text quoted, bytes in hex, hashed values as type, length and 8 hex digits.
[[nodiscard]] std::string render(const Item& item);

/// A path with one more step: `path.name`, or `path[index]` for an element.
[[nodiscard]] std::string join_path(const std::string& path, std::string_view name);
[[nodiscard]] std::string join_path(const std::string& path, std::size_t index);

}  // namespace tlc::key
