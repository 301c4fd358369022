// SPDX-License-Identifier: MIT
// The metadata note of a code object (version 3 and newer): what it was made for, and its kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tlcb::hip {

struct KernelFacts {
  std::string name;
  std::uint64_t vgprs = 0;          ///< registers of each lane
  std::uint64_t agprs = 0;          ///< of them, those for matrix units (gfx908 and newer)
  std::uint64_t sgprs = 0;          ///< registers of a wave
  std::uint64_t shared_bytes = 0;   ///< of LDS, known when it was compiled
  std::uint64_t private_bytes = 0;  ///< of scratch memory, each lane
  std::uint64_t argument_bytes = 0;
  std::uint64_t max_threads = 0;  ///< of a block
  std::uint64_t wave = 0;         ///< lanes of a wave
};

struct Metadata {
  std::string target;  ///< amdgcn-amd-amdhsa--gfx90a:xnack+; empty before version 4
  std::vector<KernelFacts> kernels;
};

/// nullopt where it is no such metadata, or damaged.
[[nodiscard]] std::optional<Metadata> parse_metadata(std::string_view bytes);

}  // namespace tlcb::hip
