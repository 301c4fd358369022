// SPDX-License-Identifier: MIT
// What differs between two keys, for `why`, and how far apart two keys are, for finding the
// nearest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "port/result.hpp"

namespace tlc::key {

enum class Change : std::uint8_t { changed, added, removed };

struct Difference {
  std::string path;  ///< "options[3]", "define.N"; list indices are of the newer side, for a
                     ///< removal of the older
  Change kind = Change::changed;
  std::string was;  ///< human rendering; empty if added
  std::string now;  ///< empty if removed
};

/// From encoding `was` to encoding `now`, in order of path. Elements of lists are aligned, so that
/// one inserted element is one addition.
[[nodiscard]] Result<std::vector<Difference>> diff(std::span<const std::uint8_t> was,
                                                   std::span<const std::uint8_t> now);

/// How many fields, entries and elements differ, estimated in one pass and without memory. 0 only
/// if equal; SIZE_MAX if either is no encoding.
[[nodiscard]] std::size_t distance(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b);

}  // namespace tlc::key
