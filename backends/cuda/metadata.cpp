// SPDX-License-Identifier: MIT
#include "cuda/metadata.hpp"

#include <array>

#include "support/json.hpp"
#include "support/json_parse.hpp"

namespace tlcb::cuda {
namespace {

struct Attribute {
  std::string_view name;
  int number;  ///< CUfunction_attribute
};

/// Those that can be set.
constexpr std::array kAttributes = {
    Attribute{"max_dynamic_shared_size_bytes", 8},
    Attribute{"preferred_shared_memory_carveout", 9},
    Attribute{"required_cluster_width", 11},
    Attribute{"required_cluster_height", 12},
    Attribute{"required_cluster_depth", 13},
    Attribute{"non_portable_cluster_size_allowed", 14},
    Attribute{"cluster_scheduling_policy_preference", 15},
};

}  // namespace

std::optional<int> function_attribute(std::string_view name) {
  for (const Attribute& attribute : kAttributes) {
    if (attribute.name == name) return attribute.number;
  }
  return std::nullopt;
}

std::string function_attribute_names() {
  std::string out;
  for (const Attribute& attribute : kAttributes) out.append(out.empty() ? "" : ", ").append(attribute.name);
  return out;
}

std::string to_json(const Launch& launch) {
  std::string out = "{";
  for (const auto& [kernel, attributes] : launch) {
    std::string inner;
    for (const auto& [name, value] : attributes) {
      inner += (inner.empty() ? "" : ", ") + json_text(name) + ": " + std::to_string(value);
    }
    out += (out.size() == 1 ? "" : ", ") + json_text(kernel) + ": {" + inner + "}";
  }
  return out + "}";
}

std::optional<Launch> parse_launch(std::string_view json) {
  const auto parsed = parse_json_object(json);
  if (!parsed) return std::nullopt;
  Launch out;
  for (const auto& [kernel, attributes] : parsed->entries) {
    if (attributes.type != Json::Type::object) return std::nullopt;
    auto& known = out[kernel];
    for (const auto& [name, value] : attributes.entries) {
      const bool fits = value.type == Json::Type::number && value.number == static_cast<std::int32_t>(value.number);
      if (!fits || !function_attribute(name)) return std::nullopt;
      known[name] = static_cast<std::int32_t>(value.number);
    }
  }
  return out;
}

}  // namespace tlcb::cuda
