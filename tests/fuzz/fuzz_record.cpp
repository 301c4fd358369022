// SPDX-License-Identifier: MIT
// Any bytes as a record, and what a record is made from.
//
// The first byte says what the rest is. Bit 0: the header's MAC, the meta's hash and the place are made right first, so
// that what lies behind them is reached; bit 1: the members' hashes too; bit 2: with the user's key. Otherwise the
// bytes are taken as they are. Nothing may be read outside the record, and what parses is a record that says the same
// when it is made again from its parts.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "store/record.hpp"
#include "trust/hash.hpp"

namespace {

using namespace tlc::store;  // NOLINT
using tlc::trust::MacKey;

constexpr std::uint64_t kSegment = 5;
constexpr std::uint64_t kOffset = 640;
constexpr MacKey kStoreKey{{1, 2, 3}};
constexpr MacKey kUserKey{{9, 9, 9}};

void require(bool holds) {
  if (!holds) std::abort();
}

bool within(std::span<const std::uint8_t> part, std::span<const std::uint8_t> whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// The hash of each member into the meta, where there is one that parses.
void mend_members(const RecordHeader& header, std::span<std::uint8_t> body) {
  const tlc::Result<RecordMeta> meta = parse_meta(header, body);
  if (!meta) return;
  for (const MemberView& member : meta->members) {
    const tlc::trust::Hash128 hash = tlc::trust::xxh3_128(member.data.data(), member.data.size());
    // The hash stands in front of the name: 16 bytes, then the name's length.
    auto* at = const_cast<char*>(member.name.data()) - 18;
    std::memcpy(at, &hash.lo, 8);
    std::memcpy(at + 8, &hash.hi, 8);
  }
}

void mend(RecordHeader& header, std::span<std::uint8_t> body, bool members) {
  header.magic = kRecordMagic;
  header.version = 1;
  header.segment = kSegment;
  header.offset = kOffset;
  header.body_length = body.size();
  header.record_length = align_up(kHeaderSize + body.size());
  header.meta_length = std::min<std::uint64_t>(header.meta_length, body.size());
  for (int round = 0; round < (members ? 2 : 1); ++round) {
    const tlc::trust::Hash128 hash = tlc::trust::xxh3_128(body.data(), header.meta_length);
    header.hash_lo = hash.lo;
    header.hash_hi = hash.hi;
    if (round == 0 && members) mend_members(header, body);
  }
  if ((header.flags & kStrict) != 0) {
    header.content_hash = tlc::trust::blake2b(body.data(), body.size());
    header.auth = tlc::trust::mac(kUserKey, &header, offsetof(RecordHeader, auth));
  }
  header.mac = tlc::trust::mac(kStoreKey, &header, offsetof(RecordHeader, mac));
}

bool same(const MemberView& a, const MemberView& b) {
  return a.name == b.name && a.type == b.type && a.hash == b.hash && std::ranges::equal(a.data, b.data);
}

/// A record of these parts is read as these parts.
void make_again(const RecordHeader& header, const RecordMeta& meta) {
  std::vector<tlc::trust::Digest> requirements(meta.requirements.size() / 32);
  if (!requirements.empty()) std::memcpy(requirements.data(), meta.requirements.data(), meta.requirements.size());
  RecordContent content;
  content.kind = static_cast<Kind>(header.kind);
  content.key = header.key;
  content.name_space = meta.name_space;
  content.label = meta.label;
  content.key_encoding = meta.key_encoding;
  content.requirements = requirements;
  content.members = meta.members;
  std::uint64_t total = 0;  // members may lie on each other: thousands of large ones would fill the memory
  for (const MemberView& member : meta.members) total += member.data.size();
  if (total > (std::uint64_t{1} << 20)) return;
  tlc::Result<RecordImage> image = RecordImage::make(content, header.sequence, header.created_ns, &kUserKey);
  require(image.ok());
  image->seal(kSegment, kOffset, kStoreKey);
  std::vector<std::uint8_t> bytes;
  for (const auto& piece : image->pieces()) bytes.insert(bytes.end(), piece.begin(), piece.end());
  require(bytes.size() == image->length());
  RecordHeader again{};
  std::memcpy(&again, bytes.data(), sizeof again);
  require(!check_header(again, kSegment, kOffset, kStoreKey));
  const std::span<const std::uint8_t> body(bytes.data() + kHeaderSize, again.body_length);
  const tlc::Result<RecordMeta> read = parse_meta(again, body);
  require(read.ok() && !check_members(again, *read, body, &kUserKey));
  require(read->name_space == meta.name_space && read->label == meta.label);
  require(std::ranges::equal(read->key_encoding, meta.key_encoding));
  require(std::ranges::equal(read->requirements, meta.requirements));
  require(std::ranges::equal(read->members, meta.members, same));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 + kHeaderSize) return 0;
  const unsigned mode = data[0];
  RecordHeader header{};
  std::memcpy(&header, data + 1, sizeof header);
  std::vector<std::uint8_t> body(data + 1 + kHeaderSize, data + size);  // its end is guarded by the sanitizer
  if ((mode & 1) != 0) mend(header, body, (mode & 2) != 0);
  const auto fault = check_header(header, kSegment, kOffset, kStoreKey);
  if (fault) require(!fault->empty() && (mode & 1) == 0);
  const tlc::Result<RecordMeta> meta = parse_meta(header, body);
  if (!meta) {
    require(!meta.error().message.empty());
    return 0;
  }
  require(within(bytes_of(meta->name_space), body) && within(bytes_of(meta->label), body));
  require(within(meta->key_encoding, body) && within(meta->requirements, body) && meta->requirements.size() % 32 == 0);
  for (const MemberView& member : meta->members) {
    require(within(bytes_of(member.name), body) && within(member.data, body));
  }
  const auto wrong = check_members(header, *meta, body, (mode & 4) != 0 ? &kUserKey : nullptr);
  if (!wrong) make_again(header, *meta);
  return 0;
}
