// SPDX-License-Identifier: MIT
// Targets of kind `cpu`: cpu[:arch[:feature...]]. docs/backends/cpu.md says what they mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tlcb::cpu {

struct Target {
  std::string arch;  ///< never empty: the host's if none was given
  std::vector<std::string> features;

  [[nodiscard]] bool is_host_arch() const;
};

/// Reads a resolved target; throws Failure (TLC_E_INVALID) for an unknown feature, two parts, or
/// another kind.
[[nodiscard]] Target parse_target(std::string_view text);

/// Replaces `native` and `auto`; throws Failure.
[[nodiscard]] std::string resolve_target(std::string_view text);

/// The first feature the target has and this machine has not; empty if none.
[[nodiscard]] std::string missing_feature(const Target& target);

}  // namespace tlcb::cpu
