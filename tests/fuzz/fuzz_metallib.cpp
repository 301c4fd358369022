// SPDX-License-Identifier: MIT
// libFuzzer target: no bytes make the checks of metallibs, of Metal's texts and of the options kept beside them read
// outside of them; what is found in a metallib is inside of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "metal/metallib.hpp"
#include "metal/options.hpp"
#include "metal/source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto depth : {tlcb::metal::Depth::bounds, tlcb::metal::Depth::content}) {
    const auto library = tlcb::metal::check_metallib(bytes, depth);
    for (const auto& function : library.functions) {
      if (library.ok() && (function.name.empty() || function.code_bytes > size)) std::abort();
    }
  }
  (void)tlcb::metal::source_problem(bytes);
  (void)tlcb::metal::functions_of(bytes);
  (void)tlcb::metal::foreign_include(bytes);
  (void)tlcb::metal::parse_load_options(bytes);
  return 0;
}
