// SPDX-License-Identifier: MIT
#include "support/loaded_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <memory>

namespace tlcb {

LoadedLibrary LoadedLibrary::open(const std::string& name, std::string& problem) {
  LoadedLibrary opened(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!opened) {
    const char* why = ::dlerror();
    problem = why != nullptr ? why : name + ": no reason given";
  }
  return opened;
}

LoadedLibrary LoadedLibrary::already_open(const std::string& name) {
  return LoadedLibrary(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD));
}

void* LoadedLibrary::address(const char* name) const {
  return ::dlsym(handle_, name);
}

std::string LoadedLibrary::path() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
  return map->l_name == nullptr ? std::string() : real_path(map->l_name);
}

bool belongs_to(const void* address, std::string_view path) {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 && info.dli_fname != nullptr && real_path(info.dli_fname) == path;
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real != nullptr ? std::string(real.get()) : path;
}

}  // namespace tlcb
