// SPDX-License-Identifier: MIT
// The CPU features a target of this backend may name, how a compiler is told of each, and whether
// this machine has it. Each is asked of the processor itself, so `native` needs no compiler and
// means the same for all of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tlcb::cpu {

/// "x86_64", "aarch64": as targets spell the machine this program runs on.
[[nodiscard]] std::string host_arch();

/// Whether any architecture known here has a feature of this name.
[[nodiscard]] bool is_known_feature(std::string_view name);
/// Whether this architecture has.
[[nodiscard]] bool is_feature_of(std::string_view arch, std::string_view name);
/// All names of an architecture, for a message.
[[nodiscard]] std::string feature_names(std::string_view arch);

/// What `native` stands for on this machine, sorted.
[[nodiscard]] std::vector<std::string> host_features();
/// Whether this machine has a feature of its own architecture.
[[nodiscard]] bool host_has(std::string_view name);

/// Compiler options for a resolved target's features.
[[nodiscard]] std::vector<std::string> feature_options(std::string_view arch, const std::vector<std::string>& features);

}  // namespace tlcb::cpu
