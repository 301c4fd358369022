// SPDX-License-Identifier: MIT
// Target: what code is compiled for. The grammar; backends know the meaning.
//
//   target  = part *("," part)                  a fat artifact has several, sorted, each once
//   part    = kind [":" arch *(":" feature)]    features sorted, each once
//   word    = 1*( [a-z0-9_.+-] / "%" 2HEXDIG )  any other byte is percent-encoded
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "port/result.hpp"

namespace tlc::key {

inline constexpr std::size_t kMaxTarget = 4096;     ///< bytes of a target's text
inline constexpr std::size_t kMaxTargetWords = 64;  ///< parts of a target; features of a part

/// One device: every word in canonical, percent-encoded form.
struct TargetPart {
  std::string kind;
  std::string arch;  ///< empty if none was given
  std::vector<std::string> features;

  [[nodiscard]] std::string text() const;
};

class Target {
 public:
  /// Reads any spelling. Errors are TLC_E_INVALID and say what is wrong and at which byte.
  [[nodiscard]] static Result<Target> parse(std::string_view text);

  /// Whether a text is canonical and resolved, seen without parsing: one part, at most one feature,
  /// no escapes. False says nothing.
  [[nodiscard]] static bool is_plain(std::string_view text);

  /// The one spelling that enters a key.
  [[nodiscard]] const std::string& canonical() const { return canonical_; }
  [[nodiscard]] const std::vector<TargetPart>& parts() const { return parts_; }
  // Of the first part.
  [[nodiscard]] const std::string& kind() const { return parts_.front().kind; }
  [[nodiscard]] const std::string& arch() const { return parts_.front().arch; }
  [[nodiscard]] const std::vector<std::string>& features() const { return parts_.front().features; }
  /// Whether one kind covers all parts, so that one backend can serve them.
  [[nodiscard]] bool one_kind() const;
  /// False while any word is `auto` or `native`: the backend has to resolve it before there is a
  /// key.
  [[nodiscard]] bool resolved() const { return resolved_; }

 private:
  std::vector<TargetPart> parts_;
  std::string canonical_;
  bool resolved_ = true;
};

/// Any bytes as a word of a target: bytes outside [a-z0-9_.+-] as %XX.
[[nodiscard]] std::string target_encode(std::string_view raw);
/// The reverse, for backends. The word must be canonical.
[[nodiscard]] std::string target_decode(std::string_view word);

}  // namespace tlc::key
