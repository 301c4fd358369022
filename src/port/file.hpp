// SPDX-License-Identifier: MIT
// Files and folders. Every function retries EINTR, finishes short transfers, opens close-on-exec.
//
// Functions that end in _at take a folder's descriptor (or AT_FDCWD) and a name relative to it.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "port/fd.hpp"
#include "port/result.hpp"

namespace tlc::port {

/// openat with O_CLOEXEC added to `flags`. A file that O_CREAT makes can be read and written by its owner if `mode`
/// says so, whatever the umask.
[[nodiscard]] Result<Fd> open_at(int dirfd, const char* path, int flags, mode_t mode = 0);

/// Reads `len` bytes at `off`. The count is smaller only where the file ends.
[[nodiscard]] Result<std::size_t> pread_full(int fd, void* into, std::size_t len, off_t off);

/// Writes all `len` bytes at `off`, or fails.
[[nodiscard]] Result<void> pwrite_full(int fd, const void* from, std::size_t len, off_t off);

/// Writes all parts one after the other from `off`, or fails. The span's entries stay as they were.
[[nodiscard]] Result<void> pwritev_full(int fd, std::span<const iovec> parts, off_t off);

/// What was written to the file is on the disk now; of a folder: the names in it.
[[nodiscard]] Result<void> sync_data(int fd);
[[nodiscard]] Result<void> sync_folder(int dirfd);

/// Syncs the folders that lead to `path`, as far up as they are this user's: so the way to it survives a power loss.
[[nodiscard]] Result<void> sync_way_to(const std::string& path);

/// The whole content of a file; TLC_TOO_LARGE if it holds more than `cap` bytes.
[[nodiscard]] Result<std::string> read_file_at(int dirfd, const char* path, std::size_t cap);

/// Replaces `name` (no slash in it) by a file of exactly these bytes and this mode, whatever the
/// umask. Others see the old or the new content, never a part. `durable` syncs file and folder.
[[nodiscard]] Result<void> write_file_atomic_at(int dirfd, const char* name, std::string_view bytes, mode_t mode,
                                                bool durable);

/// Whether a name is one that write_file_atomic_at gives its temporary files.
[[nodiscard]] inline bool is_temporary_name(std::string_view name) {
  return name.find(".tmp-") != std::string_view::npos;
}

/// mkdir -p. Folders made here get exactly `mode`; those that were there keep theirs.
[[nodiscard]] Result<void> make_dirs(const std::string& path, mode_t mode);

/// A folder of mode 0700, whatever the umask. That it is there is success, unless it must be new.
[[nodiscard]] Result<void> make_dir_at(int dirfd, const char* name, bool must_be_new = false);

/// rm -rf below `dirfd`: symlinks are removed, never followed; folders without write permission are
/// made writable first. That `name` is not there is success.
[[nodiscard]] Result<void> remove_tree_at(int dirfd, const char* name);

/// The names in a folder, without "." and "..", sorted by their bytes.
[[nodiscard]] Result<std::vector<std::string>> list_dir_at(int dirfd, const char* name);

/// What a file takes on disk.
[[nodiscard]] inline std::uint64_t allocated_bytes(const struct stat& st) {
  return static_cast<std::uint64_t>(st.st_blocks) * 512U;
}

/// What the folder and all below it take on disk. A file with several names counts once; what
/// vanishes or cannot be read during the walk is left out.
[[nodiscard]] Result<std::uint64_t> tree_allocated_bytes(int dirfd);

/// Makes the file reach to `off + len` with its blocks allocated. Where the file system cannot do
/// that, nothing happens and it is success: the caller still sets the size itself. A full disk
/// (ENOSPC, EDQUOT) is an error.
[[nodiscard]] Result<void> preallocate(int fd, off_t off, off_t len);

}  // namespace tlc::port
