// SPDX-License-Identifier: MIT
#include "support/toolchain.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "support/failure.hpp"

namespace tlcb {

std::string environment(const char* name) {
  const char* value = ::secure_getenv(name);
  return value != nullptr ? value : "";
}

std::vector<std::string> loader_folders() {
  std::vector<std::string> folders;
  const std::string all = environment("LD_LIBRARY_PATH");
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find_first_of(":;", at), all.size());
    if (end > at) folders.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return folders;
}

std::string first_file_in(const std::vector<std::string>& folders, std::span<const char* const> names) {
  for (const std::string& folder : folders) {
    for (const char* name : names) {
      std::string path = folder + "/" + name;
      if (::access(path.c_str(), F_OK) == 0) return path;
    }
  }
  return {};
}

std::vector<std::string> candidates_of(const std::vector<std::string>& folders, std::span<const char* const> names,
                                       const std::string& usual) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& folder) {
    for (const char* name : names) out.push_back(folder + name);
  };
  for (const std::string& folder : folders) add(folder + "/");
  add("");
  add(usual + "/");
  return out;
}

std::string loader_cache_stamp() {
  struct stat found {};
  if (::stat("/etc/ld.so.cache", &found) != 0) return "none";
  return std::to_string(found.st_mtim.tv_sec) + "." + std::to_string(found.st_mtim.tv_nsec) + "/" +
         std::to_string(found.st_size) + "/" + std::to_string(found.st_ino);
}

std::string file_identity(Host host, tlc_call* call, const std::string& path) {
  constexpr const char* kHex = "0123456789abcdef";
  std::array<std::uint8_t, TLC_DIGEST_SIZE> digest{};
  HostError error;
  error.check(host->file_identity(call, text(path), digest.data(), error.out()), path + " cannot be read");
  std::string out;
  for (const std::uint8_t byte : digest) {
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

bool is_libc(std::string_view file_name) {
  constexpr std::array<std::string_view, 7> kParts = {"libc.so",  "libm.so",  "libdl.so",  "libpthread.so",
                                                      "librt.so", "ld-linux", "linux-vdso"};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) { return file_name.starts_with(part); });
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string line(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace tlcb
