// SPDX-License-Identifier: MIT
// The build id of an ELF file: the linker's own name for its content.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tlc::port {

/// The NT_GNU_BUILD_ID note of a 64-bit little-endian ELF file, found through its program headers.
/// Nothing if there is none, or the file is anything else, cut or malformed; no file is too
/// hostile to be asked.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> build_id(int fd);

}  // namespace tlc::port
