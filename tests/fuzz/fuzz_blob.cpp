// SPDX-License-Identifier: MIT
// Any bytes as a remote's answer. As they are: decoding stays within them, and what it accepts encodes to the same
// bytes. And with the head's hash made right, as somebody would who means harm: the rest has to hold by itself.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "tier/blob.hpp"

using namespace tlc::tier;  // NOLINT

namespace {

constexpr std::size_t kKeyAt = 40;
constexpr std::size_t kHeadAt = 32;

void check(std::span<const std::uint8_t> bytes) {
  tlc::trust::Digest wanted;
  if (bytes.size() >= kKeyAt + wanted.bytes.size())
    std::memcpy(wanted.bytes.data(), bytes.data() + kKeyAt, wanted.bytes.size());
  const auto blob = decode_blob(bytes, wanted, nullptr);
  if (!blob) return;
  const std::vector<std::uint8_t> again = encode_blob(*blob, nullptr);
  const bool authenticated = bytes[16] != 0;
  if (!authenticated && !std::equal(again.begin(), again.end(), bytes.begin(), bytes.end())) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({data, size});
  std::vector<std::uint8_t> bytes(data, data + size);
  if (size < kBlobFixed + 64) return 0;
  std::uint64_t head = 0;
  std::memcpy(&head, bytes.data() + kHeadAt, sizeof head);
  if (head < kBlobFixed + 64 || head > size) return 0;
  const tlc::trust::Digest hash = tlc::trust::blake2b(bytes.data(), head - 64);
  std::memcpy(bytes.data() + head - 64, hash.bytes.data(), hash.bytes.size());
  check(bytes);
  return 0;
}
