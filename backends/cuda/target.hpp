// SPDX-License-Identifier: MIT
// Targets of kind `cuda`: cuda:sm_90, cuda:sm_90a, cuda:sm_100f, cuda:compute_90. docs/backends/cuda.md says what they
// mean.
#pragma once

#include <string>
#include <string_view>

namespace tlcb::cuda {

/// A compute capability as one number: 90, 103.
struct Arch {
  bool is_virtual = false;  ///< compute_: for PTX, which the driver compiles further
  int number = 0;
  char variant = '\0';  ///< 'a': this capability only; 'f': its family; else it and newer ones of its major version

  [[nodiscard]] int major() const { return number / 10; }
  /// sm_90a, compute_90.
  [[nodiscard]] std::string text() const;
};

/// Reads sm_90a and the like; false for anything else.
[[nodiscard]] bool parse_arch(std::string_view text, Arch& arch);

/// Reads a resolved target; throws Failure (TLC_E_INVALID).
[[nodiscard]] Arch parse_target(std::string_view text);

/// Whether a target says auto or native, and so needs a device; throws Failure for another kind or odd parts.
[[nodiscard]] bool wants_device(std::string_view text);

/// Why a device of this capability cannot run code for the arch; empty when it can.
[[nodiscard]] std::string misfit(const Arch& arch, int device);

}  // namespace tlcb::cuda
