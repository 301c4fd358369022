// SPDX-License-Identifier: MIT
// The policy: what goes first, and what of it is kept.
#include "store/policy.hpp"

#include "tlc_test.hpp"

using namespace tlc::store;  // NOLINT

namespace {

PolicyEntry entry(std::uint64_t segment, std::uint64_t offset, std::uint64_t bytes, std::uint32_t compile_ms,
                  std::uint32_t made = 100, std::uint32_t used = 0) {
  PolicyEntry made_entry;
  made_entry.segment = segment;
  made_entry.offset = offset;
  made_entry.bytes = bytes;
  made_entry.sequence = segment * 1000 + offset;
  made_entry.name_space = 1;
  made_entry.compile_ms = compile_ms;
  made_entry.made_minute = made;
  made_entry.used_minute = used;
  return made_entry;
}

std::vector<std::uint64_t> order(const std::vector<Victim>& plan) {
  std::vector<std::uint64_t> ids;
  for (const Victim& victim : plan) ids.push_back(victim.segment);
  return ids;
}

void assert_order(const std::vector<Victim>& plan, const std::vector<std::uint64_t>& wanted) {
  assert_true(order(plan) == wanted);
}

const std::vector<PolicySegment> kThree = {{1, 1000}, {2, 1000}, {3, 1000}};

void test_what_is_empty_goes_first(void**) {
  assert_order(plan_eviction(kThree, {entry(1, 0, 900, 500), entry(3, 0, 900, 500)}, true), {2, 1, 3});
}

void test_without_entries_the_oldest_goes_first(void**) {
  assert_order(plan_eviction({{3, 1}, {1, 1}, {2, 1}}, {}, true), {1, 2, 3});
}

void test_what_is_cheap_to_compile_goes_before_what_is_old(void**) {
  assert_order(plan_eviction(kThree, {entry(1, 0, 900, 60000), entry(2, 0, 900, 60000), entry(3, 0, 900, 10)}, true),
               {3, 1, 2});
}

void test_what_was_used_last_goes_last(void**) {
  assert_order(
      plan_eviction(kThree,
                    {entry(1, 0, 900, 100, 100, 900), entry(2, 0, 900, 100, 100, 200), entry(3, 0, 900, 100, 100, 500)},
                    true),
      {2, 3, 1});
}

// Only the order of stamps counts: a day more between them, or stamps of tomorrow, change nothing.
void test_clocks_may_jump(void**) {
  for (const std::uint32_t jump : {0U, 1440U, 5'000'000U})
    assert_order(plan_eviction(kThree,
                               {entry(1, 0, 900, 100, 100, 900 + jump), entry(2, 0, 900, 100, 100, 200),
                                entry(3, 0, 900, 100, 100, 500 + jump)},
                               true),
                 {2, 3, 1});
}

void test_the_best_of_a_segment_is_kept_to_half_of_it(void**) {
  std::vector<PolicyEntry> entries;
  for (std::uint32_t i = 0; i < 10; ++i) entries.push_back(entry(1, i, 100, i % 2 == 0 ? 3000 + i : 900));
  entries.push_back(entry(2, 0, 1000, 100'000));
  entries.push_back(entry(3, 0, 1000, 100'000));
  PolicyNumbers numbers;
  numbers.least_kept = 0;
  const std::vector<Victim> plan = plan_eviction(kThree, entries, true, numbers);
  assert_u64(plan[0].segment, 1);
  assert_true((plan[0].kept == std::vector<std::uint64_t>{0, 2, 4, 6, 8}));
  assert_true(plan_eviction(kThree, entries, false, numbers)[0].kept.empty());  // a full disk
}

void test_what_is_not_worth_it_is_not_kept(void**) {
  std::vector<PolicyEntry> entries = {entry(1, 0, 100, 1), entry(1, 1, 100, 60000), entry(2, 0, 900, 60000)};
  assert_true((plan_eviction({{1, 1000}, {2, 900}}, entries, true)[0].kept == std::vector<std::uint64_t>{1}));
  entries[1].movable = false;
  assert_true(plan_eviction({{1, 1000}, {2, 900}}, entries, true)[0].kept.empty());
}

void test_a_single_entry_is_not_copied(void**) {
  for (const Victim& victim : plan_eviction(kThree, {entry(1, 64, 300, 60000), entry(2, 64, 900, 1)}, true))
    assert_true(victim.kept.empty());
}

// Links, and what frameworks put without saying what it cost, count as the mean of their namespace.
void test_unstated_compile_times(void**) {
  std::vector<PolicyEntry> entries = {entry(1, 0, 900, 0), entry(2, 0, 900, 1000), entry(3, 0, 900, 3000)};
  entries[1].sequence = entries[0].sequence = entries[2].sequence = 7;
  const std::vector<Victim> plan = plan_eviction(kThree, entries, true);
  assert_u64(plan[0].segment, 2);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_empty_goes_first),
      cmocka_unit_test(test_without_entries_the_oldest_goes_first),
      cmocka_unit_test(test_what_is_cheap_to_compile_goes_before_what_is_old),
      cmocka_unit_test(test_what_was_used_last_goes_last),
      cmocka_unit_test(test_clocks_may_jump),
      cmocka_unit_test(test_the_best_of_a_segment_is_kept_to_half_of_it),
      cmocka_unit_test(test_what_is_not_worth_it_is_not_kept),
      cmocka_unit_test(test_a_single_entry_is_not_copied),
      cmocka_unit_test(test_unstated_compile_times),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
