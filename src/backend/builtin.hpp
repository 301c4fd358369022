// SPDX-License-Identifier: MIT
// The backends that are linked into this library. Nothing in src/ names one: CMake writes the table
// from TLC_BUILTIN_BACKENDS (builtin_table.cpp.in), and each has the entry function of a plugin
// under the name tlc_<backend>_plugin_init_v1.
#pragma once

#include <iterator>
#include <span>
#include <string_view>

#include "backend/registry.hpp"
#include "tlcache/backend.h"

namespace tlc::backend {

struct Builtin {
  const char* name;
  tlc_plugin_init_fn init;
};

/// Written by CMake.
[[nodiscard]] std::span<const Builtin> builtin_table();

/// Calls an entry function and registers the table it hands out. What it throws is TLC_E_CALLBACK.
[[nodiscard]] Result<void> load_entry(Registry& registry, const tlc_host_api* host, tlc_plugin_init_fn init,
                                      std::string_view origin);

/// Registers each of the table; one that refuses is kept as a refusal and skips nobody else.
void register_builtins(Registry& registry, const tlc_host_api* host, std::span<const Builtin> table);

}  // namespace tlc::backend
