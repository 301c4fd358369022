// SPDX-License-Identifier: MIT
#include "port/lock_files.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "port/fork.hpp"

namespace tlc::port {
namespace {

constexpr int kMostFiles = 65536;

// One bit a descriptor. A child reads it between fork and whatever it does next, so there is nothing but atomics here.
std::array<std::atomic<std::uint64_t>, kMostFiles / 64> listed;
std::atomic<std::uint64_t> owner_epoch{0};

void close_all() {
  for (int word = 0; word < kMostFiles / 64; ++word) {
    std::uint64_t bits = listed[word].exchange(0, std::memory_order_acq_rel);
    for (; bits != 0; bits &= bits - 1) ::close(word * 64 + __builtin_ctzll(bits));
  }
}

void in_child() {
  close_all();
  owner_epoch.store(0, std::memory_order_release);
}

}  // namespace

void list_lock_file(int fd) {
  static const bool registered = at_fork_child(in_child);
  (void)registered;
  if (fd < 0 || fd >= kMostFiles) return;
  close_inherited_lock_files();
  listed[fd / 64].fetch_or(std::uint64_t{1} << (fd % 64), std::memory_order_acq_rel);
}

void unlist_lock_file(int fd) {
  if (fd < 0 || fd >= kMostFiles) return;
  listed[fd / 64].fetch_and(~(std::uint64_t{1} << (fd % 64)), std::memory_order_acq_rel);
}

void close_inherited_lock_files() {
  const std::uint64_t epoch = fork_epoch();
  std::uint64_t owner = owner_epoch.load(std::memory_order_acquire);
  if (owner == epoch) return;
  if (owner != 0) close_all();
  owner_epoch.store(epoch, std::memory_order_release);
}

}  // namespace tlc::port
