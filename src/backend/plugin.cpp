// SPDX-License-Identifier: MIT
// Loading a backend from a file: what is checked, in which order.
#include "backend/plugin.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/builtin.hpp"
#include "port/dynlib.hpp"
#include "port/elf_id.hpp"
#include "port/file.hpp"

namespace tlc::backend {
namespace {

/// The descriptor up to `build_id`, the first release's last member.
constexpr std::size_t kDescSize = TLC_SIZEOF(tlc_plugin_desc, build_id);

std::string our_version() {
  return std::to_string(TLC_ABI_MAJOR) + "." + std::to_string(TLC_ABI_MINOR);
}

Error refuse(tlc_status status, const std::string& path, const std::string& why) {
  return make_error(status, "plugin " + path + " is refused: " + why);
}

/// One folder or file on the way to a plugin.
Result<void> check_one(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return io_error(errno, "cannot look at " + path);
  if (st.st_uid != 0 && st.st_uid != ::geteuid()) {
    return make_error(TLC_E_DENIED, path + " belongs to user " + std::to_string(st.st_uid) +
                                        "; it must belong to root or to the user who runs this");
  }
  const bool others_write = (st.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  // In a sticky folder of root's (/tmp) others cannot rename or replace what is not theirs.
  const bool sticky = S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0 && st.st_uid == 0;
  if (others_write && !sticky) {
    return make_error(TLC_E_DENIED, path +
                                        " can be written by its group or by others; remove that permission "
                                        "(chmod go-w)");
  }
  return {};
}

Result<std::string> real_path(const std::string& path) {
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos) {
    return refuse(TLC_E_INVALID, path, "its path must be absolute");
  }
  struct Free {
    void operator()(char* text) const noexcept { std::free(text); }
  };
  const std::unique_ptr<char, Free> real(::realpath(path.c_str(), nullptr));
  if (!real) return io_error(errno, "plugin " + path + " cannot be found");
  return std::string(real.get());
}

/// What the descriptor says, read before any function of the file is called.
Result<void> check_desc(const tlc_plugin_desc& desc, const std::string& path, PluginTrust trust) {
  if (desc.magic != TLC_PLUGIN_MAGIC) {
    return refuse(TLC_E_ABI, path, "its " TLC_PLUGIN_DESC_SYMBOL " does not begin with TLC_PLUGIN_MAGIC");
  }
  if (desc.struct_size < kDescSize) {
    return refuse(TLC_E_ABI, path,
                  "its descriptor has " + std::to_string(desc.struct_size) + " bytes, fewer than " +
                      std::to_string(kDescSize) + " of ABI " + our_version() +
                      "; set struct_size to TLC_SIZEOF(tlc_plugin_desc, build_id)");
  }
  const std::string theirs = std::to_string(desc.abi_major) + "." + std::to_string(desc.abi_minor);
  if (desc.abi_major != TLC_ABI_MAJOR) {
    return refuse(TLC_E_ABI, path,
                  "it was built for ABI " + theirs + ", this library has ABI " + our_version() +
                      "; the major numbers must be equal: rebuild it");
  }
  if (desc.min_host_minor > TLC_ABI_MINOR) {
    return refuse(TLC_E_ABI, path,
                  "it was built for ABI " + theirs + " and needs a library of ABI " + std::to_string(desc.abi_major) +
                      "." + std::to_string(desc.min_host_minor) + " or newer, this library has ABI " + our_version());
  }
  if (trust == PluginTrust::installed) {
    const std::string ours = library_build_id();
    if (ours.empty() || desc.build_id == nullptr || ours != desc.build_id) {
      return refuse(TLC_E_DENIED, path,
                    "it is no part of this build of the library (its build id differs) and plugins "
                    "are not allowed; allow them with TLC_OPEN_ALLOW_PLUGINS or --allow-plugins");
    }
  }
  return {};
}

Result<void> open_and_register(Registry& registry, const tlc_host_api* host, const std::string& path,
                               PluginTrust trust) {
  const auto library = port::DynLib::open(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return refuse(TLC_E_LOAD, path, library.error().message);
  const auto* desc = static_cast<const tlc_plugin_desc*>(library->symbol(TLC_PLUGIN_DESC_SYMBOL));
  if (desc == nullptr) {
    return refuse(TLC_E_ABI, path,
                  "it does not export " TLC_PLUGIN_DESC_SYMBOL ", so it is no plugin for ABI " + our_version());
  }
  if (auto fits = check_desc(*desc, path, trust); !fits) return fits;
  void* entry = library->symbol(TLC_PLUGIN_INIT_SYMBOL);
  if (entry == nullptr) {
    return refuse(TLC_E_ABI, path, "it does not export the function " TLC_PLUGIN_INIT_SYMBOL);
  }
  return load_entry(registry, host, reinterpret_cast<tlc_plugin_init_fn>(entry), path);
}

/// Loads one file that a search found; what is wrong with it only shows in the listing.
void try_plugin(Registry& registry, const tlc_host_api* host, const std::string& path, PluginTrust trust) {
  // load_plugin keeps the reason.
  (void)load_plugin(registry, host, path, trust).ok();
}

void load_folder(Registry& registry, const tlc_host_api* host, const std::string& folder, PluginTrust trust) {
  const auto names = port::list_dir_at(AT_FDCWD, folder.c_str());
  if (!names) {
    registry.note_refusal(folder, names.error());
    return;
  }
  for (const std::string& name : *names) {
    if (!name.ends_with(".so")) continue;
    try_plugin(registry, host, std::string(folder).append("/").append(name), trust);
  }
}

bool is_folder(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

}  // namespace

Result<void> check_ownership(const std::string& real_path) {
  for (std::size_t end = real_path.size(); end != std::string::npos && end != 0; end = real_path.rfind('/', end - 1)) {
    if (auto ok = check_one(real_path.substr(0, end)); !ok) return ok;
  }
  return check_one("/");
}

Result<void> load_plugin(Registry& registry, const tlc_host_api* host, const std::string& path, PluginTrust trust) {
  auto load = [&]() -> Result<void> {
    auto real = real_path(path);
    if (!real) return std::move(real).error();
    if (auto safe = check_ownership(*real); !safe) {
      return refuse(TLC_E_DENIED, *real, safe.error().message);
    }
    // One file that is allowed later, after it was refused as a stranger, gets another chance.
    const std::string once = trust == PluginTrust::allowed ? *real : "installed:" + *real;
    return registry.load_once(once, [&] { return open_and_register(registry, host, *real, trust); });
  };
  auto done = load();
  if (!done) registry.note_refusal(path, done.error());
  return done;
}

void load_search_path(Registry& registry, const tlc_host_api* host, std::string_view list, bool allowed) {
  while (!list.empty()) {
    const std::size_t colon = list.find(':');
    const std::string item(list.substr(0, colon));
    list = colon == std::string_view::npos ? std::string_view() : list.substr(colon + 1);
    if (item.empty()) continue;
    if (!allowed) {
      registry.note_refusal(item, refuse(TLC_E_DENIED, item,
                                         "TLC_BACKEND_PATH names it, but plugins are not allowed; allow "
                                         "them with TLC_OPEN_ALLOW_PLUGINS or --allow-plugins"));
    } else if (item.front() == '/' && is_folder(item)) {
      load_folder(registry, host, item, PluginTrust::allowed);
    } else {
      try_plugin(registry, host, item, PluginTrust::allowed);
    }
  }
}

Result<std::string> installed_folder() {
  auto library = port::path_of_address(reinterpret_cast<const void*>(&library_build_id));
  if (!library) return std::move(library).error();
  auto real = real_path(*library);
  if (!real) return std::move(real).error();
  return real->substr(0, real->rfind('/')) + "/tlcache/backends";
}

void load_installed(Registry& registry, const tlc_host_api* host, bool allowed) {
  const auto folder = installed_folder();
  if (!folder || !is_folder(*folder)) return;  // nothing installed is no fault
  load_folder(registry, host, *folder, allowed ? PluginTrust::allowed : PluginTrust::installed);
}

std::string library_build_id() {
  const auto path = port::path_of_address(reinterpret_cast<const void*>(&library_build_id));
  if (!path) return {};
  const auto file = port::open_at(AT_FDCWD, path->c_str(), O_RDONLY);
  if (!file) return {};
  const auto id = port::build_id(file->get());
  if (!id) return {};
  constexpr const char* kHex = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : *id) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

}  // namespace tlc::backend
