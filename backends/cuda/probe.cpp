// SPDX-License-Identifier: MIT
// What there is on this machine: for compiling, and for loading.
#include "cuda/cuda.hpp"
#include "support/failure.hpp"
#include "support/json.hpp"

namespace tlcb::cuda {
namespace {

std::string missing(const std::string& why) {
  return R"({"missing": )" + json_text(why) + "}";
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string compile_part(State& state, tlc_call* call, std::string& problem) {
  try {
    const Nvrtc& nvrtc = state.nvrtc.get(state.host, call);
    std::vector<std::string> archs;
    for (const int arch : nvrtc.archs) archs.push_back("sm_" + std::to_string(arch));
    return R"({"nvrtc": )" + json_text(nvrtc.place.path) + R"(, "version": )" + json_text(nvrtc.version()) +
           R"(, "builtins": )" + json_text(nvrtc.place.builtins) + R"(, "archs": )" + json_list(archs) + "}";
  } catch (const Failure& failure) {
    problem = failure.what();
    return missing(problem);
  }
}

std::string load_part(State& state, std::string& problem) {
  try {
    Driver& driver = state.driver.get();
    std::string devices;
    for (int i = 0; i < driver.device_count(); ++i) {
      const CuDevice device = driver.device(i);
      devices += (i == 0 ? "" : ", ") + (R"({"device": )" + std::to_string(i)) + R"(, "name": )" +
                 json_text(driver.device_name(device)) + R"(, "arch": "sm_)" +
                 std::to_string(driver.capability(device)) + "\"}";
    }
    return R"({"driver": ")" + version_text(driver.version()) + R"(", "devices": [)" + devices + "]}";
  } catch (const Failure& failure) {
    problem = failure.what();
    return missing(problem);
  }
}

}  // namespace

std::string probe(State& state, tlc_call* call) {
  std::string no_compile;
  std::string no_load;
  const std::string compile = compile_part(state, call, no_compile);
  const std::string load = load_part(state, no_load);
  if (!no_compile.empty() && !no_load.empty()) {
    throw Failure(TLC_E_UNAVAILABLE, "cannot compile: " + no_compile + ". Cannot load: " + no_load);
  }
  return R"({"compile": )" + compile + R"(, "load": )" + load + "}";
}

}  // namespace tlcb::cuda
