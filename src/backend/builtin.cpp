// SPDX-License-Identifier: MIT
// The entry function that built-in backends and plugin files share.
#include "backend/builtin.hpp"

#include <cxxabi.h>

#include <exception>
#include <string>

namespace tlc::backend {

Result<void> load_entry(Registry& registry, const tlc_host_api* host, tlc_plugin_init_fn init,
                        std::string_view origin) {
  const tlc_backend_ops* ops = nullptr;
  void* state = nullptr;
  tlc_error error{};
  error.struct_size = TLC_SIZEOF(tlc_error, message);
  tlc_status status = TLC_OK;
  const std::string from = "the backend from " + std::string(origin);
  try {
    status = init(host, &ops, &state, &error);
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& e) {
    return make_error(TLC_E_CALLBACK, from + " threw an exception as it started: " + e.what());
  } catch (...) {
    return make_error(TLC_E_CALLBACK, from + " threw an exception as it started: not a std::exception");
  }
  if (status != TLC_OK) {
    error.message[sizeof error.message - 1] = '\0';
    const std::string why = error.message[0] != '\0' ? error.message : "status " + std::to_string(status);
    // A positive status is no error for anybody else; here it means "not started".
    return Error{status < 0 ? status : TLC_E_CALLBACK, error.sys_errno, error.backend_code,
                 from + " refused to start: " + why};
  }
  return registry.add(ops, state, 0, origin);
}

void register_builtins(Registry& registry, const tlc_host_api* host, std::span<const Builtin> table) {
  for (const Builtin& builtin : table) {
    auto done = load_entry(registry, host, builtin.init, "built in");
    if (!done) registry.note_refusal(std::string("built in: ") + builtin.name, done.error());
  }
}

}  // namespace tlc::backend
