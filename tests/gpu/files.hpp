// SPDX-License-Identifier: MIT
// Damaging files of a store, for tests.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tlc::gpu {

/// Flips one bit in the middle of every occurrence of the bytes in the files below a folder.
inline int flip_in_files(const std::string& folder, const std::string& bytes) {
  int flipped = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::string all((std::istreambuf_iterator<char>(in)), {});
    const std::size_t at = all.find(bytes);
    if (at == std::string::npos) continue;
    const std::size_t middle = at + bytes.size() / 2;
    const char changed = static_cast<char>(all[middle] ^ 0x10);
    ::chmod(entry.path().c_str(), 0600);
    const int file = ::open(entry.path().c_str(), O_WRONLY | O_CLOEXEC);
    flipped += ::pwrite(file, &changed, 1, static_cast<off_t>(middle)) == 1 ? 1 : 0;
    ::close(file);
  }
  return flipped;
}

}  // namespace tlc::gpu
