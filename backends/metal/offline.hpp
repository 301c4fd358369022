// SPDX-License-Identifier: MIT
// Apple's compiler `metal` as a program, where there is one: on macOS with its Metal toolchain, or where it is named.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "metal/options.hpp"
#include "metal/target.hpp"
#include "support/guard_set.hpp"
#include "support/host.hpp"
#include "support/toolchain.hpp"

namespace tlcb::metal {

struct Compiler {
  std::string path;                ///< empty: there is none, and text is compiled when it is loaded
  std::string version;             ///< what it says, one line
  std::vector<std::string> files;  ///< its programs
  Facts facts;                     ///< that led to it
  std::string why_not;             ///< where there is none, in one line

  explicit operator bool() const { return !path.empty(); }
  /// By content, as text for a key. Throws Failure where a file cannot be read.
  [[nodiscard]] std::string identity(Host host, tlc_call* call) const;
};

/// Decides once a process for each wanted compiler and system; asks again as long as there is none. Threads may share
/// it.
class CompilerFinder {
 public:
  /// `wanted`: the request's field 'compiler'. Throws Failure (TLC_E_UNAVAILABLE) where one is named that is none.
  [[nodiscard]] Compiler get(Host host, tlc_call* call, const std::string& wanted, const Target& target);
  /// After a compile. Throws Failure (TLC_E_UNCACHEABLE), and decides anew next time, if it is not the same any more.
  void check_same(Host host, tlc_call* call, const std::string& wanted, const Target& target, const Compiler& compiler,
                  const std::string& identity);

 private:
  std::mutex mutex_;
  std::map<std::string, Compiler> known_;
};

/// A metallib. Adds what was read to the guards. Throws Failure; `log` has what was said in any case.
[[nodiscard]] std::string compile_offline(Host host, tlc_call* call, const Compiler& compiler, const Target& target,
                                          const DeviceSource& request, const Options& options, GuardSet& guards,
                                          std::string& log);

}  // namespace tlcb::metal
