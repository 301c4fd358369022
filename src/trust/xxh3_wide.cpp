// SPDX-License-Identifier: MIT
// XXH3 for processors with the extension TLC_XXH3_WIDE; compiled for it, so nothing else may be in here.
#define TLC_XXH3_CODE kXxh3Wide
#include "trust/xxh3_code.inc"
