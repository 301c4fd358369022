// SPDX-License-Identifier: MIT
// The slots of the metal backend, as its table lists them (support/slots.hpp), and its state. They throw Failure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "metal/offline.hpp"
#include "metal/runtime.hpp"
#include "support/found_once.hpp"
#include "support/host.hpp"

namespace tlcb::metal {

inline constexpr const char* kSourceMember = "kernel.metal";
inline constexpr const char* kLibraryMember = "kernel.metallib";

struct State {
  explicit State(Host given, std::unique_ptr<Runtime> (*open)() = open_runtime) : host(given), runtime(open) {}

  Host host;
  CompilerFinder compilers;
  FoundOnce<Runtime> runtime;
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

}  // namespace tlcb::metal
