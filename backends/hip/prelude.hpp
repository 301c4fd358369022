// SPDX-License-Identifier: MIT
// What hiprtc knows without any header and clang does not: indices, barriers. For code that clang compiles offline.
#pragma once

namespace tlcb::hip {

extern const char* const kPrelude;

}  // namespace tlcb::hip
