// SPDX-License-Identifier: MIT
// Files of the user: read whole, written whole.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common.hpp"

namespace tlc::tool {

/// Absolute and without `.`; links are left as they are.
std::string absolute_path(const std::string& path);
bool is_folder(const std::string& path);
bool exists(const std::string& path);

/// The bytes of a file, or of standard input for `-`. Fails with the path and the reason.
std::string read_file(const std::string& path);
/// Replaces a file in one step; writes through when the path is a device or a pipe.
void write_file(const std::string& path, std::string_view bytes, bool executable);

/// A member's bytes, read and verified.
std::string read_member(const tlc_artifact* artifact, std::size_t index);
/// Writes members to `out`: one to a file, several into a folder of that name; into `out` under
/// their own names when it is a folder or ends with a slash. Returns the paths.
std::vector<std::string> write_members(const tlc_artifact* artifact, const std::string& out);
void write_member(const tlc_artifact* artifact, std::size_t index, const std::string& path);

}  // namespace tlc::tool
