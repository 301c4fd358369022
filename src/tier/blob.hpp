// SPDX-License-Identifier: MIT
// Blob: an artifact or a link as one string of bytes, for remotes, and the check that comes before its use.
//
// Little-endian; nothing is aligned, nothing follows the last member:
//
//   offset  size  what
//   0       8     magic "TLCBLOB1"
//   8       4     version, 1
//   12      4     kind: 1 artifact, 2 link
//   16      4     flags; 1: authenticated
//   20      4     0
//   24      8     length of the blob
//   32      8     length of the head: from 0 to the end of the two digests below
//   40      32    digest of the key
//   72      8     created, wall clock, ns
//   80      8     compile time, us
//   88      4     length of the key's encoding, at most 1 MiB
//   92      4     length of the label, at most 4096
//   96      4     number of required keys, at most 65536
//   100     4     number of members, 1 to 4096
//   104           the key's encoding, the label, the required keys (32 bytes each), then for each member:
//   +0      4     type
//   +4      4     length of the name, 1 to 255
//   +8      8     size
//   +16     32    BLAKE2b-256 of its bytes
//   +48     n     name
//           32    BLAKE2b-256 of the head up to here
//           32    the same keyed with the user's key if authenticated, else zeros
//   head          the members' bytes, one after the other
//
// The same record always makes the same blob. A blob is used only if all of it is what a writer would have written: the
// key's digest is that of its encoding and the one that was asked for, and every hash holds. That guards against
// accidents; who else can write to the remote is a question of trust (docs/remotes.md). A cache that verifies strictly
// takes authenticated blobs only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "port/result.hpp"
#include "trust/digest.hpp"
#include "trust/hash.hpp"

namespace tlc::tier {

inline constexpr std::size_t kBlobFixed = 104;
inline constexpr std::size_t kBlobMemberFixed = 48;
inline constexpr std::size_t kMaxBlobKey = std::size_t{1} << 20;
inline constexpr std::size_t kMaxBlobLabel = 4096;
inline constexpr std::size_t kMaxBlobRequirements = 65536;
inline constexpr std::size_t kMaxBlobMembers = 4096;

enum class BlobKind : std::uint32_t { artifact = 1, link = 2 };

struct BlobMember {
  std::string_view name;
  std::uint32_t type = 0;
  std::span<const std::uint8_t> data;
};

/// What a blob holds; borrowed, from the record or from the blob.
struct BlobContent {
  BlobKind kind = BlobKind::artifact;
  trust::Digest key;
  std::span<const std::uint8_t> key_encoding;
  std::string_view label;
  std::vector<trust::Digest> requirements;
  std::vector<BlobMember> members;
  std::uint64_t created_ns = 0;
  std::uint64_t compile_us = 0;
};

/// `user_key`: makes an authenticated blob.
[[nodiscard]] std::vector<std::uint8_t> encode_blob(const BlobContent& content, const trust::MacKey* user_key);

/// Checks every byte. TLC_E_CORRUPT for anything but a whole blob of this key; with `user_key`, TLC_E_DENIED for one
/// that it does not authenticate. Never reads out of bounds.
[[nodiscard]] Result<BlobContent> decode_blob(std::span<const std::uint8_t> bytes, const trust::Digest& wanted,
                                              const trust::MacKey* user_key);

}  // namespace tlc::tier
