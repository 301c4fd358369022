// SPDX-License-Identifier: MIT
// A metallib: Apple's container of Metal functions. What one says of itself, and whether Metal may be given it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tlcb::metal {

struct Version {
  unsigned major = 0;
  unsigned minor = 0;

  [[nodiscard]] std::string text() const { return std::to_string(major) + "." + std::to_string(minor); }
  auto operator<=>(const Version&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct Function {
  std::string name;
  std::string kind;  ///< kernel, vertex, ...; "type 9" for one that is not known
  Version air;       ///< of its code; 0.0 where it does not say
  Version language;  ///< of the Metal Shading Language
  std::uint64_t code_bytes = 0;
};

struct Metallib {
  std::string problem;  ///< what is wrong, as the end of a sentence; empty: nothing
  Version format;
  std::string type;  ///< executable, dynamic, ...
  std::string os;    ///< macos, ios, ...; empty where an old one names none
  Version os_version;
  std::vector<Function> functions;

  [[nodiscard]] bool ok() const { return problem.empty(); }
};

enum class Depth {
  bounds,   ///< that everything is inside
  content,  ///< and that the code of each function is what its hash says
};

[[nodiscard]] bool is_metallib(std::string_view bytes);
[[nodiscard]] Metallib check_metallib(std::string_view bytes, Depth depth = Depth::content);

}  // namespace tlcb::metal
