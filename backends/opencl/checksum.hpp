// SPDX-License-Identifier: MIT
// CRC-64 with the polynomial of ECMA-182, reflected: against accidents. Against malice nothing here is meant to help.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tlcb::opencl {

[[nodiscard]] std::uint64_t crc64(std::string_view bytes);
/// 16 hexadecimal digits.
[[nodiscard]] std::string crc64_text(std::string_view bytes);

}  // namespace tlcb::opencl
