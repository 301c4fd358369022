// SPDX-License-Identifier: MIT
#include "support/names.hpp"

#include "support/json.hpp"
#include "support/json_parse.hpp"

namespace tlcb {

std::string to_json(const Names& names) {
  std::string out = "{";
  for (const auto& [expression, lowered] : names) {
    out += (out.size() == 1 ? "" : ", ") + json_text(expression) + ": " + json_text(lowered);
  }
  return out + "}";
}

std::optional<Names> parse_names(std::string_view json) {
  const auto parsed = parse_json_object(json);
  if (!parsed) return std::nullopt;
  Names out;
  for (const auto& [expression, lowered] : parsed->entries) {
    if (lowered.type != Json::Type::text) return std::nullopt;
    out[expression] = lowered.text;
  }
  return out;
}

std::string describe_names(const Names& names) {
  if (names.empty()) return "declare it extern \"C\", or name it in the field 'name_expressions'";
  std::string known;
  for (const auto& [expression, lowered] : names) known += (known.empty() ? "" : ", ") + expression;
  return "its name expressions are: " + known;
}

}  // namespace tlcb
