// SPDX-License-Identifier: MIT
#include "store/write_lock.hpp"

#include <fcntl.h>

#include <chrono>

#include "port/file.hpp"
#include "port/lock.hpp"
#include "store/format.hpp"

namespace tlc::store {
namespace {

bool lock_mutex(std::timed_mutex& mutex, port::Deadline deadline) {
  const std::uint64_t left = deadline.remaining_ns();
  if (left == port::Deadline::kNever) {
    mutex.lock();
    return true;
  }
  return mutex.try_lock_for(std::chrono::nanoseconds(left));
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
