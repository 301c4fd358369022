// SPDX-License-Identifier: MIT
// What kind of file system a descriptor is on: shared mappings and locks can be trusted on a local
// one only.
#pragma once

#include <cstdint>

#include "port/result.hpp"

namespace tlc::port {

enum class FsKind : std::uint8_t { local, network, unknown };

/// By the magic number of statfs.
[[nodiscard]] Result<FsKind> fs_kind(int fd);

/// While on, fs_kind answers `kind` for every descriptor.
void set_fs_kind_for_test(FsKind kind, bool on);

}  // namespace tlc::port
