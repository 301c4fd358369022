// SPDX-License-Identifier: MIT
// Reading the little JSON that backends keep beside a binary. Writing it: support/json.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tlcb {

/// Texts, whole numbers and objects: all that is kept beside a binary.
struct Json {
  struct Entry;
  enum class Type { text, number, object };

  Type type = Type::object;
  std::string text;
  std::int64_t number = 0;
  std::vector<Entry> entries;
};
struct Json::Entry {
  std::string name;
  Json value;
};

/// One object with such values, at most 4 deep; nullopt for anything else.
[[nodiscard]] std::optional<Json> parse_json_object(std::string_view text);

}  // namespace tlcb
