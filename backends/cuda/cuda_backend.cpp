// SPDX-License-Identifier: MIT
// The table of the backend for engine `nvrtc` and target kind `cuda`, and its entry function.
#include <memory>

#include "cuda/cuda.hpp"
#include "support/failure.hpp"

extern "C" tlc_status tlc_cuda_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                              tlc_error* error);

namespace tlcb::cuda {
namespace {

State& state_of(void* state) {
  return *static_cast<State*>(state);
}

/// Runs a slot's body; a Failure becomes its status and message.
template <typename Fn>
tlc_status guarded(void* given, tlc_error* error, Fn&& body) {
  State& state = state_of(given);
  try {
    return body(state);
  } catch (const Failure& failure) {
    return state.host->fail(error, failure.status(), failure.sys_errno(), failure.backend_code(), text(failure.what()));
  }
}

tlc_status slot_resolve(void* given, tlc_call* /*call*/, tlc_str target, tlc_blob** resolved, tlc_error* error) {
  return guarded(given, error,
                 [&](State& state) { return state.host.give(resolved, resolve_target(state, view(target)), error); });
}

tlc_status slot_identify(void* given, tlc_call* call, const tlc_request* request, tlc_str target, tlc_blob** out,
                         tlc_error* error) {
  return guarded(given, error, [&](State& state) {
    return state.host.give(out, identify(state, call, request, view(target)), error);
  });
}

tlc_status slot_compile(void* given, tlc_call* call, const tlc_request* request, tlc_str target, tlc_bundle* bundle,
                        tlc_log* log, tlc_error* error) {
  return guarded(given, error, [&](State& state) {
    compile(state, call, request, view(target), bundle, log);
    return TLC_OK;
  });
}

tlc_status slot_validate(void* given, tlc_call* /*call*/, const tlc_artifact* artifact, const tlc_load_options* options,
                         tlc_error* error) {
  return guarded(given, error, [&](State& state) {
    validate(state, artifact, options);
    return TLC_OK;
  });
}

tlc_status slot_place(void* given, tlc_call* /*call*/, const tlc_load_options* options, std::uint64_t* out,
                      tlc_error* error) {
  return guarded(given, error, [&](State& state) {
    *out = place(state, options);
    return TLC_OK;
  });
}

tlc_status slot_load(void* given, tlc_call* /*call*/, tlc_artifact* artifact, const tlc_load_options* options,
                     void** module, tlc_error* error) {
  return guarded(given, error, [&](State& state) {
    *module = load(state, artifact, options);
    return TLC_OK;
  });
}

tlc_status slot_symbol(void* given, void* module, tlc_str name, void** address, tlc_error* error) {
  return guarded(given, error, [&](State&) {
    *address = symbol(module, view(name));
    return TLC_OK;
  });
}

void* slot_native(void* /*state*/, void* module) {
  return native(module);
}

void slot_unload(void* /*state*/, void* module) {
  unload(module);
}

tlc_status slot_probe(void* given, tlc_call* call, tlc_blob** json, tlc_error* error) {
  return guarded(given, error, [&](State& state) { return state.host.give(json, probe(state, call), error); });
}

tlc_status slot_describe(void* given, tlc_call* /*call*/, const tlc_artifact* artifact, tlc_blob** json,
                         tlc_error* error) {
  return guarded(given, error,
                 [&](State& state) { return state.host.give(json, describe(state.host, artifact), error); });
}

void slot_close(void* given) {
  const std::unique_ptr<State> gone(&state_of(given));
}

constexpr const char* kKinds[] = {"cuda", nullptr};

constexpr tlc_backend_ops kOps = {
    TLC_BACKEND_OPS_SIZE,
    TLC_ABI_MAJOR,
    TLC_ABI_MINOR,
    nullptr,
    "NVIDIA NVRTC",
    "nvrtc",
    kKinds,
    0,  // neither bound to this host nor alive after a fork
    slot_resolve,
    slot_identify,
    slot_compile,
    slot_validate,
    slot_place,
    slot_load,
    slot_symbol,
    slot_native,
    slot_unload,
    slot_probe,
    slot_close,
    slot_describe,
};

}  // namespace
}  // namespace tlcb::cuda

tlc_status tlc_cuda_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                   tlc_error* error) {
  using namespace tlcb::cuda;
  if (host->struct_size < TLC_SIZEOF(tlc_host_api, cancelled)) {
    return host->fail(error, TLC_E_ABI, 0, 0, tlcb::text("the cuda backend needs a library of ABI 0.1 or newer"));
  }
  *state = std::make_unique<State>(tlcb::Host(host)).release();
  *ops = &kOps;
  return TLC_OK;
}
