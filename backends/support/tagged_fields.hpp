// SPDX-License-Identifier: MIT
// Fields of bytes one after the other, as orders, answers and remembered facts are written:
//
//   each: u32 tag, u64 bytes, the bytes; little-endian. A tag may come several times, in an order that means something.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tlcb {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

template <typename T>
void put_number(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Takes a number from the front; false where there are too few bytes.
template <typename T>
bool take_number(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}

class TaggedWriter {
 public:
  void field(std::uint32_t tag, std::string_view bytes) {
    put_number(bytes_, tag);
    put_number(bytes_, static_cast<std::uint64_t>(bytes.size()));
    bytes_ += bytes;
  }
  void fields(std::uint32_t tag, const std::vector<std::string>& all) {
    for (const std::string& one : all) field(tag, one);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Hands each field to `each`, which says whether it knows the tag. False for what is not fields to its end.
template <typename Each>
bool read_tagged(std::string_view bytes, Each&& each) {
  while (!bytes.empty()) {
    std::uint32_t tag = 0;
    std::uint64_t size = 0;
    if (!take_number(bytes, tag) || !take_number(bytes, size) || size > bytes.size()) return false;
    if (!each(tag, std::string(bytes.substr(0, size)))) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

}  // namespace tlcb
