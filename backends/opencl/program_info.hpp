// SPDX-License-Identifier: MIT
// program.json, kept beside a binary: which device it is for, by the whole identity, which bytes it is, and what the
// driver told of the kernels. Without it, or where it does not fit, no driver gets the binary.
//
//   {"format": 1, "device": "device: ...\nplatform: ...\n", "size": 49434, "crc64": "c96c57...", "kernels":
//    {"saxpy": {"max_threads": 4096, ..., "arguments": {"0": "float a", ...}}}}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opencl/cl_device.hpp"
#include "opencl/kernel_info.hpp"

namespace tlcb::opencl {

struct ProgramInfo {
  DeviceFacts device;
  std::uint64_t size = 0;
  std::string crc64;
  std::vector<KernelInfo> kernels;
};

/// What to keep for a binary; `kernels` as kernels_json() writes them.
[[nodiscard]] std::string program_json(const DeviceFacts& device, std::string_view binary, const std::string& kernels);
[[nodiscard]] std::string kernels_json(const std::vector<KernelInfo>& kernels);

/// nullopt for anything but what program_json writes.
[[nodiscard]] std::optional<ProgramInfo> parse_program(std::string_view json);

/// What is wrong with a binary that this is said to be of, as the end of a sentence; empty: nothing.
[[nodiscard]] std::string mismatch(const ProgramInfo& info, std::string_view binary);

}  // namespace tlcb::opencl
