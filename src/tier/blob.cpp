// SPDX-License-Identifier: MIT
#include "tier/blob.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "key/key.hpp"
#include "key/value.hpp"

namespace tlc::tier {
namespace {

constexpr std::uint64_t kMagic = 0x31424f4c42434c54;  // "TLCBLOB1"
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kAuthenticated = 1;
constexpr std::size_t kHashes = 64;
constexpr std::size_t kMaxName = 255;

Error corrupt(const char* what) {
  return make_error(TLC_E_CORRUPT, std::string("what a remote answered is damaged: ") + what);
}

/// Appends to a vector.
class Writer {
 public:
  explicit Writer(std::vector<std::uint8_t>& into) : into_(into) {}
  template <typename T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof value; ++i) into_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  void bytes(const void* from, std::size_t len) {
    const auto* at = static_cast<const std::uint8_t*>(from);
    into_.insert(into_.end(), at, at + len);
  }
  void digest(const trust::Digest& value) { bytes(value.bytes.data(), value.bytes.size()); }

 private:
  std::vector<std::uint8_t>& into_;
};

/// Takes bytes from the front; past the end it only notes that.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> from) : left_(from) {}
  template <typename T>
  T number() {
    T value = 0;
    const auto part = bytes(sizeof value);
    for (std::size_t i = 0; i < part.size(); ++i) value = static_cast<T>(value | (static_cast<T>(part[i]) << (8 * i)));
    return value;
  }
  std::span<const std::uint8_t> bytes(std::size_t len) {
    if (len > left_.size()) {
      short_ = true;
      return {};
    }
    const auto part = left_.first(len);
    left_ = left_.subspan(len);
    return part;
  }
  trust::Digest digest() {
    trust::Digest value;
    if (const auto part = bytes(value.bytes.size()); !part.empty())
      std::memcpy(value.bytes.data(), part.data(), part.size());
    return value;
  }
  [[nodiscard]] bool ran_short() const { return short_; }
  [[nodiscard]] std::size_t left() const { return left_.size(); }

 private:
  std::span<const std::uint8_t> left_;
  bool short_ = false;
};

std::string_view text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_file_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos && key::is_utf8(name);
}

struct Head {
  BlobContent content;
  std::vector<std::pair<std::uint64_t, trust::Digest>> members;  ///< size and hash of each
};

/// The head without its last two digests; they were checked.
Result<Head> read_head(std::span<const std::uint8_t> bytes, std::uint64_t body) {
  Head head;
  BlobContent& content = head.content;
  Reader reader(bytes);
  (void)reader.bytes(12);
  const auto kind = reader.number<std::uint32_t>();
  if (kind != 1 && kind != 2) return corrupt("its kind is unknown");
  content.kind = static_cast<BlobKind>(kind);
  (void)reader.bytes(24);
  content.key = reader.digest();
  content.created_ns = reader.number<std::uint64_t>();
  content.compile_us = reader.number<std::uint64_t>();
  const auto key_length = reader.number<std::uint32_t>();
  const auto label_length = reader.number<std::uint32_t>();
  const auto requirements = reader.number<std::uint32_t>();
  const auto members = reader.number<std::uint32_t>();
  if (key_length > kMaxBlobKey || label_length > kMaxBlobLabel || requirements > kMaxBlobRequirements || members == 0 ||
      members > kMaxBlobMembers)
    return corrupt("a length is out of range");
  content.key_encoding = reader.bytes(key_length);
  content.label = text(reader.bytes(label_length));
  if (!key::is_utf8(content.label)) return corrupt("its label is not UTF-8");
  if (reader.left() < requirements * sizeof(trust::Digest) + members * kBlobMemberFixed)
    return corrupt("it is too short");
  for (std::uint32_t i = 0; i < requirements; ++i) content.requirements.push_back(reader.digest());
  for (std::uint32_t i = 0; i < members; ++i) {
    BlobMember member;
    member.type = reader.number<std::uint32_t>();
    const auto name_length = reader.number<std::uint32_t>();
    const auto size = reader.number<std::uint64_t>();
    const trust::Digest hash = reader.digest();
    member.name = text(reader.bytes(name_length));
    if (!is_file_name(member.name)) return corrupt("a member's name is none");
    if (size > body) return corrupt("a member is larger than the blob");
    body -= size;
    content.members.push_back(member);
    head.members.emplace_back(size, hash);
  }
  if (reader.ran_short() || reader.left() != 0 || body != 0) return corrupt("its lengths do not add up");
  std::vector<std::string_view> names;
  for (const BlobMember& member : content.members) names.push_back(member.name);
  std::sort(names.begin(), names.end());
  if (std::adjacent_find(names.begin(), names.end()) != names.end()) return corrupt("two members have one name");
  return head;
}

}  // namespace

