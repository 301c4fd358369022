// SPDX-License-Identifier: MIT
// The table of the backend for engine `opencl` and target kind `opencl`, and its entry function.
#include "opencl/opencl.hpp"
#include "support/slots.hpp"

extern "C" tlc_status tlc_opencl_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                                tlc_error* error);

namespace {

constexpr const char* kKinds[] = {"opencl", nullptr};
using Slots = tlcb::Slots<tlcb::opencl::State>;
/// Neither bound to this host nor alive after a fork.
constexpr tlc_backend_ops kOps = Slots::table("OpenCL", "opencl", kKinds, 0);

}  // namespace

tlc_status tlc_opencl_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                     tlc_error* error) {
  return Slots::begin(host, kOps, ops, state, error);
}
