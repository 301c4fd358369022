// SPDX-License-Identifier: MIT
// Built twice: as it is, and (TLC_NO_WIPE) with a madvise that knows no wiping, as on old kernels.
#include "tlc_test.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "port/fork.hpp"
#include "scratch.hpp"

#ifdef TLC_NO_WIPE
static int madvise_calls = 0;
extern "C" int __wrap_madvise(void*, size_t, int) {  // NOLINT: the linker's name
  ++madvise_calls;
  errno = EINVAL;
  return -1;
}
#endif

using namespace tlc;
using namespace tlc::port;

namespace {

void threads_that_ask_first_agree(void**) {
  std::array<std::uint64_t, 8> seen{};
  std::atomic<int> waiting{0};
  std::vector<std::thread> threads;
  threads.reserve(seen.size());
  for (auto& place : seen) {
    threads.emplace_back([&] {
      ++waiting;
      while (waiting.load() < static_cast<int>(seen.size())) std::this_thread::yield();
      place = fork_epoch();
    });
  }
  for (auto& thread : threads) thread.join();
  assert_true(seen[0] != 0);
  for (const auto epoch : seen) assert_u64(epoch, seen[0]);
  assert_u64(fork_epoch(), seen[0]);
#ifdef TLC_NO_WIPE
  assert_int_equal(madvise_calls, 1);
#endif
}

/// 0 if the epoch is new and stays, in this process and its own child.
int check_child(std::uint64_t parent) {
  const std::uint64_t own = fork_epoch();
  if (own == 0 || own == parent || own != fork_epoch()) return 1;
  const int code = test::in_child([&] {
    const std::uint64_t inner = fork_epoch();
    return inner != 0 && inner != own && inner != parent ? 0 : 1;
  });
  if (code != 0) return 2;
  return own == fork_epoch() ? 0 : 3;
}

void a_forked_child_has_another_epoch(void**) {
  const std::uint64_t parent = fork_epoch();
  assert_int_equal(test::in_child([&] { return check_child(parent); }), 0);
  assert_u64(fork_epoch(), parent);
}

#ifndef TLC_NO_WIPE
/// An emulator may take the advice and not follow it.
bool system_wipes() {
  const std::size_t size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* page = static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  *page = 1;
  (void)::madvise(page, size, MADV_WIPEONFORK);
  const int left = test::in_child([page] { return static_cast<int>(*page); });
  ::munmap(page, size);
  return left == 0;
}

void a_raw_clone_has_another_epoch(void**) {
  if (!system_wipes()) skip();
  const std::uint64_t parent = fork_epoch();
  const long child = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) {
    const std::uint64_t own = fork_epoch();
    ::_exit(own != 0 && own != parent && own == fork_epoch() ? 0 : 1);
  }
  assert_true(child > 0);
  assert_int_equal(test::wait_for(static_cast<pid_t>(child)), 0);
  assert_u64(fork_epoch(), parent);
}
#endif

int calls = 0;
int order_seen = 0;
void first_handler() {
  calls += 1;
}
void second_handler() {
  order_seen = calls;
}

template <int N>
void filler() {}

template <int... N>
int fill(std::integer_sequence<int, N...>) {
  return (static_cast<int>(at_fork_child(filler<N>)) + ...);
}

void handlers_run_once_in_the_child_only(void**) {
  assert_true(at_fork_child(first_handler));
  assert_true(at_fork_child(second_handler));
  assert_true(at_fork_child(first_handler));
  assert_int_equal(test::in_child([] { return calls * 10 + order_seen; }), 11);
  assert_int_equal(calls, 0);
  const int code = test::in_child([] {
    calls = 0;
    const int taken = fill(std::make_integer_sequence<int, 20>());
    return taken == 14 && at_fork_child(first_handler) ? 0 : 1;
  });
  assert_int_equal(code, 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(threads_that_ask_first_agree),
      cmocka_unit_test(a_forked_child_has_another_epoch),
#ifndef TLC_NO_WIPE
      cmocka_unit_test(a_raw_clone_has_another_epoch),
#endif
      cmocka_unit_test(handlers_run_once_in_the_child_only),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
