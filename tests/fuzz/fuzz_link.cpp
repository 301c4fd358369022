// SPDX-License-Identifier: MIT
// Any bytes as a link record: decoding stays within them, and what it accepts encodes to the same
// bytes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "key/encode.hpp"
#include "key/link.hpp"

using namespace tlc::key;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  const auto link = Link::decode(bytes);
  if (!link) return 0;
  const auto again = link->encode();
  if (!again || !std::equal(again->begin(), again->end(), bytes.begin(), bytes.end())) std::abort();
  Builder builder;
  builder.set_namespace("fuzz");
  const auto request = builder.finish();
  if (!content_key(*request, link->variants.front().guards).ok()) std::abort();
  return 0;
}
