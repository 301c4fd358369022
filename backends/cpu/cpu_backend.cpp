// SPDX-License-Identifier: MIT
// The table of the backend for engine `cc` and target kind `cpu`, and its entry function.
#include <memory>

#include "cpu/compiler.hpp"
#include "cpu/cpu.hpp"
#include "cpu/target.hpp"
#include "support/failure.hpp"
#include "support/json.hpp"

extern "C" tlc_status tlc_cpu_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                             tlc_error* error);

namespace tlcb::cpu {
namespace {

struct State {
  Host host;
};

Host host_of(void* state) {
  return static_cast<const State*>(state)->host;
}

/// Runs a slot's body; a Failure becomes its status and message.
template <typename Fn>
tlc_status guarded(void* state, tlc_error* error, Fn&& body) {
  const Host host = host_of(state);
  try {
    return body(host);
  } catch (const Failure& failure) {
    return host.fail(error, failure.status(), failure.what(), failure.sys_errno());
  }
}

tlc_status slot_resolve(void* state, tlc_call* /*call*/, tlc_str target, tlc_blob** resolved, tlc_error* error) {
  return guarded(state, error, [&](Host host) { return host.give(resolved, resolve_target(view(target)), error); });
}

tlc_status slot_identify(void* state, tlc_call* call, const tlc_request* request, tlc_str target, tlc_blob** out,
                         tlc_error* error) {
  return guarded(state, error, [&](Host host) {
    (void)parse_target(view(target));  // an unknown feature shows before there is a key
    const Request fields = read_request(host, request);
    const Options options = check_options(fields.options);
    const Compiler compiler = find_compiler(host, call, fields.compiler, fields.language, options);
    return host.give(out, identity(host, call, compiler, fields.language), error);
  });
}

tlc_status slot_compile(void* state, tlc_call* call, const tlc_request* request, tlc_str target, tlc_bundle* bundle,
                        tlc_log* log, tlc_error* error) {
  return guarded(state, error, [&](Host host) {
    compile(host, call, request, view(target), bundle, log);
    return TLC_OK;
  });
}

tlc_status slot_validate(void* state, tlc_call* /*call*/, const tlc_artifact* artifact, const tlc_load_options* options,
                         tlc_error* error) {
  return guarded(state, error, [&](Host host) {
    validate(host, artifact, options);
    return TLC_OK;
  });
}

tlc_status slot_load(void* state, tlc_call* /*call*/, tlc_artifact* artifact, const tlc_load_options* options,
                     void** module, tlc_error* error) {
  return guarded(state, error, [&](Host host) {
    *module = load(host, artifact, options);
    return TLC_OK;
  });
}

tlc_status slot_symbol(void* state, void* module, tlc_str name, void** address, tlc_error* error) {
  return guarded(state, error, [&](Host) {
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

/// One language of the probe: the compiler and its version, or why there is none.
std::string probe_language(Host host, tlc_call* call, Language language, bool& found) {
  try {
    const Compiler compiler = find_compiler(host, call, "", language, Options());
    found = true;
    return "{\"compiler\": " + json_text(compiler.path) + ", \"version\": " + json_text(compiler.version) +
           ", \"machine\": " + json_text(compiler.machine) + "}";
  } catch (const Failure& failure) {
    return std::string("{\"missing\": ") + json_text(failure.what()) + "}";
  }
}

tlc_status slot_probe(void* state, tlc_call* call, tlc_blob** json, tlc_error* error) {
  return guarded(state, error, [&](Host host) {
    bool found = false;
    const std::string c = probe_language(host, call, Language::c, found);
    const std::string cxx = probe_language(host, call, Language::cxx, found);
    if (!found) (void)find_driver("", Language::c);  // throws what is missing
    return host.give(
        json, "{\"native\": " + json_text(resolve_target("cpu:native")) + ", \"c\": " + c + ", \"c++\": " + cxx + "}",
        error);
  });
}

tlc_status slot_describe(void* state, tlc_call* /*call*/, const tlc_artifact* artifact, tlc_blob** json,
                         tlc_error* error) {
  return guarded(state, error, [&](Host host) { return host.give(json, describe(host, artifact), error); });
}

void slot_close(void* state) {
  const std::unique_ptr<State> gone(static_cast<State*>(state));
}

constexpr const char* kKinds[] = {"cpu", nullptr};

constexpr tlc_backend_ops kOps = {
    TLC_BACKEND_OPS_SIZE,
    TLC_ABI_MAJOR,
    TLC_ABI_MINOR,
    nullptr,
    "Host C and C++ compiler",
    "cc",
    kKinds,
    TLC_BACKEND_HOST_BOUND | TLC_BACKEND_SURVIVES_FORK,
    slot_resolve,
    slot_identify,
    slot_compile,
    slot_validate,
    nullptr,  // place: there is one
    slot_load,
    slot_symbol,
    slot_native,
    slot_unload,
    slot_probe,
    slot_close,
    slot_describe,
};

}  // namespace
}  // namespace tlcb::cpu

tlc_status tlc_cpu_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                  tlc_error* error) {
  using namespace tlcb::cpu;
  if (host->struct_size < TLC_SIZEOF(tlc_host_api, cancelled)) {
    return host->fail(error, TLC_E_ABI, 0, 0, tlcb::text("the cpu backend needs a library of ABI 0.1 or newer"));
  }
  *state = std::make_unique<State>(State{tlcb::Host(host)}).release();
  *ops = &kOps;
  return TLC_OK;
}
