// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4), by which a metallib names the code of each of its functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tlcb::metal {

using Sha256 = std::array<unsigned char, 32>;

[[nodiscard]] Sha256 sha256(std::string_view bytes);

}  // namespace tlcb::metal
