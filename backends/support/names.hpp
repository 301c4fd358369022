// SPDX-License-Identifier: MIT
// names.json, kept beside a binary: which lowered name each C++ name expression has.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tlcb {

inline constexpr const char* kNamesMember = "names.json";

using Names = std::map<std::string, std::string>;

[[nodiscard]] std::string to_json(const Names& names);
/// nullopt for anything but what to_json writes.
[[nodiscard]] std::optional<Names> parse_names(std::string_view json);
/// What the names of a module are, for whoever asked for one that is not there.
[[nodiscard]] std::string describe_names(const Names& names);

}  // namespace tlcb
