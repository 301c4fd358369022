// SPDX-License-Identifier: MIT
// Dynamic libraries. A library once opened stays: closing one under running threads, thread-local
// destructors or OpenMP workers crashes the host, so nothing here ever calls dlclose.
#pragma once

#include <dlfcn.h>

#include <string>

#include "port/result.hpp"

namespace tlc::port {

class DynLib {
 public:
  DynLib() = default;

  /// dlopen; the error says what dlerror says (TLC_E_LOAD).
  [[nodiscard]] static Result<DynLib> open(const std::string& path, int flags = RTLD_NOW | RTLD_LOCAL);

  /// The address, or nullptr if there is no such symbol.
  [[nodiscard]] void* symbol(const char* name) const;

  [[nodiscard]] void* handle() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  explicit DynLib(void* handle) : handle_(handle) {}

  void* handle_ = nullptr;
};

/// The file that the code or data at this address was loaded from (TLC_E_NOT_FOUND if none).
[[nodiscard]] Result<std::string> path_of_address(const void* address);

}  // namespace tlc::port
