// SPDX-License-Identifier: MIT
// A backend's table made of C++ functions that throw Failure. They are found by the type of the state, in its
// namespace:
//
//   std::string resolve_target(State&, std::string_view target)
//   std::string identify(State&, tlc_call*, const tlc_request*, std::string_view target)
//   void compile(State&, tlc_call*, const tlc_request*, std::string_view target, tlc_bundle*, tlc_log*)
//   void validate(State&, const tlc_artifact*, const tlc_load_options*)
//   std::uint64_t place(State&, const tlc_load_options*)
//   void* load(State&, const tlc_artifact*, const tlc_load_options*)
//   void* symbol(State&, void* module, std::string_view name)
//   void* native(State&, void* module)
//   void unload(State&, void* module)
//   std::string probe(State&, tlc_call*)
//   std::string describe(State&, const tlc_artifact*)
//
// The state has a member `host`.
#pragma once

#include <cstdint>
#include <memory>

#include "support/failure.hpp"
#include "support/host.hpp"

namespace tlcb {

template <typename State>
class Slots {
 public:
  static constexpr tlc_backend_ops table(const char* name, const char* engine, const char* const* kinds,
                                         std::uint64_t caps) {
    return {TLC_BACKEND_OPS_SIZE,
            TLC_ABI_MAJOR,
            TLC_ABI_MINOR,
            nullptr,
            name,
            engine,
            kinds,
            caps,
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
            slot_describe};
  }

  /// What the backend's entry function does: hands out the table, and a state made for this host.
  static tlc_status begin(const tlc_host_api* host, const tlc_backend_ops& table, const tlc_backend_ops** ops,
                          void** state, tlc_error* error) {
    if (host->struct_size < TLC_SIZEOF(tlc_host_api, cancelled)) {
      return host->fail(error, TLC_E_ABI, 0, 0, text("this backend needs a library of ABI 0.1 or newer"));
    }
    *state = std::make_unique<State>(Host(host)).release();
    *ops = &table;
    return TLC_OK;
  }

 private:
  static State& state_of(void* state) { return *static_cast<State*>(state); }

  /// Runs a slot's body; a Failure becomes its status and message.
  template <typename Fn>
  static tlc_status guarded(void* given, tlc_error* error, Fn&& body) {
    State& state = state_of(given);
    try {
      return body(state);
    } catch (const Failure& failure) {
      return state.host->fail(error, failure.status(), failure.sys_errno(), failure.backend_code(),
                              text(failure.what()));
    }
  }

  static tlc_status slot_resolve(void* given, tlc_call* /*call*/, tlc_str target, tlc_blob** resolved,
                                 tlc_error* error) {
    return guarded(given, error,
                   [&](State& state) { return state.host.give(resolved, resolve_target(state, view(target)), error); });
  }

  static tlc_status slot_identify(void* given, tlc_call* call, const tlc_request* request, tlc_str target,
                                  tlc_blob** out, tlc_error* error) {
    return guarded(given, error, [&](State& state) {
      return state.host.give(out, identify(state, call, request, view(target)), error);
    });
  }

  static tlc_status slot_compile(void* given, tlc_call* call, const tlc_request* request, tlc_str target,
                                 tlc_bundle* bundle, tlc_log* log, tlc_error* error) {
    return guarded(given, error, [&](State& state) {
      compile(state, call, request, view(target), bundle, log);
      return TLC_OK;
    });
  }

  static tlc_status slot_validate(void* given, tlc_call* /*call*/, const tlc_artifact* artifact,
                                  const tlc_load_options* options, tlc_error* error) {
    return guarded(given, error, [&](State& state) {
      validate(state, artifact, options);
      return TLC_OK;
    });
  }

  static tlc_status slot_place(void* given, tlc_call* /*call*/, const tlc_load_options* options, std::uint64_t* out,
                               tlc_error* error) {
    return guarded(given, error, [&](State& state) {
      *out = place(state, options);
      return TLC_OK;
    });
  }

  static tlc_status slot_load(void* given, tlc_call* /*call*/, tlc_artifact* artifact, const tlc_load_options* options,
                              void** module, tlc_error* error) {
    return guarded(given, error, [&](State& state) {
      *module = load(state, artifact, options);
      return TLC_OK;
    });
  }

  static tlc_status slot_symbol(void* given, void* module, tlc_str name, void** address, tlc_error* error) {
    return guarded(given, error, [&](State& state) {
      *address = symbol(state, module, view(name));
      return TLC_OK;
    });
  }

  static void* slot_native(void* given, void* module) { return native(state_of(given), module); }
  static void slot_unload(void* given, void* module) { unload(state_of(given), module); }

  static tlc_status slot_probe(void* given, tlc_call* call, tlc_blob** json, tlc_error* error) {
    return guarded(given, error, [&](State& state) { return state.host.give(json, probe(state, call), error); });
  }

  static tlc_status slot_describe(void* given, tlc_call* /*call*/, const tlc_artifact* artifact, tlc_blob** json,
                                  tlc_error* error) {
    return guarded(given, error, [&](State& state) { return state.host.give(json, describe(state, artifact), error); });
  }

  static void slot_close(void* given) { const std::unique_ptr<State> gone(&state_of(given)); }
};

}  // namespace tlcb
