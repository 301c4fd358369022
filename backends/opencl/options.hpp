// SPDX-License-Identifier: MIT
// Which options a request may pass to an OpenCL driver's compiler. The rule is that of support/option_reader.hpp.
#pragma once

#include <string>
#include <vector>

#include "support/device_source.hpp"

namespace tlcb::opencl {

struct Options : CommonOptions {
  std::string prefix;  ///< -D and -U as lines that come before the source, in their order
};

/// Throws Failure (TLC_E_INVALID, or TLC_E_DENIED for what reads files) that names the option and what to do instead.
[[nodiscard]] Options check_options(const std::vector<std::string>& options);

/// NAME or NAME=value as a line of source. Throws Failure for a value of several lines.
[[nodiscard]] std::string define_line(const std::string& define);

/// The words as the text that drivers take, which a space splits. Throws Failure for a folder with a space in its name.
[[nodiscard]] std::string option_text(const std::vector<std::string>& words, const std::vector<std::string>& folders);

}  // namespace tlcb::opencl
