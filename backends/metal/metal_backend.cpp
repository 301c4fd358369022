// SPDX-License-Identifier: MIT
// The table of the backend for engine `metal` and target kind `metal`, and its entry function.
#include "metal/metal.hpp"
#include "support/slots.hpp"

extern "C" tlc_status tlc_metal_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                               tlc_error* error);

namespace {

constexpr const char* kKinds[] = {"metal", nullptr};
using Slots = tlcb::Slots<tlcb::metal::State>;
/// Neither bound to this host nor alive after a fork.
constexpr tlc_backend_ops kOps = Slots::table("Apple Metal", "metal", kKinds, 0);

}  // namespace

tlc_status tlc_metal_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                    tlc_error* error) {
  return Slots::begin(host, kOps, ops, state, error);
}
