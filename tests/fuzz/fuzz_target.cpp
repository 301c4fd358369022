// SPDX-License-Identifier: MIT
// Any text as a target: parsing ends, and what it accepts has one spelling that parses to itself.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "key/target.hpp"

using namespace tlc::key;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto target = Target::parse(text);
  if (Target::is_plain(text) && !(target && target->canonical() == text && target->resolved())) {
    std::abort();
  }
  if (!target) {
    if (target.error().message.empty()) std::abort();
    return 0;
  }
  const auto again = Target::parse(target->canonical());
  if (!again || again->canonical() != target->canonical()) std::abort();
  if (again->resolved() != target->resolved()) std::abort();
  for (const auto& part : target->parts()) {
    if (target_encode(target_decode(part.arch)) != part.arch) std::abort();
  }
  return 0;
}
