// SPDX-License-Identifier: MIT
// Offload bundles: clang's container of code objects for several processors, which the HIP runtime loads whole.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hip/target.hpp"

namespace tlcb::hip {

struct BundleEntry {
  std::string id;          ///< hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+, host-x86_64-unknown-linux--
  TargetId target;         ///< of an entry for a GPU
  bool for_gpu = false;    ///< else it is for the host, and empty
  std::string_view bytes;  ///< inside of the bundle
};

[[nodiscard]] bool is_bundle(std::string_view bytes);
[[nodiscard]] bool is_compressed_bundle(std::string_view bytes);

/// Its entries; `problem` says what is wrong, as the end of a sentence. What an entry holds is not looked at.
[[nodiscard]] std::vector<BundleEntry> read_bundle(std::string_view bytes, std::string& problem);

/// Of a compressed one only the head can be checked: what is wrong, or empty.
[[nodiscard]] std::string compressed_bundle_problem(std::string_view bytes);

[[nodiscard]] std::string write_bundle(const std::vector<std::pair<TargetId, std::string>>& code_objects);

}  // namespace tlcb::hip
