// SPDX-License-Identifier: MIT
// The content digest of a file.
#pragma once

#include "port/result.hpp"
#include "trust/digest.hpp"

namespace tlc::trust {

/// BLAKE2b-256 of the file from its start to its end, whatever the descriptor's position.
[[nodiscard]] Result<Digest> digest_of_file(int fd);

}  // namespace tlc::trust
