// SPDX-License-Identifier: MIT
// What a driver's binary is, and what can be seen of it without the driver. Formats are the drivers' own: of most only
// the outside is known, and program.json vouches for the rest (opencl/program_info.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "opencl/kernel_info.hpp"

namespace tlcb::opencl {

enum class Format { other, pocl, elf, text, spirv };

struct Binary {
  std::string problem;  ///< what is wrong, as the end of a sentence; empty: nothing that can be seen
  Format format = Format::other;
  std::vector<KernelInfo> kernels;  ///< names and arguments, where the format tells them

  [[nodiscard]] bool ok() const { return problem.empty(); }
};

[[nodiscard]] Binary check_binary(std::string_view bytes);
/// "PoCL binary", "ELF", ...
[[nodiscard]] std::string format_name(Format format);

/// What is wrong with a SPIR-V module that a driver would be given, as the end of a sentence; empty: nothing that can
/// be seen.
[[nodiscard]] std::string spirv_problem(std::string_view bytes);

}  // namespace tlcb::opencl
