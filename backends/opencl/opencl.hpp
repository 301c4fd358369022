// SPDX-License-Identifier: MIT
// The slots of the opencl backend, as its table lists them (support/slots.hpp), and its state. They throw Failure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "opencl/runtime.hpp"
#include "opencl/toolchain.hpp"
#include "support/host.hpp"

namespace tlcb::opencl {

inline constexpr const char* kProgramMember = "program.clbin";
inline constexpr const char* kInfoMember = "program.json";

struct State {
  explicit State(Host given) : host(given) {}

  Host host;
  ToolchainFinder toolchains;
  RuntimeFinder runtime;
};

/// compile.cpp
[[nodiscard]] std::string identify(State& state, tlc_call* call, const tlc_request* request, std::string_view target);
void compile(State& state, tlc_call* call, const tlc_request* request, std::string_view target, tlc_bundle* bundle,
             tlc_log* log);

/// load.cpp
[[nodiscard]] std::string resolve_target(State& state, std::string_view target);
void validate(State& state, const tlc_artifact* artifact, const tlc_load_options* options);
[[nodiscard]] std::uint64_t place(State& state, const tlc_load_options* options);
[[nodiscard]] void* load(State& state, const tlc_artifact* artifact, const tlc_load_options* options);
[[nodiscard]] void* symbol(State& state, void* module, std::string_view name);
[[nodiscard]] void* native(State& state, void* module);
void unload(State& state, void* module);

/// describe.cpp
[[nodiscard]] std::string probe(State& state, tlc_call* call);
[[nodiscard]] std::string describe(State& state, const tlc_artifact* artifact);

}  // namespace tlcb::opencl
