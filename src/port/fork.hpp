// SPDX-License-Identifier: MIT
// Noticing a fork, a raw clone included, on the next call instead of by a handler.
//
// The epoch lives on a page that the kernel wipes in a child (MADV_WIPEONFORK, Linux 4.14). Reading
// 0 there means: this is a new process, give it a number. Where the kernel cannot wipe, a handler
// of pthread_atfork writes the 0, and a raw clone goes unnoticed.
#pragma once

#include <atomic>
#include <cstdint>

namespace tlc::port {

namespace detail {
extern constinit std::atomic<std::atomic<std::uint64_t>*> epoch_cell;
std::uint64_t new_fork_epoch();
}  // namespace detail

/// Nonzero; constant within a process; another number in each child.
[[nodiscard]] inline std::uint64_t fork_epoch() {
  const std::uint64_t epoch = detail::epoch_cell.load(std::memory_order_acquire)->load(std::memory_order_acquire);
  return epoch != 0 ? epoch : detail::new_fork_epoch();
}

/// Has `fn` called in each child right after fork (not after a raw clone), in order of
/// registration; the same function is registered once. False if all 16 places are taken. `fn` may
/// only do what a signal handler may.
[[nodiscard]] bool at_fork_child(void (*fn)());

}  // namespace tlc::port
