// SPDX-License-Identifier: MIT
// Taking a compiler's programs apart: asking them, and the shared libraries they are made of.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/spawn.hpp"

namespace tlcb {

/// Runs a program for a short answer: in `/`, with nothing on standard input, for half a minute at most.
[[nodiscard]] SpawnResult ask_program(const std::string& program, std::vector<std::string> args,
                                      std::vector<std::string> env);

/// The shared libraries a program is made of, those of libc left out: much of clang is libLLVM, much of `as`
/// libopcodes.
void add_program_libraries(const std::string& program, const std::vector<std::string>& env,
                           std::set<std::string>& into);

[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);
[[nodiscard]] bool is_file(const std::string& path);

}  // namespace tlcb
