// SPDX-License-Identifier: MIT
// How the parts of this backend fail.
#pragma once

#include "support/failure.hpp"

namespace tlcb::cpu {

using tlcb::Failure;

}  // namespace tlcb::cpu
