// SPDX-License-Identifier: MIT
// Settings: what the application asked for and what the environment overrides, each with its origin for `doctor`.
//
//   TLC_DIR           the store's folder, absolute         TLC_READONLY      1: never write to the store
//   TLC_LIMIT         limit of a store that is made        TLC_DISABLE       1: keep nothing, find nothing
//   TLC_BACKEND_PATH  plugin folders and files             TLC_LOG           error, warn, info or debug
//   TLC_TRACE         file that every request is noted in
//   TLC_REMOTES       URLs of remotes, or none
//
// The environment wins, and is ignored in a program with more rights than its caller and with TLC_OPEN_NO_ENV.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "port/result.hpp"
#include "tier/url.hpp"

namespace tlc::cache {

struct Setting {
  std::string name;
  std::string value;
  std::string origin;  ///< "default", "application", "environment"
};

struct Settings {
  std::string directory;  ///< as the application gave it
  std::uint64_t limit = 0;
  bool strict_open = false;
  bool read_only = false;
  bool durable = false;
  bool verify_strict = false;
  bool allow_plugins = false;
  bool memory = false;
  bool disabled = false;
  bool use_environment = true;
  std::string backend_path;
  std::string trace;  ///< file; empty: none
  std::vector<tier::RemoteUrl> remotes;
  bool no_remotes = false;  ///< not even that of a network folder
  std::vector<Setting> listed;
};

/// A size: digits, then K, M, G or T (powers of 1024) and perhaps "iB" or "B".
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

/// TLC_E_INVALID where a variable's value is none; the message names it.
[[nodiscard]] Result<Settings> make_settings(std::string directory, std::uint64_t limit, std::uint64_t open_flags,
                                             std::string_view remotes = {});

}  // namespace tlc::cache
