// SPDX-License-Identifier: MIT
// What compiles for a device: the loader and the drivers, by the content of their files, and the device's own identity.
// Found out in tlcache-worker and remembered, so that a look-up opens no driver and starts no process.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "opencl/target.hpp"
#include "opencl/worker_order.hpp"
#include "support/toolchain.hpp"

namespace tlcb::opencl {

struct Toolchain {
  Listing listing;
  DeviceFacts device;
  std::string files;     ///< identity of the listing's files
  std::string identity;  ///< as text for a key
  Facts facts;           ///< that led to it
};

/// Finds out once a process for each loader that is wanted. Threads may share it.
class ToolchainFinder {
 public:
  /// `wanted`: the request's field 'compiler'. Throws Failure (TLC_E_UNAVAILABLE) that says what is missing.
  [[nodiscard]] Toolchain get(Host host, tlc_call* call, const std::string& wanted, const Target& target);
  /// All that is here. Throws Failure.
  [[nodiscard]] Listing list(Host host, tlc_call* call, const std::string& wanted);
  /// After a compile, with what the worker saw then. Throws Failure (TLC_E_UNCACHEABLE), and finds out anew next time,
  /// if it is not the same any more. The facts go to the store that keeps what was compiled.
  void check_same(Host host, tlc_call* call, const std::string& wanted, const Toolchain& toolchain,
                  const Listing& seen);

 private:
  struct Known {
    Listing listing;
    std::string files;
    Facts facts;
    bool asked = false;  ///< the worker, in this process
  };
  Known& known(Host host, tlc_call* call, const std::string& wanted);

  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

/// What the worker needs of the environment besides LD_LIBRARY_PATH: where drivers are registered, and
/// programs that they start.
[[nodiscard]] std::vector<std::string> worker_environment();

}  // namespace tlcb::opencl
