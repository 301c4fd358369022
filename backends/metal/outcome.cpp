// SPDX-License-Identifier: MIT
// What Metal's errors mean for an artifact: it is taken out of the cache when it is at fault, and kept when its text or
// the system is.
#include "metal/runtime.hpp"

namespace tlcb::metal {

tlc_status status_of(const Outcome& outcome, bool compiled) {
  if (outcome.domain != "MTLLibraryErrorDomain") return TLC_E_UNAVAILABLE;
  // Of a metallib whatever is wrong: made for another system, or damaged where no check sees it.
  if (!compiled) return TLC_E_LOAD;
  // Of text the compiler's verdict (MTLLibraryErrorCompileFailure, ...CompileWarning) would be the same again.
  constexpr std::int64_t kCompileFailure = 3;
  constexpr std::int64_t kCompileWarning = 4;
  return outcome.code == kCompileFailure || outcome.code == kCompileWarning ? TLC_E_COMPILE : TLC_E_UNAVAILABLE;
}

}  // namespace tlcb::metal
