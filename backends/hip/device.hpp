// SPDX-License-Identifier: MIT
// The device a call works on: current in this thread for as long as the call takes, never longer.
#pragma once

#include "hip/runtime.hpp"
#include "support/host.hpp"

namespace tlcb::hip {

/// options->device when it is 1 or more, else the caller's current one. Throws Failure for one that is not there, and
/// for options with a context, which HIP has none of.
[[nodiscard]] int choose_device(const Runtime& runtime, const tlc_load_options* options);

/// Makes a device current, and the one before again. Errors of the calls in between do not stay behind as the thread's
/// last error, where a framework would take them for its own.
class CurrentDevice {
 public:
  CurrentDevice(const Runtime& runtime, int device);
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice();

 private:
  const Runtime& runtime_;
  int before_ = 0;
  bool changed_ = false;
  bool had_error_ = false;
};

}  // namespace tlcb::hip
