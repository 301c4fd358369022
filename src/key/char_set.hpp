// SPDX-License-Identifier: MIT
// CharSet: which bytes a word may have, a load a byte; keys are checked each time that one is built.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tlc::key {

class CharSet {
 public:
  constexpr explicit CharSet(std::string_view members) {
    for (const char c : members) has_[static_cast<unsigned char>(c)] = true;
  }
  [[nodiscard]] constexpr bool has(char c) const { return has_[static_cast<unsigned char>(c)]; }
  /// The place of the first byte that is not a member, or the size.
  [[nodiscard]] constexpr std::size_t first_other(std::string_view text) const {
    std::size_t at = 0;
    while (at < text.size() && has(text[at])) ++at;
    return at;
  }

 private:
  std::array<bool, 256> has_{};
};

}  // namespace tlc::key
