// SPDX-License-Identifier: MIT
// URLs of remotes, as TLC_REMOTES and tlc_cache_options.remotes list them: `scheme:rest[?name=value&...]`, white space
// between two. "none" stands for no remote at all.
//
// Three parameters are the library's; what is left of the URL goes to the remote's `open`:
//   timeout_ms=N   how long a get may take, 1 to 60000 (2000)
//   names=yes      labels and paths of files may go there though others may read it
//   readonly=yes   nothing is written to it
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "port/result.hpp"

namespace tlc::tier {

struct RemoteUrl {
  std::string scheme;
  std::string url;     ///< for the remote
  std::string origin;  ///< who named it: "application", "environment", "network folder"
  std::int64_t timeout_ms = 2000;
  bool names = false;
  bool read_only = false;

  /// For people: a password is not shown.
  [[nodiscard]] std::string shown() const;
  /// 16 hex digits that tell its queue from those of other remotes.
  [[nodiscard]] std::string id() const;
};

/// "none": an empty list, and `none` is set. TLC_E_INVALID names what is wrong and where it was said.
[[nodiscard]] Result<std::vector<RemoteUrl>> parse_remotes(std::string_view text, std::string_view origin, bool& none);

/// The path, escaped as the `dir` remote reads it.
[[nodiscard]] std::string escape_path(std::string_view path);

}  // namespace tlc::tier
