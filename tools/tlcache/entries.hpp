// SPDX-License-Identifier: MIT
// Entries of the store, copied out of tlc_cache_list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common.hpp"

namespace tlc::tool {

struct Entry {
  std::string digest;  ///< 64 hex digits
  std::string encoding;
  std::string name_space;
  std::string label;
  std::string kind;
  std::uint64_t size = 0;
  std::uint64_t created_ns = 0;
  std::uint64_t last_used_s = 0;
  std::uint64_t compile_us = 0;
  std::uint64_t generation = 0;
};

/// All entries of a namespace, or of every one when it is empty, in no order.
std::vector<Entry> list_entries(tlc_cache* cache, std::string_view name_space);
/// Whether it is an artifact of a user's: no link, no remembered failure, nothing of the library's own.
bool is_plain(const Entry& entry);
Json to_json(const Entry& entry);

}  // namespace tlc::tool
