// SPDX-License-Identifier: MIT
// What is kept beside a binary: launch.json, the attributes each kernel is to have.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "support/names.hpp"

namespace tlcb::cuda {

inline constexpr const char* kLaunchMember = "launch.json";

using Launch = std::map<std::string, std::map<std::string, std::int32_t>>;  ///< kernel, attribute, value

/// The driver's number of a function attribute by the name that docs/backends/cuda.md gives; nullopt: none.
[[nodiscard]] std::optional<int> function_attribute(std::string_view name);
[[nodiscard]] std::string function_attribute_names();

using tlcb::to_json;  // of names
[[nodiscard]] std::string to_json(const Launch& launch);
/// nullopt for anything but what to_json writes.
[[nodiscard]] std::optional<Launch> parse_launch(std::string_view json);

}  // namespace tlcb::cuda
