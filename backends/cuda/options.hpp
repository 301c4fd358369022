// SPDX-License-Identifier: MIT
// Which NVRTC options a request may pass.
//
// The rule: a kernel found in the cache must be what these options make. Only options that are known are passed on:
// each must change the result by its text alone. Those that read or write files nobody watches, say what the target
// says, or are for the backend to decide are refused with the reason.
#pragma once

#include <string>
#include <vector>

#include "support/device_source.hpp"

namespace tlcb::cuda {

struct Options : CommonOptions {
  bool relocatable = false;  ///< -rdc=true, -dc
  bool debug = false;        ///< -G: the working directory is in the result
};

/// Throws Failure (TLC_E_INVALID, or TLC_E_DENIED for what reads files) that names the option and what to do instead.
[[nodiscard]] Options check_options(const std::vector<std::string>& options);

}  // namespace tlcb::cuda
