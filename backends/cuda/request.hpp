// SPDX-License-Identifier: MIT
// The fields of a request that this backend reads. docs/backends/cuda.md describes them.
#pragma once

#include <optional>

#include "cuda/metadata.hpp"
#include "support/device_source.hpp"

namespace tlcb::cuda {

enum class Output { cubin, ptx, ltoir };

struct Request : DeviceSource {
  std::optional<Output> output;  ///< none: what fits the target
  Launch launch;
};

/// Reads the fields; throws Failure (TLC_E_INVALID) that names the field.
[[nodiscard]] Request read_request(Host host, const tlc_request* request);

}  // namespace tlcb::cuda