std::vector<std::uint8_t> encode_blob(const BlobContent& content, const trust::MacKey* user_key) {
  std::size_t head = kBlobFixed + content.key_encoding.size() + content.label.size() +
                     content.requirements.size() * sizeof(trust::Digest) + kHashes;
  std::size_t body = 0;
  for (const BlobMember& member : content.members) {
    head += kBlobMemberFixed + member.name.size();
    body += member.data.size();
  }
  std::vector<std::uint8_t> blob;
  blob.reserve(head + body);
  Writer writer(blob);
  writer.number(kMagic);
  writer.number(kVersion);
  writer.number(static_cast<std::uint32_t>(content.kind));
  writer.number(user_key != nullptr ? kAuthenticated : std::uint32_t{0});
  writer.number(std::uint32_t{0});
  writer.number(std::uint64_t{head + body});
  writer.number(std::uint64_t{head});
  writer.digest(content.key);
  writer.number(content.created_ns);
  writer.number(content.compile_us);
  writer.number(static_cast<std::uint32_t>(content.key_encoding.size()));
  writer.number(static_cast<std::uint32_t>(content.label.size()));
  writer.number(static_cast<std::uint32_t>(content.requirements.size()));
  writer.number(static_cast<std::uint32_t>(content.members.size()));
  writer.bytes(content.key_encoding.data(), content.key_encoding.size());
  writer.bytes(content.label.data(), content.label.size());
  for (const trust::Digest& required : content.requirements) writer.digest(required);
  for (const BlobMember& member : content.members) {
    writer.number(member.type);
    writer.number(static_cast<std::uint32_t>(member.name.size()));
    writer.number(std::uint64_t{member.data.size()});
    writer.digest(trust::blake2b(member.data.data(), member.data.size()));
    writer.bytes(member.name.data(), member.name.size());
  }
  const std::size_t hashed = blob.size();
  writer.digest(trust::blake2b(blob.data(), hashed));
  writer.digest(user_key != nullptr ? trust::mac(*user_key, blob.data(), hashed) : trust::Digest{});
  for (const BlobMember& member : content.members) writer.bytes(member.data.data(), member.data.size());
  return blob;
}

Result<BlobContent> decode_blob(std::span<const std::uint8_t> bytes, const trust::Digest& wanted,
                                const trust::MacKey* user_key) {
  Reader reader(bytes);
  if (reader.number<std::uint64_t>() != kMagic || reader.number<std::uint32_t>() != kVersion)
    return corrupt("it is no blob of this version");
  (void)reader.number<std::uint32_t>();
  const auto flags = reader.number<std::uint32_t>();
  const auto zero = reader.number<std::uint32_t>();
  const auto length = reader.number<std::uint64_t>();
  const auto head_length = reader.number<std::uint64_t>();
  if (reader.ran_short() || length != bytes.size() || head_length < kBlobFixed + kHashes || head_length > length)
    return corrupt("it is cut, or longer than it says");
  if (zero != 0 || (flags & ~kAuthenticated) != 0) return corrupt("it has a flag of a later version");
  const auto hashed = bytes.first(head_length - kHashes);
  const trust::Digest hash = trust::blake2b(hashed.data(), hashed.size());
  if (!trust::equal_constant_time(hash.bytes.data(), bytes.data() + hashed.size(), hash.bytes.size()))
    return corrupt("the hash of its head is another");
  const auto* auth = bytes.data() + hashed.size() + hash.bytes.size();
  if ((flags & kAuthenticated) == 0 && std::any_of(auth, auth + hash.bytes.size(), [](auto byte) { return byte != 0; }))
    return corrupt("it is authenticated, and says that it is not");
  if (user_key != nullptr) {
    const trust::Digest mac = trust::mac(*user_key, hashed.data(), hashed.size());
    if ((flags & kAuthenticated) == 0 || !trust::equal_constant_time(mac.bytes.data(), auth, mac.bytes.size()))
      return make_error(TLC_E_DENIED, "what a remote answered is not authenticated by this user's key");
  }
  Result<Head> head = read_head(hashed, length - head_length);
  if (!head) return std::move(head).error();
  BlobContent& content = head->content;
  if (content.key != wanted) return corrupt("it belongs to another key");
  const Result<key::Key> key = key::Key::decode(content.key_encoding);
  if (!key) return make_error(TLC_E_CORRUPT, "what a remote answered is damaged: " + key.error().message);
  if (key->digest() != wanted) return corrupt("its key has another digest");
  auto body = bytes.subspan(head_length);
  for (std::size_t i = 0; i < content.members.size(); ++i) {
    const auto& [size, expected] = head->members[i];
    content.members[i].data = body.first(size);
    body = body.subspan(size);
    if (trust::blake2b(content.members[i].data.data(), size) != expected) return corrupt("a member's hash is another");
  }
  return std::move(content);
}

}  // namespace tlc::tier
