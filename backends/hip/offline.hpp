// SPDX-License-Identifier: MIT
// clang as a program, for archs that hiprtc does not know, and where there is no hiprtc.
#pragma once

#include <string>
#include <vector>

#include "hip/target.hpp"
#include "support/device_source.hpp"
#include "support/guard_set.hpp"
#include "support/host.hpp"
#include "support/toolchain.hpp"

namespace tlcb::hip {

struct Clang {
  std::string path;                ///< as it is run
  std::string version;             ///< what it says, one line
  std::vector<std::string> files;  ///< its programs and their libraries
  std::string device_library;      ///< the folder of ROCm's bitcode for the processor; empty: there is none

  /// By content, as text for a key. Throws Failure where a file cannot be read.
  [[nodiscard]] std::string identity(Host host, tlc_call* call, const TargetId& target) const;
};

[[nodiscard]] bool is_clang(const std::string& path);

/// The clang that is chosen (an absolute path; empty: the first that knows the processor and has its linker).
/// Remembered in the store: asking again starts no process. Throws Failure (TLC_E_UNAVAILABLE) that says what was
/// tried.
[[nodiscard]] Clang find_clang(Host host, tlc_call* call, const std::string& chosen, const TargetId& target,
                               Facts& facts);

/// A code object. Adds what clang read to the guards. Throws Failure; `log` has what was said in any case.
[[nodiscard]] std::string compile_by_clang(Host host, tlc_call* call, const Clang& clang, const TargetId& target,
                                           const DeviceSource& request, const std::vector<std::string>& options,
                                           GuardSet& guards, std::string& log);

}  // namespace tlcb::hip
