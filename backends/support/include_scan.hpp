// SPDX-License-Identifier: MIT
// Which headers a text may include, read from the text alone.
//
// For compilers as libraries, which do not say what they read. So every #include and every question about a header
// counts, whatever the conditionals around it say: more than what was read is safe, it only makes misses that need not
// be.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tlcb {

struct HeaderName {
  std::string name;
  bool quoted = false;  ///< "name", else <name>
  bool all = false;     ///< #include_next: any folder's may be meant

  auto operator<=>(const HeaderName&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// What a macro may stand for, of all its definitions in a text.
struct MacroValues {
  std::set<HeaderName> headers;
  std::set<std::string> macros;  ///< other names it may be replaced by
  bool other = false;            ///< it has a value that is neither
};

struct IncludeScan {
  std::set<HeaderName> headers;
  std::set<std::string> computed;    ///< #include NAME, __has_include(NAME): what NAME stands for is included
  std::set<std::string> unreadable;  ///< includes of other forms, as they stand
  std::map<std::string, MacroValues> macros;
};

[[nodiscard]] IncludeScan scan_includes(std::string_view text);

/// Reads "name" or <name> as a whole text; false for anything else.
[[nodiscard]] bool read_header_name(std::string_view text, HeaderName& name);

/// A definition NAME or NAME=value, as compilers take it with -D.
void add_define(std::map<std::string, MacroValues>& macros, std::string_view define);

}  // namespace tlcb
