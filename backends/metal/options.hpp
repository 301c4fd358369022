// SPDX-License-Identifier: MIT
// Which options a request may pass to Metal's compiler. Text is also compiled when it is loaded, by Metal itself, which
// has fewer: what both have is kept beside a source.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/device_source.hpp"

namespace tlcb::metal {

/// What Metal's own compiler may be told at load (MTLCompileOptions), without the language's version.
struct LoadOptions {
  std::map<std::string, std::string> macros;
  std::optional<bool> fast_math;  ///< none: as the compiler has it
  bool preserve_invariance = false;
  bool for_size = false;

  bool operator==(const LoadOptions&) const = default;
};

inline constexpr const char* kOptionsMember = "options.json";

/// A flat object of texts: "define.N": "4", "math": "fast" or "precise", "invariance": "preserve", "optimize": "size".
[[nodiscard]] std::string to_json(const LoadOptions& options);
/// nullopt for anything else.
[[nodiscard]] std::optional<LoadOptions> parse_load_options(std::string_view json);

struct Options : CommonOptions {
  LoadOptions at_load;
  std::string offline_only;  ///< the first that a compile at load cannot have; empty: none
};

/// Of the request's options and defines. Throws Failure (TLC_E_INVALID, or TLC_E_DENIED for what reads files) that
/// names the option and what to do instead.
[[nodiscard]] Options check_options(const DeviceSource& request);

}  // namespace tlcb::metal
