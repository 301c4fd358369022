// SPDX-License-Identifier: MIT
// The types a key field may have, the limits of an encoding, and Value: a field's full value, which
// a request keeps for the compile step. docs/key-format.md specifies types and limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tlc::key {

/// The type byte of an encoded value. The numbers are part of the format.
enum class Type : std::uint8_t {
  null = 0,
  boolean = 1,
  integer = 2,
  f64 = 3,
  text = 4,
  bytes = 5,
  digest = 6,
  list = 7,
  map = 8,
};

/// Set in the type byte of a value that enters as (type, length, BLAKE2b-256).
inline constexpr std::uint8_t kHashedBit = 0x80;

/// Flags of an add: combine with |.
using Flags = std::uint32_t;
/// The value enters as (type, length, hash) whatever its length.
inline constexpr Flags kDigestOnly = 1U << 0;
/// Request only: the text or bytes stay where they are and outlive the request; no copy is made.
inline constexpr Flags kBorrowed = 1U << 1;
/// Internal: the text is known to be UTF-8.
inline constexpr Flags kCheckedText = 1U << 30;

inline constexpr std::size_t kMaxName = 255;           ///< bytes of a field's or an entry's name
inline constexpr std::size_t kMaxNamespace = 128;      ///< bytes of a namespace
inline constexpr std::size_t kMaxEngine = 128;         ///< bytes of an engine's name
inline constexpr std::size_t kInlineLeaf = 64;         ///< longer text and bytes are hashed
inline constexpr std::size_t kInlineReserved = 4096;   ///< the same, for the text of a `tlc.` field
inline constexpr std::size_t kInlineContainer = 4096;  ///< lists and maps with a longer payload are hashed
inline constexpr std::size_t kMaxDepth = 16;           ///< containers within containers
inline constexpr std::size_t kMaxEncoding = 1U << 20;  ///< bytes of an encoding, and of any container's payload

/// "null", "bool", "int", "f64", "text", "bytes", "digest", "list" or "map".
[[nodiscard]] std::string_view type_name(Type type);

/// Whether the bytes are well-formed UTF-8 (no surrogates, no overlong forms, at most U+10FFFF).
[[nodiscard]] bool is_utf8(std::string_view bytes);

/// Whether a name is the library's own.
[[nodiscard]] inline bool is_reserved(std::string_view name) {
  return name.substr(0, 4) == "tlc.";
}

/// A value in full. Integers keep the bits of the int64 or uint64 and say which by `negative`.
class Value {
 public:
  using Entry = std::pair<std::string, Value>;  ///< an element of a list has an empty name

  Type type = Type::null;
  bool boolean = false;
  bool negative = false;  ///< integer: `integer` is to be read as int64_t
  Flags flags = 0;
  std::uint64_t integer = 0;
  double number = 0.0;
  std::vector<Entry> items;  ///< list and map

  /// The bytes of text, bytes or a digest.
  [[nodiscard]] std::string_view str() const { return (flags & kBorrowed) != 0 ? borrowed_ : std::string_view(owned_); }
  /// Keeps a copy, or the view itself when `flags` says kBorrowed.
  void set_str(std::string_view bytes) {
    if ((flags & kBorrowed) != 0) {
      borrowed_ = bytes;
    } else {
      owned_.assign(bytes);
    }
  }

 private:
  std::string owned_;
  std::string_view borrowed_;
};

}  // namespace tlc::key
