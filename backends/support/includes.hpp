// SPDX-License-Identifier: MIT
// From the texts of a request to the files its compile may read, as guards.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/guard_set.hpp"

namespace tlcb {

struct IncludeSources {
  std::string_view source;
  const std::vector<std::pair<std::string, std::string>>* headers =
      nullptr;                       ///< from memory: they come before the folders
  std::vector<std::string> folders;  ///< -I, in order
  std::vector<std::string> pre_includes;
  std::vector<std::string> defines;  ///< NAME or NAME=value
  bool beside = true;                ///< "name" is looked for beside the file that includes it, before the folders
  bool beside_first = false;         ///< and before memory
  const char* compiler = "";         ///< for messages
};

/// Throws Failure: TLC_E_UNCACHEABLE where a macro hides which header is meant, TLC_E_INVALID for a pre-included header
/// that would be looked for in the working directory.
[[nodiscard]] GuardSet find_includes(const IncludeSources& sources);

}  // namespace tlcb
