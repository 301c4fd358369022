// SPDX-License-Identifier: MIT
// The wipe-on-fork page and the fork handlers.
#include "port/fork.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <new>

#include "port/system.hpp"

namespace tlc::port {

namespace {

constexpr std::size_t kMaxHandlers = 16;

/// Used until the page is there, and for good where the kernel cannot wipe.
constinit std::atomic<std::uint64_t> plain_cell{0};
/// Survives a fork, so that the child's number differs from its parent's for certain.
constinit std::atomic<std::uint64_t> last_epoch{0};

constinit std::array<std::atomic<void (*)()>, kMaxHandlers> handlers{};
std::once_flag atfork_once;
std::once_flag cell_once;

void run_in_child() {
  plain_cell.store(0, std::memory_order_relaxed);
  // Emulators (qemu-user) take the advice and do not wipe.
  detail::epoch_cell.load(std::memory_order_relaxed)->store(0, std::memory_order_relaxed);
  for (auto& handler : handlers) {
    if (auto* fn = handler.load(std::memory_order_acquire)) fn();
  }
}

void register_atfork() {
  std::call_once(atfork_once, [] { ::pthread_atfork(nullptr, nullptr, run_in_child); });
}

/// A zeroed cell on a page of its own that a child finds zeroed again; nullptr if impossible.
std::atomic<std::uint64_t>* make_wiped_cell() {
#ifdef MADV_WIPEONFORK
  const std::size_t size = page_size();
  void* page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;  // NOLINT
  if (::madvise(page, size, MADV_WIPEONFORK) == 0) {
    return ::new (page) std::atomic<std::uint64_t>(0);
  }
  ::munmap(page, size);
#endif
  return nullptr;
}

void place_cell() {
  if (auto* cell = make_wiped_cell()) {
    detail::epoch_cell.store(cell, std::memory_order_release);
  }
  register_atfork();
}

}  // namespace

namespace detail {

constinit std::atomic<std::atomic<std::uint64_t>*> epoch_cell{&plain_cell};

std::uint64_t new_fork_epoch() {
  std::call_once(cell_once, place_cell);
  auto* cell = epoch_cell.load(std::memory_order_acquire);
  std::uint64_t next = 0;
  const std::uint64_t before = last_epoch.load(std::memory_order_relaxed);
  while (next == 0 || next == before) next = random_u64();
  std::uint64_t seen = 0;
  // Of several threads that find 0 at once, one number wins and all return it.
  if (!cell->compare_exchange_strong(seen, next, std::memory_order_acq_rel)) return seen;
  last_epoch.store(next, std::memory_order_relaxed);
  return next;
}

}  // namespace detail

bool at_fork_child(void (*fn)()) {
  register_atfork();
  for (auto& handler : handlers) {
    void (*free_place)() = nullptr;
    if (handler.compare_exchange_strong(free_place, fn, std::memory_order_acq_rel)) return true;
    if (free_place == fn) return true;
  }
  return false;
}

}  // namespace tlc::port
