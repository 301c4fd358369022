// SPDX-License-Identifier: MIT
// Facts about the running system, and random bytes from its kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tlc::port {

/// The kernel's id of this boot, 36 characters; empty if it cannot be read.
[[nodiscard]] std::string boot_id();

[[nodiscard]] std::size_t page_size();

/// From getrandom, or /dev/urandom where the call is barred. Throws std::runtime_error if the
/// system has neither, since what would be used instead could be guessed.
void random_bytes(void* into, std::size_t len);
[[nodiscard]] std::uint64_t random_u64();

/// "glibc", "musl", or "other": part of what a file of mapped structures depends on.
[[nodiscard]] std::string libc_name();
/// The name and, where the library tells it at run time, its version: "glibc-2.36".
[[nodiscard]] std::string libc_version();

}  // namespace tlc::port
