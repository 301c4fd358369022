// SPDX-License-Identifier: MIT
#include "tlc_test.hpp"

#include <fcntl.h>

#include "port/file.hpp"
#include "port/lock.hpp"
#include "scratch.hpp"

using namespace tlc;
using namespace tlc::port;
using tlc::test::Scratch;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

Fd open_lock(const Scratch& scratch) {
  auto fd = open_at(AT_FDCWD, scratch.path("lock").c_str(), O_RDWR | O_CREAT, 0600);
  assert_true(fd.ok());
  return std::move(*fd);
}

/// What a process that opens the file anew gets: 1 the lock, 0 not, 2 an error.
int try_elsewhere(const Scratch& scratch, std::uint64_t start, std::uint64_t len, LockMode mode) {
  return test::in_child([&] {
    auto fd = open_at(AT_FDCWD, scratch.path("lock").c_str(), O_RDWR);
    if (!fd) return 2;
    auto got = try_lock(fd->get(), start, len, mode);
    return got ? static_cast<int>(*got) : 2;
  });
}

void processes_exclude_each_other_by_range(void**) {
  const Scratch scratch;
  const Fd fd = open_lock(scratch);
  assert_true(*try_lock(fd.get(), 10, 10, LockMode::exclusive));
  assert_int_equal(try_elsewhere(scratch, 10, 10, LockMode::exclusive), 0);
  assert_int_equal(try_elsewhere(scratch, 19, 1, LockMode::shared), 0);
  assert_int_equal(try_elsewhere(scratch, 0, 0, LockMode::exclusive), 0);
  assert_int_equal(try_elsewhere(scratch, 20, 5, LockMode::exclusive), 1);
  assert_true(unlock(fd.get(), 10, 10).ok());
  assert_int_equal(try_elsewhere(scratch, 10, 10, LockMode::exclusive), 1);
}

void shared_locks_go_together(void**) {
  const Scratch scratch;
  const Fd fd = open_lock(scratch);
  assert_true(*try_lock(fd.get(), 0, 1, LockMode::shared));
  assert_int_equal(try_elsewhere(scratch, 0, 1, LockMode::shared), 1);
  assert_int_equal(try_elsewhere(scratch, 0, 1, LockMode::exclusive), 0);
}

void two_openings_in_one_process_exclude_each_other(void**) {
  const Scratch scratch;
  const Fd first = open_lock(scratch);
  Fd second = open_lock(scratch);
  assert_true(*try_lock(first.get(), 0, 1, LockMode::exclusive));
  assert_false(*try_lock(second.get(), 0, 1, LockMode::exclusive));
  second.reset();  // the POSIX kind would lose the first one's lock here
  assert_int_equal(try_elsewhere(scratch, 0, 1, LockMode::exclusive), 0);
}

void waiting_ends_at_the_deadline(void**) {
  const Scratch scratch;
  const Fd first = open_lock(scratch);
  const Fd second = open_lock(scratch);
  assert_true(*try_lock(first.get(), 0, 1, LockMode::exclusive));
  const std::uint64_t start = monotonic_ns();
  auto got = lock_until(second.get(), 0, 1, LockMode::exclusive, Deadline::after_ms(60));
  const std::uint64_t waited = monotonic_ns() - start;
  assert_true(got.ok());
  assert_false(*got);
  assert_true_msg(waited >= 60 * kMs && waited < 5000 * kMs, "%llu ns", (unsigned long long)waited);
  assert_false(*lock_until(second.get(), 0, 1, LockMode::exclusive, Deadline::already()));
  assert_true(*lock_until(second.get(), 5, 1, LockMode::exclusive, Deadline::already()));
}

