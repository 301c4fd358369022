// SPDX-License-Identifier: MIT
// What a member is, and whether the HIP runtime may be given it: its load functions take a pointer and no size, and
// crash on what is cut or damaged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hip/code_object.hpp"

namespace tlcb::hip {

enum class Format { unknown, code_object, bundle, compressed_bundle };

struct Binary {
  std::string problem;  ///< what is wrong, as the end of a sentence; empty: nothing
  Format format = Format::unknown;
  std::vector<CodeObject> images;  ///< one, but for a bundle; of a compressed one none can be seen

  [[nodiscard]] bool ok() const { return problem.empty(); }
};

[[nodiscard]] Binary check_binary(std::string_view bytes);
/// "code object", "offload bundle", "compressed offload bundle".
[[nodiscard]] std::string format_name(Format format);

}  // namespace tlcb::hip
