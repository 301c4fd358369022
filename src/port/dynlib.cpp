// SPDX-License-Identifier: MIT
// dlopen, dlsym, dladdr.
#include "port/dynlib.hpp"

namespace tlc::port {

Result<DynLib> DynLib::open(const std::string& path, int flags) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return make_error(TLC_E_INVALID, "cannot load a library without a proper name");
  }
  if (void* handle = ::dlopen(path.c_str(), flags)) return DynLib(handle);
  const char* why = ::dlerror();
  return make_error(TLC_E_LOAD,
                    "cannot load library " + path + ": " + (why != nullptr ? why : "the loader gives no reason"));
}

void* DynLib::symbol(const char* name) const {
  return handle_ != nullptr ? ::dlsym(handle_, name) : nullptr;
}

Result<std::string> path_of_address(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr || info.dli_fname[0] == '\0') {
    return make_error(TLC_E_NOT_FOUND, "the address belongs to no loaded file");
  }
  return std::string(info.dli_fname);
}

}  // namespace tlc::port
