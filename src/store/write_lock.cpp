// SPDX-License-Identifier: MIT
#include "store/write_lock.hpp"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "port/file.hpp"
#include "port/lock.hpp"
#include "store/format.hpp"

namespace tlc::store {
namespace {

constexpr std::uint64_t kFirstNapUs = 20;
constexpr std::uint64_t kLongestNapUs = 1000;

// Tried again and again, as the lock on the file is: std::timed_mutex locks in a way that ThreadSanitizer does not see.
bool lock_mutex(std::mutex& mutex, port::Deadline deadline) {
  for (std::uint64_t nap_us = kFirstNapUs; !mutex.try_lock(); nap_us = std::min(2 * nap_us, kLongestNapUs)) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(nap_us));
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<WriteLock>> WriteLock::open(int format_dir, const char* name) {
  Result<port::Fd> file = port::open_at(format_dir, name, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!file) return std::move(file).error();
  Result<port::FileId> id = port::file_id(file->get());
  if (!id) return std::move(id).error();
  return std::unique_ptr<WriteLock>(new WriteLock(format_dir, name, port::LockFile(std::move(*file)), *id));
}

Result<WriteLock::Held> WriteLock::acquire(port::Deadline deadline) {
  if (!lock_mutex(mutex_, deadline)) return make_error(TLC_TIMEOUT, "another thread kept the store's lock too long");
  std::unique_lock guard(mutex_, std::adopt_lock);
  const Result<bool> got = port::lock_until(file_.get(), 0, 1, port::LockMode::exclusive, deadline);
  if (!got) return got.error();
  if (!*got) return make_error(TLC_TIMEOUT, "another process kept the store's lock too long");
  if (!port::is_named(id_, dir_, name_)) {
    (void)port::unlock(file_.get(), 0, 1);
    return make_error(kReplaced, "the store's folder was removed or replaced");
  }
  guard.release();
  return Held(this);
}

WriteLock::Held::~Held() {
  if (lock_ == nullptr) return;
  (void)port::unlock(lock_->file_.get(), 0, 1);
  lock_->mutex_.unlock();
}

}  // namespace tlc::store
