// SPDX-License-Identifier: MIT
#include "store/record.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace tlc::store {
namespace {

constexpr std::array<std::uint8_t, kAlignment> kZeros{};

template <typename Int>
void append(std::vector<std::uint8_t>& out, Int value) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

template <typename Bytes>
void append_bytes(std::vector<std::uint8_t>& out, const Bytes& bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  out.insert(out.end(), data, data + bytes.size());
}

std::size_t meta_size(const RecordContent& content) {
  std::size_t size = 2 + content.name_space.size() + 2 + content.label.size() + 4 + content.key_encoding.size() + 4 +
                     content.requirements.size() * 32 + 4;
  for (const MemberView& member : content.members) size += 38 + member.name.size();
  return size;
}

std::vector<std::uint8_t> encode_meta(const RecordContent& content) {
  const std::size_t size = meta_size(content);
  std::vector<std::uint8_t> out;
  out.reserve(size);
  append(out, static_cast<std::uint16_t>(content.name_space.size()));
  append_bytes(out, content.name_space);
  append(out, static_cast<std::uint16_t>(content.label.size()));
  append_bytes(out, content.label);
  append(out, static_cast<std::uint32_t>(content.key_encoding.size()));
  append_bytes(out, content.key_encoding);
  append(out, static_cast<std::uint32_t>(content.requirements.size()));
  for (const trust::Digest& key : content.requirements) append_bytes(out, key.bytes);
  append(out, static_cast<std::uint32_t>(content.members.size()));
  std::uint64_t offset = align_up(size);
  for (const MemberView& member : content.members) {
    append(out, member.type);
    append(out, offset);
    append(out, static_cast<std::uint64_t>(member.data.size()));
    const trust::Hash128 hash = trust::xxh3_128(member.data.data(), member.data.size());
    append(out, hash.lo);
    append(out, hash.hi);
    append(out, static_cast<std::uint16_t>(member.name.size()));
    append_bytes(out, member.name);
    offset = align_up(offset + member.data.size());
  }
  return out;
}

void pad(std::vector<std::span<const std::uint8_t>>& pieces, std::uint64_t size) {
  const std::uint64_t rest = align_up(size) - size;
  if (rest != 0) pieces.emplace_back(kZeros.data(), rest);
}

trust::Digest digest_pieces(std::span<const std::uint8_t> meta, std::span<const std::span<const std::uint8_t>> rest) {
  trust::Blake2b hash;
  hash.update(meta.data(), meta.size());
  for (const auto& piece : rest) hash.update(piece.data(), piece.size());
  return hash.finish();
}

trust::Digest auth_of(const RecordHeader& header, const trust::MacKey& key) {
  return trust::mac(key, &header, offsetof(RecordHeader, auth));
}

trust::Digest mac_of(const RecordHeader& header, const trust::MacKey& key) {
  return trust::mac(key, &header, offsetof(RecordHeader, mac));
}

bool same(const trust::Digest& a, const trust::Digest& b) {
  return trust::equal_constant_time(a.bytes.data(), b.bytes.data(), a.bytes.size());
}

/// Takes the parts of a meta one by one; after the first that does not fit, nothing fits.
class MetaReader {
 public:
  explicit MetaReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  template <typename Int>
  Int number() {
    Int value{};
    const auto bytes = take(sizeof value);
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::span<const std::uint8_t> take(std::uint64_t size) {
    if (size > bytes_.size() - at_) {
      ok_ = false;
      at_ = bytes_.size();
      return {};
    }
    const auto part = bytes_.subspan(at_, size);
    at_ += size;
    return part;
  }
  std::string_view text(std::uint64_t size) {
    const auto bytes = take(size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

std::uint64_t namespace_id(std::string_view name_space) {
  return trust::xxh3_64(name_space.data(), name_space.size());
}

Result<RecordImage> RecordImage::make(const RecordContent& content, std::uint64_t sequence, std::uint64_t created_ns,
                                      const trust::MacKey* user_key) {
  if (content.members.size() > kMaxMembers) return make_error(TLC_E_INVALID, "more than 4096 members");
  RecordImage image;
  image.meta_ = encode_meta(content);
  std::uint64_t size = image.meta_.size();
  if (!content.members.empty()) {
    pad(image.body_, size);
    size = align_up(size);
  }
  for (const MemberView& member : content.members) {
    if (size % kAlignment != 0) {
      pad(image.body_, size);
      size = align_up(size);
    }
    if (!member.data.empty()) image.body_.push_back(member.data);
    size += member.data.size();
  }
  RecordHeader& header = image.header_;
  header.magic = kRecordMagic;
  header.version = 1;
  header.kind = static_cast<std::uint16_t>(content.kind);
  header.sequence = sequence;
  header.key = content.key;
  header.namespace_id = namespace_id(content.name_space);
  header.record_length = align_up(kHeaderSize + size);
  header.meta_length = image.meta_.size();
  header.body_length = size;
  header.created_ns = created_ns;
  header.compile_us = content.compile_us;
  header.label_hash = trust::xxh3_64(content.label.data(), content.label.size());
  if (content.later) header.flags |= kLater;
  const trust::Hash128 hash = trust::xxh3_128(image.meta_.data(), image.meta_.size());
  header.hash_lo = hash.lo;
  header.hash_hi = hash.hi;
  if (user_key != nullptr) {
    header.flags |= kStrict;
    header.content_hash = digest_pieces(image.meta_, image.body_);
    image.user_key_ = user_key;
  }
  return image;
}

RecordImage RecordImage::copy(const RecordHeader& header, std::span<const std::uint8_t> body,
                              const trust::MacKey* user_key) {
  RecordImage image;
  image.header_ = header;
  image.body_.push_back(body);
  if ((header.flags & kStrict) != 0) image.user_key_ = user_key;
  return image;
}

RecordImage RecordImage::tombstone(const RecordHeader& header) {
  RecordContent content;
  content.kind = Kind::tombstone;
  content.key = header.key;
  content.name_space = "tlc.tombstone";
  Result<RecordImage> image = make(content, header.sequence, header.created_ns, nullptr);
  return std::move(*image);  // without members it cannot fail
}

void RecordImage::seal(std::uint64_t segment, std::uint64_t offset, const trust::MacKey& store_key) {
  header_.segment = segment;
  header_.offset = offset;
  if (user_key_ != nullptr) header_.auth = auth_of(header_, *user_key_);
  header_.mac = mac_of(header_, store_key);
}

std::vector<std::span<const std::uint8_t>> RecordImage::pieces() const {
  std::vector<std::span<const std::uint8_t>> all;
  all.reserve(body_.size() + 3);
  all.emplace_back(reinterpret_cast<const std::uint8_t*>(&header_), kHeaderSize);
  if (!meta_.empty()) all.emplace_back(meta_);
  all.insert(all.end(), body_.begin(), body_.end());
  pad(all, kHeaderSize + header_.body_length);
  return all;
}

std::optional<std::string> check_header(const RecordHeader& header, std::uint64_t segment, std::uint64_t offset,
                                        const trust::MacKey& store_key) {
  if (header.magic != kRecordMagic) return "no record where the index points";
  if (header.version != 1) return "a record of another version";
  if (header.segment != segment || header.offset != offset) return "a record of another place";
  if (!same(header.mac, mac_of(header, store_key))) return "the record's header is damaged";
  // The MAC says that we wrote it; what follows holds then, and is checked so that nothing rests on that alone.
  if (header.body_length > header.record_length || header.meta_length > header.body_length ||
      header.record_length % kAlignment != 0 || header.record_length < kHeaderSize ||
      align_up(kHeaderSize + header.body_length) != header.record_length)
    return "the record's lengths do not fit";
  return std::nullopt;
}

std::optional<std::string> check_members(const RecordHeader& header, const RecordMeta& meta,
                                         std::span<const std::uint8_t> body, const trust::MacKey* user_key) {
  for (const MemberView& member : meta.members)
    if (trust::xxh3_128(member.data.data(), member.data.size()) != member.hash) return "the payload is damaged";
  if (user_key == nullptr) return std::nullopt;
  if ((header.flags & kStrict) == 0) return "stored without a content hash, which strict verification needs";
  if (!same(header.auth, auth_of(header, *user_key))) return "the record was not made with this user's key";
  if (!same(header.content_hash, trust::blake2b(body.data(), body.size()))) return "the content hash is wrong";
  return std::nullopt;
}

Result<RecordMeta> parse_meta(const RecordHeader& header, std::span<const std::uint8_t> body) {
  const Error bad = make_error(TLC_E_CORRUPT, "the record's member table does not fit");
  if (header.meta_length > body.size()) return bad;
  if (trust::xxh3_128(body.data(), header.meta_length) != trust::Hash128{header.hash_lo, header.hash_hi})
    return make_error(TLC_E_CORRUPT, "the record's member table is damaged");
  MetaReader reader(body.first(header.meta_length));
  RecordMeta meta;
  meta.name_space = reader.text(reader.number<std::uint16_t>());
  meta.label = reader.text(reader.number<std::uint16_t>());
  meta.key_encoding = reader.take(reader.number<std::uint32_t>());
  meta.requirements = reader.take(std::uint64_t{reader.number<std::uint32_t>()} * 32);
  const auto count = reader.number<std::uint32_t>();
  if (!reader.ok() || count > kMaxMembers) return bad;
  meta.members.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    MemberView member;
    member.type = reader.number<std::uint32_t>();
    const auto offset = reader.number<std::uint64_t>();
    const auto size = reader.number<std::uint64_t>();
    member.hash.lo = reader.number<std::uint64_t>();
    member.hash.hi = reader.number<std::uint64_t>();
    member.name = reader.text(reader.number<std::uint16_t>());
    if (!reader.ok() || offset % kAlignment != 0 || offset > body.size() || size > body.size() - offset) return bad;
    member.data = body.subspan(offset, size);
    meta.members.push_back(member);
  }
  if (!reader.at_end()) return bad;
  return meta;
}

}  // namespace tlc::store
