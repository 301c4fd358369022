// SPDX-License-Identifier: MIT
// Targets of kind `metal`: metal, metal:apple7, metal:mac2:macos14.0:msl3.1. docs/backends/metal.md says what they
// mean.
#pragma once

#include <string>
#include <string_view>

#include "metal/metallib.hpp"

namespace tlcb::metal {

struct Target {
  std::string family;  ///< of GPUs: apple7, mac2, common3, metal3; empty: any
  std::string os;      ///< macos, ios, tvos; empty: that of who loads it
  Version os_version;  ///< the oldest it runs on
  Version language;    ///< of the Metal Shading Language; 0.0: the compiler's own

  /// metal:apple7:macos14.0:msl3.1
  [[nodiscard]] std::string text() const;
};

/// Throws Failure (TLC_E_INVALID) that says what is not known.
[[nodiscard]] Target parse_target(std::string_view text);
/// metal:native, metal:auto
[[nodiscard]] bool wants_device(std::string_view text);

/// The number that Metal has for a family (MTLGPUFamily); 0 for what is none.
[[nodiscard]] long family_number(std::string_view family);

/// Why a metallib is not code for a target, as the end of a sentence; empty when it is. The family cannot be told.
[[nodiscard]] std::string misfit(const Metallib& library, const Target& target);

}  // namespace tlcb::metal
