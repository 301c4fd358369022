// SPDX-License-Identifier: MIT
// From what a compile read to guards: files that must stay as they are, and paths where nothing may
// appear, since the compiler would have taken that file instead.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/dependencies.hpp"
#include "support/guard_set.hpp"

namespace tlcb::cpu {

struct Reads {
  std::string_view source;           ///< the text that was compiled
  std::vector<std::string> headers;  ///< absolute paths, from the compiler
  std::vector<std::string> linked;   ///< absolute paths, from the linker
  SearchList search;
  std::vector<std::string> libraries;     ///< names of -l
  std::vector<std::string> library_dirs;  ///< -L folders, in order
};

/// Throws Failure (TLC_E_UNCACHEABLE) where a file takes part that no compiler reports (.incbin).
[[nodiscard]] GuardSet make_guards(const Reads& reads);

}  // namespace tlcb::cpu
