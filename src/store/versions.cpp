// SPDX-License-Identifier: MIT
#include "store/versions.hpp"

#include <lmdb.h>

namespace tlc::store {

std::string lmdb_version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  ::mdb_version(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace tlc::store
