// SPDX-License-Identifier: MIT
#include "cuda/toolkit.hpp"

namespace tlcb::cuda {

std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string root = environment(variable);
    if (!root.empty() && root.front() == '/') folders.push_back(root + "/lib64");
  }
  return folders;
}

}  // namespace tlcb::cuda
