// SPDX-License-Identifier: MIT
// What there is on this machine: for compiling, and for loading. hiprtc is tried out for one common arch.
#include "hip/hip.hpp"
#include "support/failure.hpp"
#include "support/json.hpp"
#include "support/toolchain.hpp"
#include "support/worker.hpp"

namespace tlcb::hip {
namespace {

const TargetId kCommon{"gfx90a", '\0', '\0'};

/// What a part of the probe says, or why it is missing.
template <typename Part>
std::string told(std::string& problem, Part&& part) {
  try {
    return part();
  } catch (const Failure& failure) {
    problem = failure.what();
    return R"({"missing": )" + json_text(problem) + "}";
  }
}

std::string hiprtc_part(State& state, tlc_call* call) {
  Facts facts;
  const Hiprtc found = find_hiprtc(state.host, call, environment("TLC_HIPRTC"), kCommon, facts);
  return R"({"library": )" + json_text(found.path) + R"(, "version": )" + json_text(found.version) + R"(, "worker": )" +
         json_text(find_worker()) + R"(, "files": )" + json_list(found.files) + "}";
}

std::string clang_part(State& state, tlc_call* call) {
  Facts facts;
  const Clang found = find_clang(state.host, call, environment("TLC_HIP_CLANG"), kCommon, facts);
  return R"({"compiler": )" + json_text(found.path) + R"(, "version": )" + json_text(found.version) +
         R"(, "bitcode": )" + json_text(found.device_library) + "}";
}

std::string load_part(State& state) {
  const Runtime& runtime = state.runtime.get();
  std::string devices;
  for (int i = 0; i < runtime.device_count(); ++i) {
    const DeviceFacts facts = runtime.device(i);
    devices += (i == 0 ? "" : ", ") + (R"({"device": )" + std::to_string(i)) + R"(, "name": )" + json_text(facts.name) +
               R"(, "arch": )" + json_text(facts.target.text()) + "}";
  }
  return R"({"runtime": )" + json_text(runtime.path) + R"(, "version": )" + json_text(runtime.version()) +
         R"(, "devices": [)" + devices + "]}";
}

}  // namespace

std::string probe(State& state, tlc_call* call) {
  std::string no_hiprtc;
  std::string no_clang;
  std::string no_load;
  const std::string hiprtc = told(no_hiprtc, [&] { return hiprtc_part(state, call); });
  const std::string clang = told(no_clang, [&] { return clang_part(state, call); });
  const std::string load = told(no_load, [&] { return load_part(state); });
  if (!no_hiprtc.empty() && !no_clang.empty() && !no_load.empty()) {
    throw Failure(TLC_E_UNAVAILABLE,
                  "cannot compile: " + no_hiprtc + ". And " + no_clang + ". Cannot load: " + no_load);
  }
  return R"({"hiprtc": )" + hiprtc + R"(, "clang": )" + clang + R"(, "load": )" + load + "}";
}

}  // namespace tlcb::hip
