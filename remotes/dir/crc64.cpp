// SPDX-License-Identifier: MIT
#include "dir/crc64.hpp"

#include <array>

namespace tlc::dir {
namespace {

constexpr std::uint64_t kPolynomial = 0xC96C5795D7870F42;  // ECMA-182, reflected
constexpr std::size_t kSlices = 8;
using Tables = std::array<std::array<std::uint64_t, 256>, kSlices>;

/// tables[k][b]: what byte b does to the remainder from k bytes further back.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    std::uint64_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? (value >> 1) ^ kPolynomial : value >> 1;
    tables[0][byte] = value;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint64_t last = tables[slice - 1][byte];
      tables[slice][byte] = (last >> 8) ^ tables[0][last & 255];
    }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

std::uint64_t crc64(const void* data, std::size_t len, std::uint64_t before) {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t value = ~before;
  for (; len >= kSlices; len -= kSlices, at += kSlices) {
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < kSlices; ++i) {
      const std::uint64_t byte = ((value >> (8 * i)) & 255) ^ at[i];
      next ^= kTables[kSlices - 1 - i][byte];
    }
    value = next;
  }
  for (; len > 0; --len, ++at) value = (value >> 8) ^ kTables[0][(value ^ *at) & 255];
  return ~value;
}

}  // namespace tlc::dir
