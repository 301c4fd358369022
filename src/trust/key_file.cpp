// SPDX-License-Identifier: MIT
// Making and reading the key file.
//
// It is made complete under another name and then given its own, which fails if there is one by
// then: no one sees half a key, and whoever comes second takes the first one's.
#include "trust/key_file.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "port/file.hpp"
#include "port/system.hpp"

namespace tlc::trust {

namespace {

constexpr int kTries = 8;

Result<void> check(int fd, const std::string& path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return io_error(errno, "cannot look at key file " + path);
  if (!S_ISREG(st.st_mode)) {
    return make_error(TLC_E_DENIED, "key file " + path + " is not a regular file: remove it");
  }
  if (st.st_uid != ::geteuid()) {
    return make_error(TLC_E_DENIED, "key file " + path + " belongs to uid " + std::to_string(st.st_uid) +
                                        ", not to uid " + std::to_string(::geteuid()) +
                                        " that runs: remove it, or use a config folder of your own");
  }
  if ((st.st_mode & 077U) != 0) {
    return make_error(TLC_E_DENIED, "key file " + path + " is open to group or others: run chmod 600 " + path);
  }
  if (st.st_size != static_cast<off_t>(sizeof(MacKey::bytes))) {
    return make_error(TLC_E_CORRUPT, "key file " + path + " has " + std::to_string(st.st_size) +
                                         " bytes instead of 32: remove it, and a new one is made");
  }
  return {};
}

/// The key, or nothing if there is no file.
Result<std::optional<MacKey>> load(const std::string& path) {
  // Not blocking, in case a FIFO was put there; no symlink, which could lead to any file.
  auto fd = port::open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd) {
    const int err = fd.error().sys_errno;
    if (err == ENOENT) return std::optional<MacKey>();
    if (err == ELOOP) {
      return make_error(TLC_E_DENIED, "key file " + path + " is a symlink: put the file itself there");
    }
    return io_error(err, "cannot open key file " + path);
  }
  if (auto checked = check(fd->get(), path); !checked) return std::move(checked).error();
  MacKey key;
  auto got = port::pread_full(fd->get(), key.bytes.data(), key.bytes.size(), 0);
  if (!got) return io_error(got.error().sys_errno, "cannot read key file " + path);
  if (*got != key.bytes.size()) {
    return make_error(TLC_E_CORRUPT, "key file " + path + " was cut while it was read: try again");
  }
  return std::optional<MacKey>(key);
}

Result<void> write_new(const std::string& path) {
  auto fd = port::open_at(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd) return io_error(fd.error().sys_errno, "cannot make key file " + path);
  MacKey key;
  port::random_bytes(key.bytes.data(), key.bytes.size());
  auto written = port::pwrite_full(fd->get(), key.bytes.data(), key.bytes.size(), 0);
  wipe(key.bytes.data(), key.bytes.size());
  if (!written) return io_error(written.error().sys_errno, "cannot write key file " + path);
  if (::fchmod(fd->get(), 0600) != 0) return io_error(errno, "cannot chmod key file " + path);
  if (::fsync(fd->get()) != 0) return io_error(errno, "cannot sync key file " + path);
  return {};
}

/// Gives the file its name unless that is taken. 0 or errno.
int name_if_free(const char* temporary, const char* path) {
  if (::link(temporary, path) == 0) return 0;
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK) return errno;
  // A file system without hard links.
  return ::renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

/// After success there was a key file at `path`, ours or another's.
Result<void> create(const std::string& path) {
  const std::string temporary = path + ".tmp-" + std::to_string(port::random_u64());
  auto written = write_new(temporary);
  int err = 0;
  if (written) err = name_if_free(temporary.c_str(), path.c_str());
  // Also when write_new failed half-way; if it made nothing, nothing has this random name.
  ::unlink(temporary.c_str());
  if (!written) return written;
  if (err != 0 && err != EEXIST) return io_error(err, "cannot make key file " + path);
  return {};
}

}  // namespace

Result<MacKey> load_or_create_key(const std::string& path) {
  // More than one turn only if someone removes the file between our two steps.
  for (int i = 0; i < kTries; ++i) {
    auto key = load(path);
    if (!key) return std::move(key).error();
    if (*key) return **key;
    if (auto created = create(path); !created) return std::move(created).error();
  }
  return make_error(TLC_E_IO, "key file " + path + " vanishes as soon as it is made");
}

}  // namespace tlc::trust
