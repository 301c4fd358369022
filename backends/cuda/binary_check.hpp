// SPDX-License-Identifier: MIT
// What a member is, and whether the driver may be given it: its load functions take a pointer and no size, and crash on
// what is cut or damaged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/target.hpp"

namespace tlcb::cuda {

enum class Format { unknown, cubin, fatbin, ptx, ltoir };

/// Code in a binary, for one arch.
struct Image {
  Format format = Format::unknown;
  Arch arch;               ///< without variant: a cubin does not always tell
  std::string_view bytes;  ///< empty where they are compressed
};

struct Binary {
  std::string problem;  ///< what is wrong, as the end of a sentence; empty: nothing
  Format format = Format::unknown;
  std::vector<Image> images;  ///< one, but for a fatbin

  [[nodiscard]] bool ok() const { return problem.empty(); }
};

[[nodiscard]] Binary check_binary(std::string_view bytes);
/// By its first bytes; what passes for none of the others is PTX.
[[nodiscard]] Format format_of(std::string_view bytes);
/// "cubin", "fatbin", "PTX", "LTO-IR".
[[nodiscard]] std::string format_name(Format format);

/// Parts of check_binary, for their own kind only. `padded`: a few bytes may follow, as in a fatbin.
[[nodiscard]] Binary check_cubin(std::string_view bytes, bool padded = false);
[[nodiscard]] Binary check_fatbin(std::string_view bytes);
[[nodiscard]] Binary check_ptx(std::string_view bytes);

}  // namespace tlcb::cuda
