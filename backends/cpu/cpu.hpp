// SPDX-License-Identifier: MIT
// The slots of the cpu backend, as its table lists them. They throw Failure; the table's functions
// turn that into a status.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/host.hpp"

namespace tlcb::cpu {

inline constexpr const char* kMember = "kernel.so";

/// compile.cpp
void compile(Host host, tlc_call* call, const tlc_request* request, std::string_view target, tlc_bundle* bundle,
             tlc_log* log);

/// describe.cpp
[[nodiscard]] std::string describe(Host host, const tlc_artifact* artifact);

/// load.cpp
void validate(Host host, const tlc_artifact* artifact, const tlc_load_options* options);
[[nodiscard]] void* load(Host host, tlc_artifact* artifact, const tlc_load_options* options);
[[nodiscard]] void* symbol(void* module, std::string_view name);
[[nodiscard]] void* native(void* module);
void unload(void* module);

}  // namespace tlcb::cpu
