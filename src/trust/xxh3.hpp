// SPDX-License-Identifier: MIT
// XXH3 compiled in from xxHash's header, once for every processor and, where CMake knows one, once more for those with
// an extension (TLC_XXH3_WIDE, its name: AVX2 on x86-64).
//
// The library's own functions have no vector code in several distributions, and its dispatcher asks the processor when
// it is first called, which takes 17 us in a virtual machine. Here the choice is a flag that the C runtime has set
// already. Measured, 64 KiB in cache: 14 us baseline, 1 us AVX2.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tlc::trust {

/// A compiled XXH3. Plain types only: its code must share no inline function with the rest of the library, since the
/// linker keeps one copy of each and must not keep one that needs AVX2.
struct Xxh3Code {
  void (*hash128)(const void* data, std::size_t len, std::uint64_t out[2]);  ///< low, high
  std::uint64_t (*hash64)(const void* data, std::size_t len, std::uint64_t seed);
  void* (*create)();  ///< a state, reset; NULL when out of memory
  void (*update)(void* state, const void* data, std::size_t len);
  void (*finish)(void* state, std::uint64_t out[2]);  ///< and resets it
  void (*destroy)(void* state);
  unsigned (*version)();  ///< 802 for 0.8.2
};

extern const Xxh3Code kXxh3Baseline;
#if defined(TLC_XXH3_WIDE)
extern const Xxh3Code kXxh3Wide;
#endif

/// The fastest for this processor.
[[nodiscard]] const Xxh3Code& xxh3_code();

}  // namespace tlc::trust
