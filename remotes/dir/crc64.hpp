// SPDX-License-Identifier: MIT
// CRC-64/XZ: against accidents in a pack's index, and to tell early that a blob is damaged. What a blob is worth is
// checked by the library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tlc::dir {

[[nodiscard]] std::uint64_t crc64(const void* data, std::size_t len, std::uint64_t before = 0);

}  // namespace tlc::dir
