// SPDX-License-Identifier: MIT
// XXH3 for processors with AVX2; compiled with -mavx2, and nothing else may be in here.
#if defined(__x86_64__)
#define TLC_XXH3_CODE kXxh3Avx2
#include "trust/xxh3_code.inc"
#endif
