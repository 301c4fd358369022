// SPDX-License-Identifier: MIT
// The fields of a request that this backend reads. docs/backends/cpu.md describes them.
#pragma once

#include <string>
#include <vector>

#include "support/host.hpp"

namespace tlcb::cpu {

enum class Language { c, cxx };

struct Request {
  std::string source;
  Language language = Language::c;
  std::string compiler;               ///< empty: the default one
  std::vector<std::string> options;   ///< as given, not yet checked
  std::vector<std::string> includes;  ///< absolute folders
  std::vector<std::string> defines;   ///< NAME or NAME=value
};

/// Reads the fields; throws Failure (TLC_E_INVALID) that names the field.
[[nodiscard]] Request read_request(Host host, const tlc_request* request);

}  // namespace tlcb::cpu
