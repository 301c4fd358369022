// SPDX-License-Identifier: MIT
// What there is on this machine: a compiler, and devices. Text can be kept anywhere, so the backend is never
// unavailable.
#include "metal/metal.hpp"
#include "support/failure.hpp"
#include "support/json.hpp"

namespace tlcb::metal {
namespace {

/// What a part of the probe says, or why it is missing.
template <typename Part>
std::string told(Part&& part) {
  try {
    return part();
  } catch (const Failure& failure) {
    return R"({"missing": )" + json_text(failure.what()) + "}";
  }
}

std::string compiler_part(State& state, tlc_call* call) {
  const Compiler found = state.compilers.get(state.host, call, {}, Target());
  if (!found) throw Failure(TLC_E_UNAVAILABLE, found.why_not + "; text is kept, and compiled when it is loaded");
  return R"({"path": )" + json_text(found.path) + R"(, "version": )" + json_text(found.version) + R"(, "files": )" +
         json_list(found.files) + "}";
}

std::string load_part(State& state) {
  std::string devices;
  for (const DeviceFacts& facts : state.runtime.get().devices()) {
    devices += (devices.empty() ? "" : ", ") + (R"({"name": )" + json_text(facts.name)) + R"(, "target": )" +
               json_text(facts.native) + R"(, "families": )" + json_list(facts.families) + "}";
  }
  return R"({"devices": [)" + devices + "]}";
}

}  // namespace

std::string probe(State& state, tlc_call* call) {
  const std::string compiler = told([&] { return compiler_part(state, call); });
  const std::string load = told([&] { return load_part(state); });
  return R"({"compiler": )" + compiler + R"(, "load": )" + load + "}";
}

}  // namespace tlcb::metal
