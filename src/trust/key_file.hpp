// SPDX-License-Identifier: MIT
// The key file: 32 random bytes, mode 0600, that a user's record MACs are made with.
#pragma once

#include <string>

#include "port/result.hpp"
#include "trust/hash.hpp"

namespace tlc::trust {

/// Reads the key at `path`, or makes it; of several that make it at once, all get the same one. Its
/// folder must exist. Refused, with the way out in the message: another owner, permissions for
/// group or others (TLC_E_DENIED), anything but a regular file, another size (TLC_E_CORRUPT).
[[nodiscard]] Result<MacKey> load_or_create_key(const std::string& path);

}  // namespace tlc::trust
