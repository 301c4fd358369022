// SPDX-License-Identifier: MIT
// The little JSON the listing of backends needs: quoting text, and checking a backend's own object
// before it is put into ours.
#pragma once

#include <string>
#include <string_view>

namespace tlc::backend {

/// The text in quotes. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_quoted(std::string_view text);

/// Whether the text is one well-formed JSON object, at most 64 levels deep.
[[nodiscard]] bool is_json_object(std::string_view text);

}  // namespace tlc::backend
