// SPDX-License-Identifier: MIT
// Targets of kind `opencl`: opencl:<device>, opencl:<device>:<platform>. docs/backends/opencl.md says what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "opencl/cl_device.hpp"

namespace tlcb::opencl {

struct Target {
  std::string device;    ///< as target_word() writes it
  std::string platform;  ///< empty: any

  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool names(const DeviceFacts& facts) const;
};

/// Reads a resolved target; throws Failure (TLC_E_INVALID).
[[nodiscard]] Target parse_target(std::string_view text);

/// Which device of the machine a target asks for that names none: opencl, opencl:native, opencl:auto, opencl:1.
struct Wanted {
  std::optional<std::uint32_t> number;  ///< none: the default one
};
/// nullopt for a target that names its device. Throws Failure (TLC_E_INVALID) for another kind.
[[nodiscard]] std::optional<Wanted> wanted_device(std::string_view text);

}  // namespace tlcb::opencl
