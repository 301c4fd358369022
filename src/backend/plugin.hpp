// SPDX-License-Identifier: MIT
// Backends from files. docs/backends.md tells users the rules; in short:
//
//   path      absolute; after symlinks, neither the file nor a folder above it may be writable by
//             group or others or belong to anybody but root and this user (a sticky folder of
//             root's, as /tmp, will do)
//   allowed   the caller says so, or the file lies in the installed folder and names this library's
//             build id
//   handshake `tlc_plugin_desc_v1` is read before any function is called: magic, size, equal ABI
//             major, min_host_minor not above ours; then `tlc_plugin_init_v1`, once
//   for ever  RTLD_NOW | RTLD_LOCAL, never dlclose, also after a refusal
//
// Each refusal names file, both versions and the rule, and is kept for the listing.
#pragma once

#include <string>
#include <string_view>

#include "backend/registry.hpp"
#include "port/result.hpp"
#include "tlcache/backend.h"

namespace tlc::backend {

/// Why the file is loaded: decides what it must prove.
enum class PluginTrust {
  allowed,   ///< the application or the tool's user said so
  installed  ///< found in the installed folder: must carry this library's build id
};

/// Loads one file into the registry. A file loaded before is TLC_OK and nothing happens.
[[nodiscard]] Result<void> load_plugin(Registry& registry, const tlc_host_api* host, const std::string& path,
                                       PluginTrust trust);

/// Loads what a list of folders and files names (TLC_BACKEND_PATH: absolute paths separated by
/// colons; in a folder, the files that end in .so). Refusals are kept in the registry. When plugins
/// are not allowed, that is the reason kept for each entry, and nothing is opened.
void load_search_path(Registry& registry, const tlc_host_api* host, std::string_view list, bool allowed);

/// Loads the files of `<libdir>/tlcache/backends` beside the library. Those that do not carry the
/// library's build id are refused unless plugins are allowed.
void load_installed(Registry& registry, const tlc_host_api* host, bool allowed);

/// `<libdir>/tlcache/backends` beside the library; TLC_E_NOT_FOUND when the library is not a file.
[[nodiscard]] Result<std::string> installed_folder();

/// The GNU build id, in hexadecimal, of the shared object that holds this function; empty when it
/// is linked into a program or has none.
[[nodiscard]] std::string library_build_id();

/// Whether the file at this path is in a place that only root and this user can change. The message
/// names the file or folder and what is wrong with it.
[[nodiscard]] Result<void> check_ownership(const std::string& real_path);

}  // namespace tlc::backend
