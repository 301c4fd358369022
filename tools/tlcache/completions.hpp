// SPDX-License-Identifier: MIT
// The completion scripts, as tools/completion has them; the build makes completions.cpp.
#pragma once

#include <string_view>

namespace tlc::tool {
extern const std::string_view bash_completion;
extern const std::string_view zsh_completion;
extern const std::string_view fish_completion;
}  // namespace tlc::tool
