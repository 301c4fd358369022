// SPDX-License-Identifier: MIT
// hiprtc, AMD's compiler as a library. It ends the process it runs in when it is asked for an arch that it does not
// know, and its LLVM may clash with another one in the process: so it is opened in tlcache-worker only, never here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hip/target.hpp"
#include "support/device_source.hpp"
#include "support/host.hpp"
#include "support/toolchain.hpp"
#include "support/worker_protocol.hpp"

namespace tlcb::hip {

struct Hiprtc {
  std::string path;                ///< of the library with its functions
  std::string version;             ///< as it says it
  std::vector<std::string> files;  ///< all it consists of
  bool knows_arch = false;         ///< whether it compiled an empty kernel for the processor
  std::string why_not;             ///< what it said, in one line

  /// Of all its files, by content, as text for a key. Throws Failure where one cannot be read.
  [[nodiscard]] std::string identity(Host host, tlc_call* call) const;
};

/// The hiprtc that is chosen (an absolute path; empty: the first that is found), tried out for a processor by an empty
/// kernel. Remembered in the store with the circumstances it was found in: asking again starts no process. Throws
/// Failure (TLC_E_UNAVAILABLE) where there is none.
[[nodiscard]] Hiprtc find_hiprtc(Host host, tlc_call* call, const std::string& chosen, const TargetId& target,
                                 Facts& facts);

/// A code object and the names of expressions. Throws Failure; `log` has what was said in any case.
[[nodiscard]] WorkerDone compile_by_hiprtc(Host host, tlc_call* call, const Hiprtc& hiprtc, const TargetId& target,
                                           const DeviceSource& request, const std::vector<std::string>& options,
                                           std::string& log);

}  // namespace tlcb::hip
