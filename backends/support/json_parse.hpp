// SPDX-License-Identifier: MIT
// Reading the little JSON that backends keep beside a binary. Writing it: support/json.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tlcb {

/// Texts, whole numbers and objects: all that is kept beside a binary.
struct Json {
  enum class Type { text, number, object };
  using Entries = std::vector<std::pair<std::string, Json>>;

  Type type = Type::object;
  std::string text;
  std::int64_t number = 0;
  Entries entries;

  [[nodiscard]] const Json* find(std::string_view name) const;
};

/// One object with such values, at most 4 deep; nullopt for anything else.
[[nodiscard]] std::optional<Json> parse_json_object(std::string_view text);

}  // namespace tlcb
