// SPDX-License-Identifier: MIT
// Open-file-description locks by fcntl.
#include "port/lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "port/retry.hpp"

namespace tlc::port {

namespace {

constexpr std::uint64_t kFirstSleepNs = 50'000;
constexpr std::uint64_t kLastSleepNs = 5'000'000;

Result<bool> set_lock(int fd, std::uint64_t start, std::uint64_t len, short type) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (start > kMax || len > kMax - start) {
    return make_error(TLC_E_INVALID, "cannot lock a range past the largest file");
  }
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(start);
  range.l_len = static_cast<off_t>(len);
  range.l_pid = 0;  // must be 0 for this kind
  if (retry([&] { return ::fcntl(fd, F_OFD_SETLK, &range); }) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return io_error(errno, "cannot lock a file");
}

void sleep_ns(std::uint64_t ns) {
  const timespec time{static_cast<time_t>(ns / 1'000'000'000U), static_cast<long>(ns % 1'000'000'000U)};
  // Cut short by a signal is fine: the caller looks at its deadline again.
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

}  // namespace

Result<bool> try_lock(int fd, std::uint64_t start, std::uint64_t len, LockMode mode) {
  return set_lock(fd, start, len, mode == LockMode::shared ? F_RDLCK : F_WRLCK);
}

Result<bool> lock_until(int fd, std::uint64_t start, std::uint64_t len, LockMode mode, Deadline deadline) {
  // Polling, since F_OFD_SETLKW can only be given up by a signal.
  for (std::uint64_t nap = kFirstSleepNs;; nap = std::min(nap * 2, kLastSleepNs)) {
    auto got = try_lock(fd, start, len, mode);
    if (!got || *got) return got;
    const std::uint64_t left = deadline.remaining_ns();
    if (left == 0) return false;
    sleep_ns(std::min(nap, left));
  }
}

Result<void> unlock(int fd, std::uint64_t start, std::uint64_t len) {
  auto done = set_lock(fd, start, len, F_UNLCK);
  if (!done) return std::move(done).error();
  return {};
}

Result<FileId> file_id(int fd) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return io_error(errno, "cannot stat an open file");
  return FileId{st.st_dev, st.st_ino};
}

bool is_named(const FileId& id, int dirfd, const char* name) {
  struct stat st {};
  return ::fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && id == FileId{st.st_dev, st.st_ino};
}

Result<bool> same_file(int fd, int dirfd, const char* name) {
  struct stat open_one {};
  struct stat named {};
  if (::fstat(fd, &open_one) != 0) return io_error(errno, "cannot look at an open file");
  if (::fstatat(dirfd, name, &named, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return io_error(errno, std::string("cannot look at ") + name);
  }
  return open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

}  // namespace tlc::port
