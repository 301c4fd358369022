// SPDX-License-Identifier: MIT
// data.mdb as a file: its signature, and room made in it before a transaction needs it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "port/result.hpp"
#include "store/index/control_word.hpp"

namespace tlc::store {

/// Stores what fstat says of the file into `control`; on failure a signature that matches no file.
void store_signature(int file, IndexControl& control);

/// Whether the file is as the last commit left it.
[[nodiscard]] bool signature_matches(int file, const IndexControl& control);

/// Makes the file reach beyond `used_bytes` in steps (1 MiB while small, then 16 MiB), up to
/// `map_size`: a write into allocated blocks does not fail when the disk fills up. If that fails,
/// it is an error only where the file has not even room for one small transaction, `free_bytes` of
/// free pages included; so entries can be removed on a full disk.
Result<void> make_room(int file, std::uint64_t used_bytes, std::uint64_t free_bytes, std::size_t map_size);

}  // namespace tlc::store
