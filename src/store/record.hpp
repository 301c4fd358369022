// SPDX-License-Identifier: MIT
// A record: what one publish writes into a segment. Self-describing, so that the index can be rebuilt from segments.
//
// Little-endian; begins at a multiple of 64 in its segment; 256 bytes of header, then the body, then zeros to the next
// multiple of 64.
//
//   header                                           body
//     0   8  magic "TLCSREC1"                          meta (offsets from the start of the body)
//     8   2  version, 1                                  2  length of the namespace, then its bytes
//    10   2  kind (format.hpp)                           2  length of the label, then its bytes
//    12   4  flags; 1: strict (content hash, auth);      4  length of the key's encoding, then its bytes
//            2: there was a generation before it
//    16   8  sequence                                    4  number of required keys, then 32 bytes each
//    24   8  0                                           4  number of members; each:
//    32  32  digest of the key                             4  type
//    64   8  namespace id: XXH3-64 of its name             8  offset from the start of the body, multiple of 64
//    72   8  length of the record, a multiple of 64        8  size
//    80   8  length of the meta                           16  XXH3-128 of the member
//    88   8  length of the body                            2  length of the name, then its bytes
//    96   8  created, wall clock, ns                     members, each at a multiple of 64, zeros between
//   104   8  compile time, us
//   112  16  XXH3-128 of the meta
//   128   8  XXH3-64 of the label
//   136   8  id of the segment
//   144   8  offset in the segment
//   152   8  0
//   160  32  BLAKE2b-256 of the body, if strict
//   192  32  BLAKE2b-256 of bytes 0..191 keyed with the user's key, if strict
//   224  32  BLAKE2b-256 of bytes 0..223 keyed with the store's id
//
// The last MAC ties the header to its store, segment and place: bytes inside a payload that look like a record (a copy
// of a segment, say) are none. It guards against accidents; strict records are what others cannot forge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "port/result.hpp"
#include "store/format.hpp"
#include "trust/digest.hpp"
#include "trust/hash.hpp"

namespace tlc::store {

inline constexpr std::uint64_t kRecordMagic = 0x3143455253434c54;  // "TLCSREC1"
inline constexpr std::size_t kHeaderSize = 256;
inline constexpr std::uint32_t kStrict = 1;
inline constexpr std::uint32_t kLater = 2;  // segments may still have an older record of the key
inline constexpr std::size_t kMaxMembers = 4096;
inline constexpr std::size_t kMaxMemberName = 255;
inline constexpr std::size_t kMaxLabel = 4096;

struct RecordHeader {
  std::uint64_t magic;
  std::uint16_t version;
  std::uint16_t kind;
  std::uint32_t flags;
  std::uint64_t sequence;
  std::uint64_t reserved0;
  trust::Digest key;
  std::uint64_t namespace_id;
  std::uint64_t record_length;
  std::uint64_t meta_length;
  std::uint64_t body_length;
  std::uint64_t created_ns;
  std::uint64_t compile_us;
  std::uint64_t hash_lo;
  std::uint64_t hash_hi;
  std::uint64_t label_hash;
  std::uint64_t segment;
  std::uint64_t offset;
  std::uint64_t reserved1;
  trust::Digest content_hash;
  trust::Digest auth;
  trust::Digest mac;
};
static_assert(sizeof(RecordHeader) == kHeaderSize && offsetof(RecordHeader, content_hash) == 160 &&
              offsetof(RecordHeader, auth) == 192 && offsetof(RecordHeader, mac) == 224);

[[nodiscard]] std::uint64_t namespace_id(std::string_view name_space);

/// A member to be stored, or found; the bytes are the caller's or the record's.
struct MemberView {
  std::string_view name;
  std::uint32_t type = 0;
  std::span<const std::uint8_t> data;
  trust::Hash128 hash{};  ///< of the data; only of one that was found
};

/// What a publish is made of, all borrowed.
struct RecordContent {
  Kind kind = Kind::artifact;
  trust::Digest key;
  std::string_view name_space;
  std::string_view label;
  std::span<const std::uint8_t> key_encoding;
  std::span<const trust::Digest> requirements;
  std::span<const MemberView> members;
  std::uint64_t compile_us = 0;
  bool later = false;  ///< a generation of the key was seen before
};

/// Where the parts of a body lie.
struct RecordMeta {
  std::string_view name_space;
  std::string_view label;
  std::span<const std::uint8_t> key_encoding;
  std::span<const std::uint8_t> requirements;  // 32 bytes each
  std::vector<MemberView> members;
};

/// A record laid out but for its place: pieces to write one after the other, the header first.
class RecordImage {
 public:
  /// `user_key`: makes a strict record.
  static Result<RecordImage> make(const RecordContent& content, std::uint64_t sequence, std::uint64_t created_ns,
                                  const trust::MacKey* user_key);

  /// The same record for another place: the same generation. `body` is as it was stored, and outlives the image. A
  /// strict record needs the key that it was made with.
  static RecordImage copy(const RecordHeader& header, std::span<const std::uint8_t> body,
                          const trust::MacKey* user_key);
  /// A tombstone for the key of this record, of the same sequence.
  static RecordImage tombstone(const RecordHeader& header);

  /// Fills in the place and the MACs. May be called again for another place.
  void seal(std::uint64_t segment, std::uint64_t offset, const trust::MacKey& store_key);

  [[nodiscard]] const RecordHeader& header() const { return header_; }
  [[nodiscard]] std::uint64_t length() const { return header_.record_length; }
  /// Header, meta, members, padding; valid while the content and this object are.
  [[nodiscard]] std::vector<std::span<const std::uint8_t>> pieces() const;

 private:
  RecordImage() = default;

  RecordHeader header_{};
  std::vector<std::uint8_t> meta_;
  std::vector<std::span<const std::uint8_t>> body_;  // members and the zeros between
  const trust::MacKey* user_key_ = nullptr;
};

/// Why a header is not one, or nothing if it is whole, of this store and at its place. Reads only the header.
[[nodiscard]] std::optional<std::string> check_header(const RecordHeader& header, std::uint64_t segment,
                                                      std::uint64_t offset, const trust::MacKey& store_key);
/// The parts of a body, whose meta is checked against the header. Bounds-checked: an Error (TLC_E_CORRUPT) whatever the
/// bytes are. What is in the members is not read.
[[nodiscard]] Result<RecordMeta> parse_meta(const RecordHeader& header, std::span<const std::uint8_t> body);
/// Why the members are not what was stored, or nothing. With `user_key` the strict hashes are checked too.
[[nodiscard]] std::optional<std::string> check_members(const RecordHeader& header, const RecordMeta& meta,
                                                       std::span<const std::uint8_t> body,
                                                       const trust::MacKey* user_key);

}  // namespace tlc::store
