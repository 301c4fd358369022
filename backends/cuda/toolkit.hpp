// SPDX-License-Identifier: MIT
// Where CUDA's libraries may lie.
#pragma once

#include <string>
#include <vector>

#include "support/toolchain.hpp"

namespace tlcb::cuda {

/// Where the toolkit is unless somebody says otherwise.
inline constexpr const char* kUsualFolder = "/usr/local/cuda/lib64";

/// $CUDA_HOME/lib64 and $CUDA_PATH/lib64, of those that are set.
[[nodiscard]] std::vector<std::string> toolkit_folders();

}  // namespace tlcb::cuda
