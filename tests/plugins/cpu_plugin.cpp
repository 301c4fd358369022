// SPDX-License-Identifier: MIT
// The cpu backend's descriptor and entry as a plugin file.
#include "tlcache/backend.h"

extern "C" {

tlc_status tlc_cpu_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                  tlc_error* error);

__attribute__((visibility("default"))) extern const tlc_plugin_desc tlc_plugin_desc_v1;
const tlc_plugin_desc tlc_plugin_desc_v1 = {
    TLC_PLUGIN_MAGIC, TLC_SIZEOF(tlc_plugin_desc, build_id), TLC_ABI_MAJOR, TLC_ABI_MINOR, 1, 0, "cpu", "0.1.0", "MIT",
    nullptr};

__attribute__((visibility("default"))) tlc_status tlc_plugin_init_v1(const tlc_host_api* host,
                                                                     const tlc_backend_ops** ops, void** state,
                                                                     tlc_error* error) {
  return tlc_cpu_plugin_init_v1(host, ops, state, error);
}
}
