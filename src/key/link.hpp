// SPDX-License-Identifier: MIT
// The payload of a link record: guards over files read, each list with the key digest of the
// artifact it leads to.
//
//   offset  size  field
//   0       1     version, 1
//   1       1     variants, 1 to 8, newest first; each:
//   +0      4     guards, little-endian, at most 65536; each:
//   +0      1       kind: 0 absent, 1 present
//   +1      2       path length, little-endian, 1 to 4096
//   +3      n       path, bytes without NUL
//   +3+n    32      content digest, only if present
//   then    32    digest of the artifact's key
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "key/key.hpp"
#include "port/result.hpp"
#include "trust/digest.hpp"

namespace tlc::key {

inline constexpr std::size_t kMaxVariants = 8;
inline constexpr std::size_t kMaxGuards = 65536;
inline constexpr std::size_t kMaxGuardPath = 4096;

enum class GuardKind : std::uint8_t { absent = 0, present = 1 };

/// A file that was read, or looked for and not there.
struct Guard {
  GuardKind kind = GuardKind::absent;
  std::string path;        ///< bytes
  trust::Digest digest{};  ///< BLAKE2b-256 of the content; zero if absent

  friend bool operator==(const Guard& a, const Guard& b) {
    return a.kind == b.kind && a.path == b.path && a.digest.bytes == b.digest.bytes;
  }
};

/// If every guard holds, the artifact is under `artifact`.
struct Variant {
  std::vector<Guard> guards;
  trust::Digest artifact{};
};

struct Link {
  std::vector<Variant> variants;  ///< newest first

  /// Puts a variant first; one with the same guards goes, and so does the oldest of more than 8.
  void add(Variant variant);
  [[nodiscard]] Result<std::vector<std::uint8_t>> encode() const;
  /// Bounds-checked and strict: TLC_E_CORRUPT for anything that encode() would not have written.
  [[nodiscard]] static Result<Link> decode(std::span<const std::uint8_t> payload);
};

/// The key of the artifact that `request` leads to when the guards hold: the request's fields and
/// `tlc.guards`, a digest over the guards in order: kind, last component of the path, content.
[[nodiscard]] Result<Key> content_key(const Key& request, const std::vector<Guard>& guards);

}  // namespace tlc::key
