// SPDX-License-Identifier: MIT
// Writing the JSON of `probe` and `describe`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tlcb {

/// The text in quotes. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(std::string_view text);
/// A list of texts.
[[nodiscard]] std::string json_list(const std::vector<std::string>& texts);

}  // namespace tlcb
