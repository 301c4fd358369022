// SPDX-License-Identifier: MIT
// Where a store goes: which folder was asked for, and whether it can be trusted and used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "port/result.hpp"

namespace tlc::store {

struct Location {
  std::string root;                   ///< the folder the store goes to
  std::string origin;                 ///< who chose it: "application", "TLC_DIR", "XDG_CACHE_HOME", "home"
  std::string asked;                  ///< the folder that was asked for, where root is another
  std::vector<std::string> warnings;  ///< what `doctor` should say about it
};

/// The folder by option, environment and home, in this order. TLC_E_UNAVAILABLE, with a reason that names the option,
/// where there is none.
[[nodiscard]] Result<Location> choose_location(const std::string& option, bool use_environment);

/// Makes the folder (unless read-only) and checks it: a folder, this user's, writable by no other. On a network file
/// system the location is moved to a local folder of this user. TLC_E_DENIED or TLC_E_IO with one line of reason.
[[nodiscard]] Result<Location> prepare_location(Location location, bool read_only);

}  // namespace tlc::store
