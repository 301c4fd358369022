// SPDX-License-Identifier: MIT
// Settings: sizes, switches, and who wins.
#include "cache/settings.hpp"

#include <stdlib.h>
#include <string.h>

#include "tlc_test.hpp"
#include "tlcache/tlcache.h"

using namespace tlc::cache;  // NOLINT

namespace {

void test_sizes(void**) {
  assert_u64(*parse_size("0"), 0);
  assert_u64(*parse_size("123"), 123);
  assert_u64(*parse_size("1K"), 1024);
  assert_u64(*parse_size("2m"), 2U << 20);
  assert_u64(*parse_size("3GiB"), std::uint64_t{3} << 30);
  assert_u64(*parse_size("1TB"), std::uint64_t{1} << 40);
  for (const char* bad : {"", "G", "1X", "-1", "1.5G", "1G ", "99999999999999999999", "99999999999T", "1iB2"})
    assert_false(parse_size(bad).has_value());
}

void test_the_environment_wins(void**) {
  ::setenv("TLC_LIMIT", "64M", 1);
  ::setenv("TLC_READONLY", "1", 1);
  ::setenv("TLC_TRACE", "/t", 1);
  const auto settings = make_settings("/x", 1 << 20, 0);
  assert_true(settings.ok());
  assert_u64(settings->limit, 64U << 20);
  assert_true(settings->read_only);
  assert_string_equal(settings->trace.c_str(), "/t");
  const auto without = make_settings("/x", 1 << 20, TLC_OPEN_NO_ENV);
  assert_u64(without->limit, 1U << 20);
  assert_false(without->read_only);
  assert_true(without->trace.empty());
  ::setenv("TLC_LIMIT", "lots", 1);
  const auto bad = make_settings("/x", 0, 0);
  assert_false(bad.ok());
  assert_non_null(strstr(bad.error().message.c_str(), "TLC_LIMIT"));
  ::setenv("TLC_LIMIT", "", 1);
  ::setenv("TLC_READONLY", "perhaps", 1);
  assert_false(make_settings("/x", 0, 0).ok());
  ::unsetenv("TLC_LIMIT");
  ::unsetenv("TLC_TRACE");
  ::unsetenv("TLC_READONLY");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_the_environment_wins),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
