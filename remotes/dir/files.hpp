// SPDX-License-Identifier: MIT
// The system calls of the remote, on a file system that may be far away: interrupted ones go on, nothing is mapped, no
// symlink is followed.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tlcache/remote.h"

namespace tlc::dir {

/// Why something failed; status TLC_OK: it did not.
struct Failure {
  tlc_status status = TLC_OK;
  int sys_errno = 0;
  std::string message;
  explicit operator bool() const { return status != TLC_OK; }
};
[[nodiscard]] Failure io_failure(int code, const std::string& what);

class File {
 public:
  explicit File(int fd = -1) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// What close says: a network file system may find only then that there was no room.
  [[nodiscard]] int close_now();

 private:
  int fd_;
};

/// openat with O_CLOEXEC and O_NOFOLLOW; errno tells why not.
[[nodiscard]] File open_file(int dir, const char* name, int flags, mode_t mode = 0);
/// All of it, or false: errno 0 if the file ends before.
[[nodiscard]] bool read_all(int fd, void* into, std::size_t len, std::uint64_t offset);
[[nodiscard]] bool write_all(int fd, const void* from, std::size_t len);
/// Names in a folder, at most `most`; nothing if it cannot be listed.
[[nodiscard]] std::optional<std::vector<std::string>> list(int dir, std::size_t most);
/// Why a folder or file of the remote cannot be trusted, or nothing: it must be this user's and writable by no other.
[[nodiscard]] Failure distrust(const struct stat& st, const std::string& path);

[[nodiscard]] std::uint64_t random_bits();
[[nodiscard]] std::uint64_t wall_ns();
[[nodiscard]] std::uint64_t monotonic_ms();
/// 16 hex digits that stay the same for this user on this host: of the machine's id, its name and the user.
[[nodiscard]] std::string host_id();

}  // namespace tlc::dir
