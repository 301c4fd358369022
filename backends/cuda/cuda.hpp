// SPDX-License-Identifier: MIT
// The slots of the cuda backend, as its table lists them. They throw Failure; the table's functions turn that into a
// status.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cuda/driver.hpp"
#include "cuda/jit_link.hpp"
#include "cuda/nvrtc.hpp"
#include "support/host.hpp"

namespace tlcb::cuda {

inline constexpr const char* kCubinMember = "kernel.cubin";
inline constexpr const char* kPtxMember = "kernel.ptx";
inline constexpr const char* kLtoirMember = "kernel.ltoir";

struct State {
  explicit State(Host given) : host(given) {}

  Host host;
  NvrtcFinder nvrtc;
  DriverFinder driver;
  JitLinker linker;
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

/// probe.cpp
[[nodiscard]] std::string probe(State& state, tlc_call* call);

/// describe.cpp
[[nodiscard]] std::string describe(State& state, const tlc_artifact* artifact);

}  // namespace tlcb::cuda
