// SPDX-License-Identifier: MIT
// Systems without Metal: everything but loading works.
#include "metal/runtime.hpp"
#include "support/failure.hpp"

namespace tlcb::metal {

std::unique_ptr<Runtime> open_runtime() {
  throw Failure(
      TLC_E_UNAVAILABLE,
      "Metal is a part of macOS, and this library was built for another system: artifacts can be made, stored "
      "and checked here, and loaded on a Mac");
}

}  // namespace tlcb::metal
