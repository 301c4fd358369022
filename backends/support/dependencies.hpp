// SPDX-License-Identifier: MIT
// Reading what a compiler and a linker say they read: make rules, and a search list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tlcb {

/// The prerequisites of all rules in a make file as gcc, clang and ld write them: `\` before a
/// space or `#`, `$$`, `\` at the end of a line. In order, each once.
[[nodiscard]] std::vector<std::string> parse_dependencies(std::string_view make);

/// Where the compiler looks for headers, from the output of -E -v.
struct SearchList {
  std::vector<std::string> quoted;   ///< for "name" only, before the others
  std::vector<std::string> folders;  ///< in order
  std::vector<std::string> missing;  ///< would be looked in if they were there
};
[[nodiscard]] SearchList parse_search_list(std::string_view verbose);

/// Names that a text asks about with __has_include or __has_include_next, as literals.
[[nodiscard]] std::vector<std::string> has_include_names(std::string_view source);

}  // namespace tlcb
