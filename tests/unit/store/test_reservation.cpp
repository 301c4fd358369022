// SPDX-License-Identifier: MIT
// Reservations: together never over the limit, given back, and not lost with a killed process.
#include "store/reservation.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tlc_test.hpp"

using namespace tlc::store;  // NOLINT

namespace {

std::unique_ptr<ControlHeader> fresh() {
  return std::unique_ptr<ControlHeader>(new ControlHeader());
}

void test_taken_and_given_back(void**) {
  const auto control = fresh();
  control->used_bytes = 1000;
  {
    auto first = Reservation::take(*control, 6400, 10'000);
    assert_true(first.has_value());
    assert_u64(reserved_bytes(*control), 6400);
    assert_false(Reservation::take(*control, 3200, 10'000).has_value());
    auto second = Reservation::take(*control, 2560, 10'000);
    assert_true(second.has_value());
    second->settle(2500);
    assert_u64(reserved_bytes(*control), 6400);
    assert_u64(control->used_bytes.load(), 3500);
  }
  assert_u64(reserved_bytes(*control), 0);
  assert_u64(control->used_bytes.load(), 3500);
}

// As a process that was killed leaves it: the word stays, and half minutes pass.
void test_what_was_not_given_back_counts_for_a_minute(void**) {
  const auto control = fresh();
  // Never destroyed, like that of a killed process.
  alignas(Reservation) std::array<std::byte, sizeof(Reservation)> lost;
  std::optional<Reservation> taken = Reservation::take(*control, 6400, 10'000);
  assert_true(taken.has_value());
  new (lost.data()) Reservation(std::move(*taken));
  assert_false(Reservation::take(*control, 6400, 10'000).has_value());
  for (SharedWord& word : control->pending) {
    const std::uint64_t value = word.load();
    if (value != 0) word.store(value - (std::uint64_t{2} << 40));  // two half minutes older
  }
  assert_u64(reserved_bytes(*control), 0);
  assert_true(Reservation::take(*control, 6400, 10'000).has_value());
}

void test_threads_together_stay_under_the_limit(void**) {
  constexpr std::uint64_t kLimit = 64 * 1000;
  const auto control = fresh();
  std::atomic<std::uint64_t> held{0}, most{0}, taken{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 20'000; ++i) {
        const std::uint64_t bytes = 64 * (1 + (i * 7 + t) % 300);
        auto room = Reservation::take(*control, bytes, kLimit);
        if (!room) continue;
        ++taken;
        const std::uint64_t now = held.fetch_add(bytes) + bytes;
        std::uint64_t seen = most.load();
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        held.fetch_sub(bytes);
        if (i % 2 == 0) {
          room->settle(64);
          control->used_bytes.fetch_sub(64);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  assert_true(taken.load() > 0);
  assert_true(most.load() <= kLimit);
  assert_u64(reserved_bytes(*control), 0);
  assert_u64(control->used_bytes.load(), 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_taken_and_given_back),
      cmocka_unit_test(test_what_was_not_given_back_counts_for_a_minute),
      cmocka_unit_test(test_threads_together_stay_under_the_limit),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
