// SPDX-License-Identifier: MIT
// Any bytes as a pack of the dir remote: footer and index are read within bounds, and what is accepted is written the
// same way again. The checks are also made right first, so that what lies behind them is reached.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "dir/crc64.hpp"
#include "dir/pack.hpp"

using namespace tlc::dir;  // NOLINT

namespace {

void check(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kFooterSize) return;
  const auto end = bytes.last(kFooterSize);
  const auto footer = parse_footer(end, bytes.size());
  if (!footer) return;
  const auto index = bytes.subspan(footer->index_offset, footer->entries * kEntrySize);
  auto entries = parse_index(index, *footer);
  if (!entries) return;
  for (const Entry& entry : *entries) {
    if (entry.offset + entry.length > footer->index_offset || entry.offset < kPackHead) std::abort();
    if (find_entry(*entries, entry.digest) != &entry) std::abort();
  }
  const std::vector<std::uint8_t> again = make_pack_end(*entries, footer->index_offset);
  if (!std::equal(again.begin(), again.end() - 24, bytes.begin() + static_cast<std::ptrdiff_t>(footer->index_offset)))
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({data, size});
  (void)parse_pack_name({reinterpret_cast<const char*>(data), size});
  if (size < kFooterSize) return 0;
  std::vector<std::uint8_t> bytes(data, data + size);
  std::uint8_t* end = bytes.data() + size - kFooterSize;
  std::uint64_t entries = 0;
  std::memcpy(&entries, end + 8, sizeof entries);
  entries = std::min<std::uint64_t>(entries, (size - kFooterSize) / kEntrySize);
  const std::uint64_t values[] = {entries, size - kFooterSize - entries * kEntrySize, size,
                                  crc64(end - entries * kEntrySize, entries * kEntrySize)};
  std::memcpy(end + 8, values, sizeof values);
  const std::uint64_t crc = crc64(end, 56);
  std::memcpy(end + 56, &crc, sizeof crc);
  check(bytes);
  return 0;
}
