// SPDX-License-Identifier: MIT
// libFuzzer target: no bytes make the ELF checks read outside of them.
#include <cstddef>
#include <cstdint>

#include "support/elf_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)tlcb::check_elf(data, size);
  (void)tlcb::check_shared_object(data, size, true);
  return 0;
}
