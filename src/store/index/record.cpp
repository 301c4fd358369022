// SPDX-License-Identifier: MIT
#include "store/index/record.hpp"

#include <bit>
#include <cstring>

#include "trust/hash.hpp"

namespace tlc::store {
namespace {

static_assert(std::endian::native == std::endian::little, "records are stored little-endian");

std::uint64_t checksum_of(const IndexRecord& record, const trust::Digest& key) {
  static_assert(sizeof key.bytes == kKeySize);
  std::uint64_t first = 0;
  std::memcpy(&first, key.bytes.data(), sizeof first);
  const std::uint64_t seed = trust::xxh3_64(key.bytes.data() + sizeof first, kKeySize - sizeof first, first);
  return trust::xxh3_64(&record, offsetof(IndexRecord, checksum), seed);
}

}  // namespace

void seal(IndexRecord& record, const trust::Digest& key) {
  record.version = kRecordVersion;
  record.checksum = checksum_of(record, key);
}

bool intact(const IndexRecord& record, const trust::Digest& key) {
  return record.version == kRecordVersion && record.checksum == checksum_of(record, key);
}

}  // namespace tlc::store
