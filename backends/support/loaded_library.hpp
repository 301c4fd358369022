// SPDX-License-Identifier: MIT
// Libraries opened by dlopen, and what the dynamic loader knows of them.
//
// A library that was opened is never closed: compilers and drivers keep threads and handlers of their own.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tlcb {

class LoadedLibrary {
 public:
  LoadedLibrary() = default;

  /// By path, or by name as the loader finds it. `problem` gets dlerror's text.
  [[nodiscard]] static LoadedLibrary open(const std::string& name, std::string& problem);
  /// Only if the process has it already.
  [[nodiscard]] static LoadedLibrary already_open(const std::string& name);

  explicit operator bool() const { return handle_ != nullptr; }

  /// A function; NULL where the library is too old to have it.
  template <typename Function>
  void find(Function& into, const char* name) const {
    into = reinterpret_cast<Function>(address(name));
  }

  /// The file it was loaded from, symlinks followed; empty when it cannot be told.
  [[nodiscard]] std::string path() const;

 private:
  explicit LoadedLibrary(void* handle) : handle_(handle) {}
  [[nodiscard]] void* address(const char* name) const;

  void* handle_ = nullptr;
};

/// Whether an address is code or data of the library that was loaded from this file.
[[nodiscard]] bool belongs_to(const void* address, std::string_view path);

/// The file with symlinks followed, or the path itself.
[[nodiscard]] std::string real_path(const std::string& path);

/// The files of all libraries that the process has now, symlinks followed, but those of the C library.
[[nodiscard]] std::set<std::string> loaded_files();

}  // namespace tlcb
