// SPDX-License-Identifier: MIT
// What is known of a kernel, from the driver or from its binary.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tlcb::opencl {

struct KernelInfo {
  std::string name;
  std::uint64_t max_threads = 0;       ///< work-items of a group
  std::uint64_t multiple = 0;          ///< that a group's size had best be a multiple of
  std::uint64_t shared_bytes = 0;      ///< of local memory
  std::uint64_t private_bytes = 0;     ///< of a work-item
  std::string required;                ///< "64x1x1", where the source says reqd_work_group_size
  std::vector<std::string> arguments;  ///< "global float* x"; what the driver does not tell is left out
};

/// "global float* x": an address space as OpenCL numbers it, a type and a name, each where it is told.
[[nodiscard]] inline std::string argument_text(std::uint32_t space, std::string_view type, std::string_view name) {
  constexpr std::uint32_t kGlobal = 0x119B;
  constexpr std::uint32_t kLocal = 0x119C;
  constexpr std::uint32_t kConstant = 0x119D;
  std::string out;
  if (space == kGlobal) out = "global";
  if (space == kLocal) out = "local";
  if (space == kConstant) out = "constant";
  for (const std::string_view word : {type, name}) {
    if (!word.empty()) out.append(out.empty() ? "" : " ").append(word);
  }
  return out;
}

}  // namespace tlcb::opencl
