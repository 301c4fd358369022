// SPDX-License-Identifier: MIT
#include "support/loaded_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <memory>

#include "support/toolchain.hpp"

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

std::set<std::string> loaded_files() {
  std::set<std::string> files;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        const std::string path = info->dlpi_name != nullptr ? info->dlpi_name : "";
        if (!path.empty() && path.front() == '/' && !is_libc(base_name(path)))
          static_cast<std::set<std::string>*>(into)->insert(real_path(path));
        return 0;
      },
      &files);
  return files;
}

}  // namespace tlcb
