// SPDX-License-Identifier: MIT
// XXH3 for every processor of the architecture.
#define TLC_XXH3_CODE kXxh3Baseline
#include "trust/xxh3_code.inc"

namespace tlc::trust {

const Xxh3Code& xxh3_code() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") ? kXxh3Avx2 : kXxh3Baseline;
#else
  return kXxh3Baseline;
#endif
}

}  // namespace tlc::trust
