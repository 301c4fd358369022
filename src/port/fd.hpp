// SPDX-License-Identifier: MIT
// Fd: the owner of one file descriptor. Closed when the owner goes; moved, never copied.
#pragma once

#include <unistd.h>

#include <utility>

namespace tlc::port {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  /// Gives the descriptor up without closing it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

  /// Closes what is held, if anything, and takes `fd`. close is not retried on EINTR: on Linux the
  /// descriptor is gone by then, and a second close could hit another thread's.
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace tlc::port
