// SPDX-License-Identifier: MIT
// Finding members of an artifact.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "support/host.hpp"

namespace tlcb::cuda {

struct FoundMember {
  std::string name;
  std::string_view bytes;
};

/// By name; nullopt if there is none.
[[nodiscard]] std::optional<FoundMember> find_member(Host host, const tlc_artifact* artifact, std::string_view name);

/// What to load: the member the options name, else kernel.cubin, kernel.ptx or kernel.ltoir, else the only one of
/// device code. Throws Failure.
[[nodiscard]] FoundMember member_to_load(Host host, const tlc_artifact* artifact, const tlc_load_options* options);

}  // namespace tlcb::cuda
