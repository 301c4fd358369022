// SPDX-License-Identifier: MIT
// Key: the canonical encoding of the fields that determine an artifact, and its digest. Immutable.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "port/result.hpp"
#include "trust/digest.hpp"

namespace tlc::key {

/// Names of the library's own fields.
inline constexpr std::string_view kFieldNamespace = "tlc.namespace";
inline constexpr std::string_view kFieldTarget = "tlc.target";
inline constexpr std::string_view kFieldEngine = "tlc.engine";
inline constexpr std::string_view kFieldToolchain = "tlc.toolchain";
inline constexpr std::string_view kFieldHost = "tlc.host";
inline constexpr std::string_view kFieldGuards = "tlc.guards";

class Key {
 public:
  /// Reads an encoding, for example one stored with an artifact. Strict: anything that a Builder
  /// would not have written is TLC_E_CORRUPT. Never reads out of bounds. The digest is computed,
  /// not taken on trust.
  [[nodiscard]] static Result<Key> decode(std::span<const std::uint8_t> encoding);

  [[nodiscard]] const trust::Digest& digest() const { return digest_; }
  [[nodiscard]] std::span<const std::uint8_t> encoding() const { return encoding_; }
  [[nodiscard]] std::string_view name_space() const;

  /// A top-level library field that is text and not hashed (target, engine, host); empty if absent.
  [[nodiscard]] std::string_view library_text(std::string_view name) const;

  friend bool operator==(const Key& a, const Key& b) { return a.digest_.bytes == b.digest_.bytes; }

 private:
  friend class Builder;
  Key(std::vector<std::uint8_t> encoding, std::size_t ns_offset, std::size_t ns_length);

  std::vector<std::uint8_t> encoding_;
  trust::Digest digest_;
  std::size_t ns_offset_ = 0;
  std::size_t ns_length_ = 0;
};

}  // namespace tlc::key
