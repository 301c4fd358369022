// SPDX-License-Identifier: MIT
// What the public tlc_blob is: bytes with one owner. A std::string, so that a NUL follows the last
// byte. Host services, C API and backend calls all make and end blobs here.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tlcache/tlcache.h"

struct tlc_blob {
  std::string bytes;
};

namespace tlc::backend {

struct BlobFree {
  void operator()(tlc_blob* blob) const noexcept { std::default_delete<tlc_blob>()(blob); }
};
/// The owner of a blob inside the library; release() hands it out through the C API.
using BlobPtr = std::unique_ptr<tlc_blob, BlobFree>;

[[nodiscard]] inline BlobPtr make_blob(std::string bytes) {
  return BlobPtr(std::make_unique<tlc_blob>(tlc_blob{std::move(bytes)}).release());
}

}  // namespace tlc::backend
