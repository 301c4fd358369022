// SPDX-License-Identifier: MIT
// mkdtemp, and remove_all at the end.
#include "support/temp_dir.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tlcb {
namespace {

bool is_folder(const char* path) {
  struct stat st {};
  return path != nullptr && *path == '/' && ::stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

}  // namespace

TempDir::TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

TempDir::~TempDir() {
  remove();
}

void TempDir::remove() noexcept {
  if (path_.empty()) return;
  std::error_code ignored;  // nobody could do anything about it
  std::filesystem::remove_all(path_, ignored);
  path_.clear();
}

TempDir TempDir::create(int& error) {
  const char* chosen = ::secure_getenv("TMPDIR");
  // A linker's list of what it read does not quote spaces: a folder with one would make names of it that are no files.
  const bool plain = is_folder(chosen) && std::strpbrk(chosen, " \t\n") == nullptr;
  std::string path = plain ? chosen : "/tmp";
  path += "/tlcache-XXXXXX";
  TempDir made;
  if (::mkdtemp(path.data()) == nullptr) {
    error = errno;
    return made;
  }
  made.path_ = std::move(path);
  return made;
}

}  // namespace tlcb
