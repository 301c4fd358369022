// SPDX-License-Identifier: MIT
// Reading the head of PTX, and the names of its kernels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tlcb::cuda {

/// One directive of PTX and what follows it on its line, without comments.
struct PtxFacts {
  std::string version;  ///< "8.4"
  std::string target;   ///< "sm_90a"
  std::vector<std::string> entries;
};

[[nodiscard]] PtxFacts read_ptx(std::string_view text);

}  // namespace tlcb::cuda
