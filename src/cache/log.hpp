// SPDX-License-Identifier: MIT
// Log lines of this process: to the application's hook, else to standard error if TLC_LOG asks for it, else nowhere.
#pragma once

#include <cstdint>
#include <string_view>

#include "tlcache/tlcache.h"

namespace tlc::cache {

/// Whether a line of this level goes anywhere: ask before making it.
[[nodiscard]] bool log_wanted(std::int32_t level);
void log(std::int32_t level, std::string_view component, std::string_view message);
/// fn null: back to the default. The old hook's destroy runs before this returns.
void set_log(std::int32_t level, tlc_log_fn fn, void* user_data, void (*destroy)(void*));

}  // namespace tlc::cache
