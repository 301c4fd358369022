// SPDX-License-Identifier: MIT
// Which options a request may pass to hiprtc and clang, which take the same ones. The rule is that of
// support/option_reader.hpp.
#pragma once

#include <string>
#include <vector>

#include "support/device_source.hpp"

namespace tlcb::hip {

struct Options : CommonOptions {
  bool optimises = false;  ///< a level is given
};

/// Throws Failure (TLC_E_INVALID, or TLC_E_DENIED for what reads files) that names the option and what to do instead.
[[nodiscard]] Options check_options(const std::vector<std::string>& options);

}  // namespace tlcb::hip
