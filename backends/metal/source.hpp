// SPDX-License-Identifier: MIT
// Text in the Metal Shading Language, looked at without a compiler of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metal/metallib.hpp"

namespace tlcb::metal {

/// What is wrong with a text, as the end of a sentence; empty: it may be given to a compiler.
[[nodiscard]] std::string source_problem(std::string_view text);

/// The functions that a text marks as entry points, by their names and kinds, in order, each once. What macros make is
/// not seen, and what conditionals leave out is.
[[nodiscard]] std::vector<Function> functions_of(std::string_view text);

/// The first header that a text includes which Metal does not bring itself; empty: none. Such text cannot be compiled
/// where there are no files: when it is loaded.
[[nodiscard]] std::string foreign_include(std::string_view text);

}  // namespace tlcb::metal
