// SPDX-License-Identifier: MIT
// Byte-range locks between open file descriptions (F_OFD_SETLK), never the per-process POSIX kind.
//
// They belong to the open file: closing another descriptor of the same file loses nothing, threads
// and second copies of the library exclude each other, and equal pids in containers do not matter.
// A forked child shares its parent's open files and so its locks: it closes them and opens anew.
#pragma once

#include <cstdint>

#include "port/clock.hpp"
#include "port/result.hpp"

namespace tlc::port {

enum class LockMode : std::uint8_t { shared, exclusive };

/// True if the range is now ours, false if someone else holds it. Length 0 reaches to the end of
/// any file. The descriptor must be readable for shared, writable for exclusive.
[[nodiscard]] Result<bool> try_lock(int fd, std::uint64_t start, std::uint64_t len, LockMode mode);

/// Tries until the deadline, sleeping 50 us at first and 5 ms at last. False at the deadline; at
/// least one try is made.
[[nodiscard]] Result<bool> lock_until(int fd, std::uint64_t start, std::uint64_t len, LockMode mode, Deadline deadline);

[[nodiscard]] Result<void> unlock(int fd, std::uint64_t start, std::uint64_t len);

/// Which file a descriptor is open on: device and inode.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileId&) const = default;
};
[[nodiscard]] Result<FileId> file_id(int fd);
/// Whether `name` in `dirfd` is that file; false too if there is no such name.
[[nodiscard]] bool is_named(const FileId& id, int dirfd, const char* name);

/// Whether `name` in `dirfd` still is the file open as `fd`: a lock on a file that was unlinked or
/// replaced excludes no one. False too if there is no such name.
[[nodiscard]] Result<bool> same_file(int fd, int dirfd, const char* name);

}  // namespace tlc::port
