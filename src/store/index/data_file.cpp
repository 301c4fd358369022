// SPDX-License-Identifier: MIT
#include "store/index/data_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "port/file.hpp"

namespace tlc::store {
namespace {

constexpr std::uint64_t kSmallStep = std::uint64_t{1} << 20;
constexpr std::uint64_t kLargeStep = std::uint64_t{16} << 20;
/// What a transaction of some dozens of operations dirties in pages of 4 KiB, copies of branches and
/// the free list included; in the largest pages one of a few. No more is asked for there: a smaller
/// room lets the removals of a full disk begin, and a commit that finds none fails as a whole.
constexpr std::uint64_t kLeastRoom = std::uint64_t{512} << 10;

std::uint64_t nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

void store_signature(int file, IndexControl& control) {
  struct stat status {};
  if (fstat(file, &status) != 0) status = {};  // inode 0: no file has it
  control.file_size.store(static_cast<std::uint64_t>(status.st_size), std::memory_order_relaxed);
  control.file_mtime_ns.store(nanoseconds(status.st_mtim), std::memory_order_relaxed);
  control.file_ctime_ns.store(nanoseconds(status.st_ctim), std::memory_order_relaxed);
  control.file_ino.store(status.st_ino, std::memory_order_relaxed);
}

bool signature_matches(int file, const IndexControl& control) {
  struct stat status {};
  return fstat(file, &status) == 0 &&
         control.file_size.load(std::memory_order_relaxed) == static_cast<std::uint64_t>(status.st_size) &&
         control.file_mtime_ns.load(std::memory_order_relaxed) == nanoseconds(status.st_mtim) &&
         control.file_ctime_ns.load(std::memory_order_relaxed) == nanoseconds(status.st_ctim) &&
         control.file_ino.load(std::memory_order_relaxed) == status.st_ino;
}

Result<void> make_room(int file, std::uint64_t used_bytes, std::uint64_t free_bytes, std::size_t map_size) {
  struct stat status {};
  if (fstat(file, &status) != 0) return io_error(errno, "cannot stat the index data file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t step = size < kLargeStep ? kSmallStep : kLargeStep;
  const std::uint64_t room = size > used_bytes ? size - used_bytes : 0;
  if (room >= step / 2 || size >= map_size) return {};
  const std::uint64_t target = std::min<std::uint64_t>((used_bytes / step + 2) * step, map_size);
  auto made = port::preallocate(file, static_cast<off_t>(size), static_cast<off_t>(target - size));
  if (made.ok() || room + free_bytes >= kLeastRoom) return {};
  return Error{TLC_NOT_STORED, made.error().sys_errno, 0, "no room for the index on its disk: " + made.error().message};
}

}  // namespace tlc::store
