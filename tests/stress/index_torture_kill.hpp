// SPDX-License-Identifier: MIT
// Kill points of the index torture. In a process that is armed every write of liblmdb passes
// through here, for this program defines pwrite and writev itself: each can be delayed, or the
// process can kill itself before it, in the middle of it, or after it. The points are numbered as
// they come, so that a script can be killed at each of them in turn.
//
// Included by index_torture.cpp only: it defines what it says.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "../unit/store/index_support.hpp"

namespace tlc::test::kill_point {

enum class Arm { off, numbered, random };

inline Arm arm = Arm::off;
inline std::uint64_t countdown = 0;  // numbered: die at the point that makes it 0
inline std::uint64_t one_in = 6000;  // random: die at one point in so many
inline Random dice{1};

[[noreturn]] inline void die() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/// True: this is the point to die at.
inline bool hit() {
  if (arm == Arm::numbered) return --countdown == 0;
  return arm == Arm::random && dice.one_in(one_in);
}

inline void pass() {
  if (hit()) die();
}

inline void nap(std::uint64_t longest_ns) {
  const timespec time{0, static_cast<long>(dice.below(longest_ns))};
  nanosleep(&time, nullptr);
}

/// Now and then lets others run while a write is half done.
inline void jitter() {
  if (arm != Arm::random) return;
  const std::uint64_t throw_of = dice.below(1000);
  if (throw_of < 40) nap(200000);
  if (throw_of >= 40 && throw_of < 80) sched_yield();
}

}  // namespace tlc::test::kill_point

extern "C" {

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  namespace kp = tlc::test::kill_point;
  const auto raw = [&](size_t count) { return syscall(SYS_pwrite64, file, bytes, count, offset); };
  if (kp::arm == kp::Arm::off) return raw(size);
  kp::jitter();
  kp::pass();
  // A meta (120 bytes) is one copy into the page cache, which a signal does not split.
  if (size >= 1024 && kp::hit()) {
    (void)raw(size / 2 & ~size_t{511});
    kp::die();
  }
  const ssize_t written = raw(size);
  kp::pass();
  kp::jitter();
  return written;
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  namespace kp = tlc::test::kill_point;
  const auto raw = [&](int some) { return syscall(SYS_writev, file, parts, some); };
  if (kp::arm == kp::Arm::off) return raw(count);
  kp::jitter();
  kp::pass();
  for (int some = 1; some < count; ++some) {
    if (!kp::hit()) continue;
    (void)raw(some);
    kp::die();
  }
  const ssize_t written = raw(count);
  kp::pass();
  return written;
}

}  // extern "C"
