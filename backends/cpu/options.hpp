// SPDX-License-Identifier: MIT
// Which compiler options a request may pass, sorted by what they are for.
//
// The rule: a kernel found in the cache must be what these options make. An option is refused when
// it loads code into the compiler, reads or writes files nobody can watch, changes what the backend
// itself decides, or depends on the machine (`native`).
#pragma once

#include <string>
#include <vector>

namespace tlcb::cpu {

struct Options {
  std::vector<std::string> compile;       ///< for the compiler, in their order
  std::vector<std::string> link;          ///< -l, objects and archives: after the source, in order
  std::vector<std::string> library_dirs;  ///< -L folders, in order
  std::vector<std::string> libraries;     ///< names of -l
  std::string linker;                     ///< of -fuse-ld=
  bool optimises = false;                 ///< some -O is there
  bool lto = false;
};

/// Throws Failure (TLC_E_INVALID, or TLC_E_DENIED for what loads code) that names the option and
/// what to do instead.
[[nodiscard]] Options check_options(const std::vector<std::string>& options);

}  // namespace tlcb::cpu
