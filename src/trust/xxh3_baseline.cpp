// SPDX-License-Identifier: MIT
// XXH3 for every processor of the architecture.
#define TLC_XXH3_CODE kXxh3Baseline
#include "trust/xxh3_code.inc"

namespace tlc::trust {

const Xxh3Code& xxh3_code() {
#if defined(TLC_XXH3_WIDE)
  return __builtin_cpu_supports(TLC_XXH3_WIDE) ? kXxh3Wide : kXxh3Baseline;
#else
  return kXxh3Baseline;
#endif
}

}  // namespace tlc::trust
