// SPDX-License-Identifier: MIT
// Single files: open, whole reads and writes, atomic replacement, preallocation.
#include "port/file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "port/retry.hpp"
#include "port/system.hpp"

namespace tlc::port {

namespace {

constexpr std::size_t kPartsAtOnce = 64;
static_assert(kPartsAtOnce <= IOV_MAX);

/// Takes `done` bytes off the front of the parts; gives the first part that has bytes left.
std::size_t drop_front(std::span<iovec> parts, std::size_t done) {
  std::size_t first = 0;
  while (first < parts.size() && done >= parts[first].iov_len) done -= parts[first++].iov_len;
  if (first < parts.size()) {
    parts[first].iov_base = static_cast<char*>(parts[first].iov_base) + done;
    parts[first].iov_len -= done;
  }
  return first;
}

/// Beyond RLIMIT_FSIZE the kernel would send SIGXFSZ, which ends a program that does not expect it.
bool over_file_limit(off_t off, std::size_t len) {
  struct rlimit limit {};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         static_cast<rlim_t>(off) + len > limit.rlim_cur;
}

std::string temporary_name(const char* name) {
  std::array<char, 17> suffix{};
  std::snprintf(suffix.data(), suffix.size(), "%016llx", static_cast<unsigned long long>(random_u64()));
  return std::string(name) + ".tmp-" + suffix.data();
}

Result<void> fill_file(int fd, const std::string& name, std::string_view bytes, mode_t mode, bool durable) {
  if (::fchmod(fd, mode) != 0) return io_error(errno, "cannot set the mode of " + name);
  if (auto written = pwrite_full(fd, bytes.data(), bytes.size(), 0); !written) {
    return io_error(written.error().sys_errno, "cannot write " + name);
  }
  if (!durable) return {};
  auto synced = sync_data(fd);
  return synced ? synced : io_error(synced.error().sys_errno, "cannot sync " + name);
}

}  // namespace

Result<Fd> open_at(int dirfd, const char* path, int flags, mode_t mode) {
  const int fd = retry([&] { return ::openat(dirfd, path, flags | O_CLOEXEC, mode); });
  if (fd < 0) return io_error(errno, std::string("cannot open ") + path);
  struct stat st {};
  if ((flags & O_CREAT) != 0 && ::fstat(fd, &st) == 0 && (st.st_mode & mode & 0600) != (mode & 0600))
    (void)::fchmod(fd, (st.st_mode & 0777) | (mode & 0600));  // a umask such as 0777
  return Fd(fd);
}

Result<std::size_t> pread_full(int fd, void* into, std::size_t len, off_t off) {
  std::size_t done = 0;
  while (done < len) {
    const ssize_t got =
        retry([&] { return ::pread(fd, static_cast<char*>(into) + done, len - done, off + static_cast<off_t>(done)); });
    if (got < 0) return io_error(errno, "cannot read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Result<void> pwrite_full(int fd, const void* from, std::size_t len, off_t off) {
  const iovec part{const_cast<void*>(from), len};  // NOLINT: iovec has no const kind
  return pwritev_full(fd, std::span(&part, 1), off);
}

Result<void> pwritev_full(int fd, std::span<const iovec> parts, off_t off) {
  std::size_t total = 0;
  for (const iovec& part : parts) total += part.iov_len;
  if (over_file_limit(off, total)) return io_error(EFBIG, "cannot write");
  std::array<iovec, kPartsAtOnce> copy{};
  while (!parts.empty()) {
    const std::size_t count = std::min(parts.size(), copy.size());
    std::copy_n(parts.begin(), count, copy.begin());
    parts = parts.subspan(count);

    std::span<iovec> left(copy.data(), count);
    left = left.subspan(drop_front(left, 0));
    while (!left.empty()) {
      const ssize_t put = retry([&] { return ::pwritev(fd, left.data(), static_cast<int>(left.size()), off); });
      if (put < 0) return io_error(errno, "cannot write");
      if (put == 0) return io_error(EIO, "cannot write");  // else this would never end
      off += put;
      left = left.subspan(drop_front(left, static_cast<std::size_t>(put)));
    }
  }
  return {};
}

Result<void> sync_data(int fd) {
  return retry([&] { return ::fdatasync(fd); }) == 0 ? Result<void>{} : io_error(errno, "cannot sync a file");
}

Result<void> sync_folder(int dirfd) {
  const auto own = open_at(dirfd, ".", O_RDONLY | O_DIRECTORY);  // dirfd may be one that only names it
  if (!own) return own.error();
  return retry([&] { return ::fsync(own->get()); }) == 0 ? Result<void>{} : io_error(errno, "cannot sync a folder");
}

Result<void> sync_way_to(const std::string& path) {
  for (std::size_t end = path.find_last_of('/'); end != std::string::npos && end != 0;
       end = path.find_last_of('/', end - 1)) {
    const std::string folder = path.substr(0, end);
    const auto opened = open_at(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY);
    struct stat st {};
    if (!opened || ::fstat(opened->get(), &st) != 0 || st.st_uid != ::geteuid()) return {};  // not for us to make
    if (auto synced = sync_folder(opened->get()); !synced) return synced;
  }
  return {};
}

Result<std::string> read_file_at(int dirfd, const char* path, std::size_t cap) {
  // Not blocking: a FIFO at this path must not hold us. It has no effect on a regular file.
  auto fd = open_at(dirfd, path, O_RDONLY | O_NONBLOCK);
  if (!fd) return std::move(fd).error();
  // Read on until the end rather than trust st_size: files of /proc say 0.
  std::string text;
  std::array<char, 4096> block;
  while (true) {
    const ssize_t got = retry([&] { return ::read(fd->get(), block.data(), block.size()); });
    if (got < 0) return io_error(errno, std::string("cannot read ") + path);
    if (got == 0) return text;
    if (static_cast<std::size_t>(got) > cap - text.size()) {
      return make_error(TLC_TOO_LARGE,
                        std::string(path) + " is larger than the " + std::to_string(cap) + " bytes it may have");
    }
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

Result<void> write_file_atomic_at(int dirfd, const char* name, std::string_view bytes, mode_t mode, bool durable) {
  if (std::string_view(name).find('/') != std::string_view::npos) {
    return make_error(TLC_E_INVALID, std::string("a file name without a slash is needed, not ") + name);
  }
  const std::string temporary = temporary_name(name);
  auto fd = open_at(dirfd, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd) return std::move(fd).error();
  auto filled = fill_file(fd->get(), temporary, bytes, mode, durable);
  if (filled && ::renameat(dirfd, temporary.c_str(), dirfd, name) != 0) {
    filled = io_error(errno, std::string("cannot replace ") + name);
  }
  if (!filled) {
    ::unlinkat(dirfd, temporary.c_str(), 0);
    return filled;
  }
  return durable ? sync_folder(dirfd) : Result<void>{};
}

Result<void> preallocate(int fd, off_t off, off_t len) {
  if (off < 0 || len <= 0) {
    return make_error(TLC_E_INVALID, "cannot preallocate an empty or negative range");
  }
  if (over_file_limit(off, static_cast<std::size_t>(len))) return io_error(EFBIG, "cannot allocate space for the file");
  // Not posix_fallocate: where the file system cannot, glibc writes to each block instead, which is
  // slow and races with other writers.
  if (retry([&] { return ::fallocate(fd, 0, off, len); }) == 0) return {};
  if (errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS) return {};
  return io_error(errno, "cannot allocate space for the file");
}

}  // namespace tlc::port
