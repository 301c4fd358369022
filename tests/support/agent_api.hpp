// SPDX-License-Identifier: MIT
// The library's functions as a table, so that an agent can also drive a second copy of the library, loaded from a file.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "tlcache/tlcache.h"

// clang-format off
#define AGENT_FUNCTIONS(X) \
  X(tlc_error_init) X(tlc_status_name) X(tlc_blob_data) X(tlc_blob_release) X(tlc_cache_options_init_sized) \
  X(tlc_cache_open) X(tlc_cache_close) X(tlc_request_create) X(tlc_request_destroy) X(tlc_request_set_target) \
  X(tlc_request_set_no_toolchain) X(tlc_request_add_text) X(tlc_request_begin_list) X(tlc_request_begin_map) \
  X(tlc_request_end) X(tlc_request_key) X(tlc_cache_key) X(tlc_key_release) X(tlc_bundle_create) \
  X(tlc_bundle_destroy) X(tlc_bundle_add) X(tlc_bundle_add_guard) X(tlc_bundle_set_compile_time) \
  X(tlc_artifact_release) \
  X(tlc_artifact_retain) X(tlc_artifact_get_info) X(tlc_artifact_find) X(tlc_artifact_read) \
  X(tlc_artifact_folder) X(tlc_cache_get) X(tlc_cache_put) X(tlc_cache_replace) X(tlc_cache_remove) \
  X(tlc_cache_invalidate) X(tlc_cache_clear) X(tlc_cache_begin) X(tlc_lock_publish) X(tlc_lock_fail) \
  X(tlc_lock_abandon) X(tlc_compile_options_init) X(tlc_cache_get_or_compile) X(tlc_load_options_init) \
  X(tlc_cache_load) X(tlc_module_symbol) X(tlc_module_release) X(tlc_cache_stats_json) X(tlc_cache_explain) \
  X(tlc_cache_verify) X(tlc_cache_gc) X(tlc_cache_configure) X(tlc_cache_describe)
// clang-format on

namespace agent {

struct Api {
  void* loaded = nullptr;  // of a copy: what dlopen gave
#define X(name) decltype(&::name) name = nullptr;
  AGENT_FUNCTIONS(X)
#undef X
};

/// The library this program is linked with.
inline Api linked_library() {
  Api api;
#define X(name) api.name = &::name;
  AGENT_FUNCTIONS(X)
#undef X
  return api;
}

/// Another copy, from a file; nothing of it is visible to the first.
inline std::unique_ptr<Api> load_library(const char* path) {
  void* handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return nullptr;
  }
  auto api = std::make_unique<Api>();
  bool whole = true;
#define X(name)                                                              \
  api->name = reinterpret_cast<decltype(api->name)>(::dlsym(handle, #name)); \
  whole = whole && api->name != nullptr;
  AGENT_FUNCTIONS(X)
#undef X
  api->loaded = handle;
  return whole && api->tlc_cache_open != &::tlc_cache_open ? std::move(api) : nullptr;
}

}  // namespace agent
