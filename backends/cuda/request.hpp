// SPDX-License-Identifier: MIT
// The fields of a request that this backend reads. docs/backends/cuda.md describes them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cuda/metadata.hpp"
#include "support/host.hpp"

namespace tlcb::cuda {

enum class Output { cubin, ptx, ltoir };

struct Request {
  std::optional<std::string> source;  ///< none: the members come from elsewhere, nothing is compiled
  std::string compiler;               ///< absolute path of libnvrtc; empty: the default one
  std::optional<Output> output;       ///< none: what fits the target
  std::vector<std::string> options;   ///< as given, not yet checked
  std::vector<std::string> defines;   ///< NAME or NAME=value
  std::vector<std::string> includes;  ///< absolute folders
  std::vector<std::pair<std::string, std::string>> headers;  ///< name and text
  std::vector<std::string> name_expressions;
  Launch launch;
};

/// Reads the fields; throws Failure (TLC_E_INVALID) that names the field.
[[nodiscard]] Request read_request(Host host, const tlc_request* request);

}  // namespace tlcb::cuda
