// SPDX-License-Identifier: MIT
#include "store/format.hpp"

#include <bit>

#include "port/system.hpp"
#include "store/index/page_source.hpp"

namespace tlc::store {

static_assert(sizeof(void*) == 8, "a store is shared by 64-bit processes only");

std::string format_folder_name() {
  const char* order = std::endian::native == std::endian::little ? "le64" : "be64";
  return "tlc" + std::to_string(kFormatVersion) + "-lmdb1-" + order + "-p" + std::to_string(native_index_page_size()) +
         "-" + port::libc_name();
}

}  // namespace tlc::store
