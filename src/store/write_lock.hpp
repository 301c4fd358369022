// SPDX-License-Identifier: MIT
// The write lock: one writer of the index at a time, among all threads and processes of the host.
//
// A mutex keeps the threads of this process apart (OFD locks belong to the open file, which they share); byte 0 of
// write.lock keeps processes apart. A lock on a file that is no longer the one in the folder excludes nobody, so its
// inode is compared after locking.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "port/clock.hpp"
#include "port/lock.hpp"
#include "port/lock_files.hpp"
#include "port/result.hpp"

namespace tlc::store {

class WriteLock {
 public:
  /// Opens, or makes, the lock file. The descriptor of the folder outlives this object.
  static Result<std::unique_ptr<WriteLock>> open(int format_dir, const char* name);

  /// Holds the lock until it goes.
  class Held {
   public:
    Held(Held&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    ~Held();

   private:
    friend class WriteLock;
    explicit Held(WriteLock* lock) : lock_(lock) {}
    WriteLock* lock_;
  };

  /// TLC_TIMEOUT at the deadline; kReplaced when the lock file was replaced: the store must be opened anew.
  Result<Held> acquire(port::Deadline deadline);

 private:
  WriteLock(int format_dir, const char* name, port::LockFile file, port::FileId id)
      : dir_(format_dir), name_(name), file_(std::move(file)), id_(id) {}

  int dir_;
  const char* name_;
  port::LockFile file_;
  port::FileId id_;
  std::mutex mutex_;
};

}  // namespace tlc::store
