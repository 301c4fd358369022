// SPDX-License-Identifier: MIT
// The binaries of PoCL, the OpenCL of CPUs: whether it may be given one. It believes the numbers and names in them: one
// that is cut or damaged ends its process, and a path in it may lead anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opencl/kernel_info.hpp"

namespace tlcb::opencl {

struct PoclBinary {
  std::string problem;              ///< what is wrong, as the end of a sentence; empty: nothing
  std::uint32_t version = 0;        ///< of the format
  bool walked = false;              ///< false: a version that is not known here, of which only the header was read
  std::vector<KernelInfo> kernels;  ///< names and arguments

  [[nodiscard]] bool ok() const { return problem.empty(); }
};

[[nodiscard]] bool is_pocl_binary(std::string_view bytes);
[[nodiscard]] PoclBinary check_pocl_binary(std::string_view bytes);

}  // namespace tlcb::opencl
