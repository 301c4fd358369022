// SPDX-License-Identifier: MIT
// The compiler that a request gets, and its identity by content.
//
// What a driver consists of (its programs and their libraries) is found out by running it, once,
// and remembered under the driver's own identity; afterwards identity() only asks the host for the
// digests of files, which it remembers too. So a warm look-up starts no process.
#pragma once

#include <string>
#include <vector>

#include "cpu/options.hpp"
#include "cpu/request.hpp"
#include "support/host.hpp"
#include "support/spawn.hpp"

namespace tlcb::cpu {

struct Compiler {
  std::string path;  ///< of the driver, as it is run
  bool clang = false;
  std::string version;                 ///< what it says, one line
  std::string machine;                 ///< what it compiles for: x86_64-linux-gnu
  std::vector<std::string> programs;   ///< cc1, as, ld, ...: paths, or names to look for in PATH
  std::vector<std::string> libraries;  ///< shared libraries of driver and programs
};

/// The driver's path for a request; throws Failure (TLC_E_UNAVAILABLE) that lists what was tried.
[[nodiscard]] std::string find_driver(const std::string& wanted, Language language);

/// Finds the compiler and what it consists of.
[[nodiscard]] Compiler find_compiler(Host host, tlc_call* call, const std::string& wanted, Language language,
                                     const Options& options);

/// Bytes that differ when anything that takes part in a compile differs.
[[nodiscard]] std::string identity(Host host, tlc_call* call, const Compiler& compiler, Language language);

/// The environment every process of this backend gets: PATH, HOME, LD_LIBRARY_PATH of the host,
/// LC_ALL=C and this TMPDIR. Nothing else, so that CPATH and its like have no effect.
[[nodiscard]] std::vector<std::string> environment(const std::string& temp);

}  // namespace tlcb::cpu
