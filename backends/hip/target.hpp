// SPDX-License-Identifier: MIT
// Targets of kind `hip`: hip:gfx90a, hip:gfx90a:sramecc+:xnack-, and several of them separated by commas for a fat
// artifact. docs/backends/hip.md says what they mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tlcb::hip {

/// A processor with the settings that code depends on: what LLVM calls a target id.
struct TargetId {
  std::string processor;  ///< gfx90a, gfx9-generic
  char sramecc = '\0';    ///< '+', '-'; NUL: code for either, or a processor without it
  char xnack = '\0';

  /// gfx90a:sramecc+:xnack-
  [[nodiscard]] std::string text() const;
  bool operator==(const TargetId&) const = default;
};

/// Reads gfx90a:xnack+ and the like; false for anything else.
[[nodiscard]] bool parse_target_id(std::string_view text, TargetId& id);

/// Reads a resolved target; throws Failure (TLC_E_INVALID). At least one, each once.
[[nodiscard]] std::vector<TargetId> parse_targets(std::string_view text);

/// The parts of a target as they stand after `hip:`; throws Failure for another kind. Empty for a bare `hip`.
[[nodiscard]] std::vector<std::string> target_parts(std::string_view text);
[[nodiscard]] bool wants_device(std::string_view part);

/// Why a device cannot run code for this id; empty when it can, or when that cannot be told (generic processors).
[[nodiscard]] std::string misfit(const TargetId& code, const TargetId& device);

}  // namespace tlcb::hip
