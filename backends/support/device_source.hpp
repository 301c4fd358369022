// SPDX-License-Identifier: MIT
// The fields of a request that compilers of device code have in common, the options they have in common, and which
// files a compile of them may read.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/host.hpp"
#include "support/includes.hpp"

namespace tlcb {

struct DeviceSource {
  std::optional<std::string> source;  ///< none: the members come from elsewhere, nothing is compiled
  std::string compiler;               ///< absolute path; empty: the default one
  std::vector<std::string> options;   ///< as given, not yet checked
  std::vector<std::string> defines;   ///< NAME or NAME=value
  std::vector<std::string> includes;  ///< absolute folders
  std::vector<std::pair<std::string, std::string>> headers;  ///< name and text
  std::vector<std::string> name_expressions;
};

/// Reads the fields; throws Failure (TLC_E_INVALID) that names the field.
[[nodiscard]] DeviceSource read_device_source(Host host, const tlc_request* request);
/// Throws Failure when there is nothing to compile.
void need_source(const DeviceSource& request);

struct CommonOptions {
  std::vector<std::string> words;         ///< for the compiler, in their order; without folders
  std::vector<std::string> folders;       ///< of -I, in order
  std::vector<std::string> pre_includes;  ///< of -include, in order
  std::vector<std::string> defines;       ///< of -D: NAME or NAME=value
};

/// The request's folders, then those of its options.
[[nodiscard]] std::vector<std::string> folders_of(const DeviceSource& request, const CommonOptions& options);
/// For find_includes. Refers to the request.
[[nodiscard]] IncludeSources include_sources_of(const DeviceSource& request, const CommonOptions& options);

}  // namespace tlcb
