// SPDX-License-Identifier: MIT
// Descriptors that carry OFD locks, so that a forked child can close them.
//
// A child shares its parent's open files, and so would keep the parent's locks held after the parent's death. The child
// closes what is listed here: by a handler right after fork or, after a raw clone, when the library notices.
#pragma once

#include <utility>

#include "port/fd.hpp"

namespace tlc::port {

/// Lists a descriptor; it must be taken off before it is closed. Past 65536 of them nothing happens.
void list_lock_file(int fd);
void unlist_lock_file(int fd);
/// In a child: closes all that the parent listed. Once; later calls do nothing.
void close_inherited_lock_files();

/// A descriptor that is listed while it is open. In a forked child its owner must be forgotten, not destroyed: the
/// number may belong to another file there.
class LockFile {
 public:
  LockFile() = default;
  explicit LockFile(Fd fd) : fd_(std::move(fd)) { list_lock_file(fd_.get()); }
  LockFile(LockFile&&) noexcept = default;
  LockFile& operator=(LockFile&& other) noexcept {
    if (this != &other) {
      unlist();
      fd_ = std::move(other.fd_);
    }
    return *this;
  }
  ~LockFile() { unlist(); }

  [[nodiscard]] int get() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }

 private:
  void unlist() {
    if (fd_) unlist_lock_file(fd_.get());
  }
  Fd fd_;
};

}  // namespace tlc::port
