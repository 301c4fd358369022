// SPDX-License-Identifier: MIT
// How --help looks.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace tlc::tool {
std::shared_ptr<CLI::FormatterBase> help_formatter();
/// The command that a misspelt one is likely meant to be; empty if none is near.
std::string nearest_command(const CLI::App& app, const std::string& given);
}  // namespace tlc::tool
