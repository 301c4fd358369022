// SPDX-License-Identifier: MIT
// A code object, AMD's ELF file for one processor: whether a loader may be given it, and what it is for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hip/metadata.hpp"
#include "hip/target.hpp"

namespace tlcb::hip {

struct CodeObject {
  std::string problem;  ///< what is wrong, as the end of a sentence; empty: nothing
  TargetId target;
  int version = 0;                   ///< of the code object format, 2 to 6
  std::optional<Metadata> metadata;  ///< none in version 2
  std::vector<std::string> variables;

  [[nodiscard]] bool ok() const { return problem.empty(); }
};

[[nodiscard]] CodeObject check_code_object(std::string_view bytes);

}  // namespace tlcb::hip
