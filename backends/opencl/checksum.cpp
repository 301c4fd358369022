// SPDX-License-Identifier: MIT
// Eight bytes a step: table[k][b] is what byte b does that lies k bytes before the end of the step.
#include "opencl/checksum.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace tlcb::opencl {
namespace {

static_assert(std::endian::native == std::endian::little, "eight bytes are taken as they lie");

constexpr std::uint64_t kPolynomial = 0xC96C5795D7870F42;
constexpr std::size_t kStep = 8;
using Tables = std::array<std::array<std::uint64_t, 256>, kStep>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    std::uint64_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = rest;
  }
  for (std::size_t k = 1; k < kStep; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint64_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 255];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

std::uint64_t crc64(std::string_view bytes) {
  std::uint64_t rest = ~std::uint64_t{0};
  for (; bytes.size() >= kStep; bytes.remove_prefix(kStep)) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes.data(), kStep);
    rest ^= eight;
    std::uint64_t next = 0;
    for (std::size_t k = 0; k < kStep; ++k) next ^= kTables[kStep - 1 - k][rest >> (8 * k) & 255];
    rest = next;
  }
  for (const char c : bytes) rest = (rest >> 8) ^ kTables[0][(rest ^ static_cast<unsigned char>(c)) & 255];
  return ~rest;
}

std::string crc64_text(std::string_view bytes) {
  constexpr const char* kHex = "0123456789abcdef";
  const std::uint64_t value = crc64(bytes);
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += kHex[value >> shift & 15];
  return out;
}

}  // namespace tlcb::opencl
