// SPDX-License-Identifier: MIT
// Which compiler compiles for a processor: hiprtc where it knows it, else clang.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <variant>

#include "hip/hiprtc.hpp"
#include "hip/offline.hpp"

namespace tlcb::hip {

struct Toolchain {
  std::variant<Hiprtc, Clang> compiler;
  std::string identity;  ///< by content, as text for a key
  Facts facts;           ///< that led to it

  [[nodiscard]] const Hiprtc* hiprtc() const { return std::get_if<Hiprtc>(&compiler); }
  [[nodiscard]] const Clang& clang() const { return std::get<Clang>(compiler); }
};

/// Decides once a process for each pair of a wanted compiler and a target. Threads may share it.
class ToolchainFinder {
 public:
  /// `wanted`: the request's field 'compiler'. Throws Failure (TLC_E_UNAVAILABLE) that says what is missing.
  [[nodiscard]] Toolchain get(Host host, tlc_call* call, const std::string& wanted, const TargetId& target);
  /// After a compile. Throws Failure (TLC_E_UNCACHEABLE), and decides anew next time, if it is not the same any more.
  /// The facts go to the store that keeps what was compiled, if another one answered for them: so a later process finds
  /// both.
  void check_same(Host host, tlc_call* call, const std::string& wanted, const TargetId& target,
                  const Toolchain& toolchain);

 private:
  std::mutex mutex_;
  std::map<std::string, Toolchain> known_;
};

}  // namespace tlcb::hip
