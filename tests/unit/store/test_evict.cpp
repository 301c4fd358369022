// SPDX-License-Identifier: MIT
// Eviction in one process: what stays, what is written again, and that what was removed or replaced does not come back.
#include <filesystem>

#include "port/clock.hpp"
#include "store_support.hpp"
#include "tlc_test.hpp"

using namespace tlc;         // NOLINT
using namespace tlc::store;  // NOLINT
using test::key_of;
using test::StoreFixture;

namespace {

constexpr std::uint64_t kLimit = std::uint64_t{16} << 20;
constexpr std::size_t kSmall = 50'000, kLarge = 100'000;
constexpr std::uint64_t kCheapUs = 5'000, kDearUs = 60'000'000;

void put(StoreFixture& store, std::uint64_t seed, std::size_t size, std::uint64_t compile_us) {
  store.compile_us = compile_us;
  const PutResult done = store.put(seed, size);
  assert_true_msg(done.status == TLC_OK, "%s", done.reason.c_str());
}

/// Cheap entries, as many as fill the store this often.
void turn_over(StoreFixture& store, unsigned times, std::uint64_t first_seed) {
  for (std::uint64_t i = 0; i < times * kLimit / kLarge; ++i) put(store, first_seed + i, kLarge, kCheapUs);
}

void reopen(StoreFixture& store) {
  store.close();  // nothing is found because this process still has it
  store.open();
}

void test_what_costs_most_stays(void**) {
  StoreFixture store(kLimit);
  std::uint64_t segments[20], sequences[20];
  for (std::uint64_t i = 0; i < 20; ++i) {
    put(store, 1 + i, kSmall, kDearUs);
    const Found found = store->get(key_of(1 + i));
    segments[i] = found.artifact->header().segment;
    sequences[i] = found.artifact->header().sequence;
    for (std::uint64_t j = 0; j < 9; ++j) put(store, 1000 + 10 * i + j, kLarge, kCheapUs);
  }
  turn_over(store, 3, 10'000);
  reopen(store);
  unsigned moved = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    assert_true(store.has(1 + i, kSmall));
    const Found found = store->get(key_of(1 + i));
    assert_u64(found.artifact->header().sequence, sequences[i]);
    moved += found.artifact->header().segment != segments[i] ? 1 : 0;
  }
  assert_true(moved > 10);
  assert_false(store.has(1000, kLarge));
}

void test_a_moved_entry_is_the_same_generation(void**) {
  StoreFixture store(kLimit);
  for (std::uint64_t i = 0; i < 5; ++i) put(store, 1 + i, kSmall, kDearUs);
  const Found held = store->get(key_of(1));
  const std::uint64_t change = store->control().header()->change.load();
  turn_over(store, 3, 10'000);
  assert_u64(store->control().header()->change.load(), change);
  const PutResult other = store.put(9, 100);
  assert_int_equal(*store->remove(key_of(9), other.sequence, RemovalReason::removed), TLC_OK);  // change moves
  const Found again = store->get(key_of(1));
  assert_ptr_equal(again.artifact.get(), held.artifact.get());
  assert_memory_equal(held.artifact->members()[0].data.data(), test::bytes_of(1, kSmall).data(), kSmall);
}

void lose_the_index(StoreFixture& store) {
  const std::string path = store.path("");
  store.close();
  std::filesystem::remove_all(path + "index-1");
  store.open();
  assert_int_equal(store.put(999'999, 10).status, TLC_OK);
  for (int i = 0; i < 100 && !store->rebuild_some(50'000'000); ++i) {
  }
}

// The tombstone, and the newer generation, lie in segments of cheap entries, which go; the old records in one that
// stays.
void test_what_was_removed_or_replaced_stays_so(void**) {
  StoreFixture store(kLimit);
  for (std::uint64_t i = 0; i < 18; ++i) put(store, 1 + i, kSmall, kDearUs);
  const std::uint64_t old = store->get(key_of(2)).artifact->header().sequence;
  turn_over(store, 1, 10'000);
  assert_int_equal(*store->remove(key_of(1), 0, RemovalReason::removed), TLC_OK);
  store.compile_us = kCheapUs;
  assert_int_equal(store.put(2, kLarge, {true, old}, "test", 77).status, TLC_OK);
  turn_over(store, 3, 20'000);
  reopen(store);
  assert_false(store.has(2, kLarge, 77));  // else this tests nothing
  assert_true(store.has(3, kSmall));
  lose_the_index(store);
  assert_true(store.has(3, kSmall));
  assert_false(store.has(1, kSmall));
  assert_false(store.has(2, kSmall));
}

trust::MacKey some_key(std::uint8_t byte) {
  trust::MacKey key;
  key.bytes.fill(byte);
  return key;
}

void test_strict_records_move_with_their_key_only(void**) {
  for (const bool with_key : {true, false}) {
    StoreFixture store(kLimit);
    store.user_key = some_key(7);
    store.open();
    for (std::uint64_t i = 0; i < 5; ++i) put(store, 1 + i, kSmall, kDearUs);
    if (!with_key) store.user_key.reset();
    reopen(store);
    turn_over(store, 3, 10'000);
    store.user_key = some_key(7);
    reopen(store);
    unsigned there = 0;
    for (std::uint64_t i = 0; i < 5; ++i) there += store.has(1 + i, kSmall) ? 1 : 0;
    if (with_key) assert_int_equal(there, 5);
    for (std::uint64_t i = 0; i < 5; ++i)  // gone, or authentic; never rejected
      assert_true(store->get(key_of(1 + i)).outcome != Outcome::rejected);
  }
}

// What a clock a day ahead stamped neither stays for ever nor goes at once.
void test_a_clock_that_jumps(void**) {
  StoreFixture store(kLimit);
  constexpr std::int64_t kDayNs = std::int64_t{24} * 3600 * 1'000'000'000;
  port::set_wall_offset_for_test(kDayNs);
  for (std::uint64_t i = 0; i < 20; ++i) put(store, 1 + i, kLarge, kCheapUs);
  port::set_wall_offset_for_test(0);
  for (std::uint64_t i = 0; i < 20; ++i) put(store, 101 + i, kSmall, kDearUs);
  turn_over(store, 3, 10'000);
  reopen(store);
  for (std::uint64_t i = 0; i < 20; ++i) assert_true(store.has(101 + i, kSmall));
  port::set_wall_offset_for_test(-kDayNs);
  turn_over(store, 1, 20'000);
  port::set_wall_offset_for_test(0);
  assert_true(store->stats().disk_bytes <= kLimit);
}

void test_collect_says_what_it_wrote_again(void**) {
  StoreFixture store(kLimit);
  for (std::uint64_t i = 0; i < 60; ++i) put(store, 1 + i, kSmall, i % 4 == 0 ? kDearUs : kCheapUs);
  const Result<GcReport> report = store->collect(std::uint64_t{4} << 20, {});
  assert_true(report.ok());
  assert_true(report->evicted_entries > 0);
  assert_true(report->moved_bytes <= report->freed_bytes);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_what_costs_most_stays),
      cmocka_unit_test(test_a_moved_entry_is_the_same_generation),
      cmocka_unit_test(test_what_was_removed_or_replaced_stays_so),
      cmocka_unit_test(test_strict_records_move_with_their_key_only),
      cmocka_unit_test(test_a_clock_that_jumps),
      cmocka_unit_test(test_collect_says_what_it_wrote_again),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