void a_waiter_goes_on_when_the_holder_is_killed(void**) {
  const Scratch scratch;
  const Fd fd = open_lock(scratch);
  int pipe_ends[2];
  assert_int_equal(::pipe(pipe_ends), 0);
  const pid_t holder = test::start_child([&] {
    auto own = open_at(AT_FDCWD, scratch.path("lock").c_str(), O_RDWR);
    auto got = try_lock(own->get(), 0, 1, LockMode::exclusive);
    const char answer = got && *got ? 'y' : 'n';
    if (::write(pipe_ends[1], &answer, 1) != 1) return 1;
    ::sleep(60);
    return 0;
  });
  char answer = 0;
  assert_int_equal(::read(pipe_ends[0], &answer, 1), 1);
  assert_int_equal(answer, 'y');
  assert_false(*try_lock(fd.get(), 0, 1, LockMode::exclusive));
  assert_int_equal(::kill(holder, SIGKILL), 0);
  assert_true(*lock_until(fd.get(), 0, 1, LockMode::exclusive, Deadline::after_ms(10000)));
  assert_int_equal(test::wait_for(holder), 1000 + SIGKILL);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

void a_counter_under_the_lock_loses_no_step(void**) {
  constexpr int kProcesses = 4;
  constexpr int kSteps = 200;
  const Scratch scratch;
  const Fd fd = open_lock(scratch);
  int value = 0;
  assert_true(pwrite_full(fd.get(), &value, sizeof value, 0).ok());
  std::array<pid_t, kProcesses> children{};
  for (pid_t& child : children) {
    child = test::start_child([&] {
      auto own = open_at(AT_FDCWD, scratch.path("lock").c_str(), O_RDWR);
      for (int i = 0; i < kSteps; ++i) {
        auto got = lock_until(own->get(), 100, 1, LockMode::exclusive, Deadline::never());
        if (!got || !*got) return 1;
        int counter = 0;
        if (!pread_full(own->get(), &counter, sizeof counter, 0)) return 1;
        ++counter;
        if (!pwrite_full(own->get(), &counter, sizeof counter, 0)) return 1;
        if (!unlock(own->get(), 100, 1)) return 1;
      }
      return 0;
    });
  }
  for (const pid_t child : children) assert_int_equal(test::wait_for(child), 0);
  assert_u64(*pread_full(fd.get(), &value, sizeof value, 0), sizeof value);
  assert_int_equal(value, kProcesses * kSteps);
}

void a_replaced_lock_file_is_noticed(void**) {
  const Scratch scratch;
  const Fd fd = open_lock(scratch);
  auto dir = open_at(AT_FDCWD, scratch.path().c_str(), O_RDONLY | O_DIRECTORY);
  assert_true(*same_file(fd.get(), dir->get(), "lock"));
  assert_true(write_file_atomic_at(dir->get(), "lock", "", 0600, false).ok());
  assert_false(*same_file(fd.get(), dir->get(), "lock"));
  assert_int_equal(::unlinkat(dir->get(), "lock", 0), 0);
  assert_false(*same_file(fd.get(), dir->get(), "lock"));
}

void impossible_ranges_and_descriptors_are_errors(void**) {
  const Scratch scratch;
  const Fd fd = open_lock(scratch);
  assert_false(try_lock(fd.get(), UINT64_MAX, 1, LockMode::shared).ok());
  assert_false(try_lock(fd.get(), 1, UINT64_MAX, LockMode::shared).ok());
  assert_false(try_lock(-1, 0, 1, LockMode::shared).ok());
  assert_false(lock_until(-1, 0, 1, LockMode::shared, Deadline::never()).ok());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(processes_exclude_each_other_by_range),
      cmocka_unit_test(shared_locks_go_together),
      cmocka_unit_test(two_openings_in_one_process_exclude_each_other),
      cmocka_unit_test(waiting_ends_at_the_deadline),
      cmocka_unit_test(a_waiter_goes_on_when_the_holder_is_killed),
      cmocka_unit_test(a_counter_under_the_lock_loses_no_step),
      cmocka_unit_test(a_replaced_lock_file_is_noticed),
      cmocka_unit_test(impossible_ranges_and_descriptors_are_errors),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
