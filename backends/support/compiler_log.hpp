// SPDX-License-Identifier: MIT
// What compilers say, made ready for people.
#pragma once

#include <string>
#include <string_view>

namespace tlcb {

/// The first line of a log that says what is wrong; else its first line.
[[nodiscard]] std::string first_error(std::string_view log);

/// The last line that is not empty: what a program said before it died.
[[nodiscard]] std::string last_words(std::string_view log);

void replace_all(std::string& text, std::string_view what, std::string_view by);

}  // namespace tlcb
