// SPDX-License-Identifier: MIT
// The version of the index library that is really loaded.
#pragma once

#include <string>

namespace tlc::store {

[[nodiscard]] std::string lmdb_version();

}  // namespace tlc::store
