// SPDX-License-Identifier: MIT
// What the environment says, where it may be believed.
#pragma once

#include <optional>
#include <string>

namespace tlc::port {

/// getenv, but nullptr in a program that runs with more rights than its caller (AT_SECURE, or real
/// and effective ids differ).
[[nodiscard]] const char* secure_env(const char* name);

/// $HOME if it may be believed and is an absolute path of a folder, else the passwd entry's folder
/// if that is; else nothing.
[[nodiscard]] std::optional<std::string> home_dir();

}  // namespace tlc::port
