/* SPDX-License-Identifier: MIT */
/* Status values, pinned by hand: programs and bindings have them compiled in. And what the library says of each. */
#include "abi_test.h"

static const struct {
  const char* name;
  tlc_status constant;
  tlc_status value;
} kStatus[] = {
#define STATUS(name, value) \
  { #name, name, value }
    STATUS(TLC_OK, 0),
    STATUS(TLC_MISS, 1),
    STATUS(TLC_REJECTED, 2),
    STATUS(TLC_NOT_STORED, 3),
    STATUS(TLC_EXISTED, 4),
    STATUS(TLC_CONFLICT, 5),
    STATUS(TLC_TIMEOUT, 6),
    STATUS(TLC_LOCKED, 7),
    STATUS(TLC_TOO_LARGE, 8),
    STATUS(TLC_E_INVALID, -1),
    STATUS(TLC_E_NOMEM, -2),
    STATUS(TLC_E_IO, -3),
    STATUS(TLC_E_INTERNAL, -4),
    STATUS(TLC_E_UNSUPPORTED, -5),
    STATUS(TLC_E_ABI, -6),
    STATUS(TLC_E_EXISTS, -7),
    STATUS(TLC_E_NOT_FOUND, -8),
    STATUS(TLC_E_UNCACHEABLE, -9),
    STATUS(TLC_E_COMPILE, -10),
    STATUS(TLC_E_LOAD, -11),
    STATUS(TLC_E_UNAVAILABLE, -12),
    STATUS(TLC_E_CANCELLED, -13),
    STATUS(TLC_E_FORKED, -14),
    STATUS(TLC_E_CALLBACK, -15),
    STATUS(TLC_E_DENIED, -16),
    STATUS(TLC_E_BUSY, -17),
    STATUS(TLC_E_CORRUPT, -18),
};
#define COUNT (sizeof(kStatus) / sizeof(kStatus[0]))

static void values_are_the_released_ones(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT; ++i) {
    if (kStatus[i].constant != kStatus[i].value) {
      fail_msg("%s is %d, was released as %d", kStatus[i].name, kStatus[i].constant, kStatus[i].value);
    }
  }
}

static void each_has_its_name(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT; ++i) assert_string_equal(tlc_status_name(kStatus[i].value), kStatus[i].name);
}

static void each_has_words_of_its_own(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT; ++i) {
    assert_true(strlen(tlc_status_message(kStatus[i].value)) > 2);
    for (size_t j = 0; j < i; ++j) {
      assert_string_not_equal(tlc_status_message(kStatus[i].value), tlc_status_message(kStatus[j].value));
    }
  }
}

static void unknown_values_have_an_answer(void** state) {
  (void)state;
  const tlc_status unknown[] = {-19, 9, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); ++i) {
    assert_string_equal(tlc_status_name(unknown[i]), "?");
    assert_non_null(tlc_status_message(unknown[i]));
  }
}

static void the_library_is_the_one_of_these_headers(void** state) {
  (void)state;
  assert_int_equal(tlc_version(), TLC_VERSION);
  assert_string_equal(tlc_version_string(), TLC_VERSION_STRING);
  assert_int_equal(tlc_abi_version(), (TLC_ABI_MAJOR << 16) | TLC_ABI_MINOR);
}

/* Builds are reproducible: what the library tells of its build names no folder and no day. */
static void build_info_has_no_path_and_no_date(void** state) {
  (void)state;
  const char* info = tlc_build_info();
  assert_non_null(info);
  assert_true(strlen(info) > 0);
  assert_null(strchr(info, '/'));
  assert_null(strstr(info, __DATE__ + 7)); /* the year */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_the_released_ones),
      cmocka_unit_test(each_has_its_name),
      cmocka_unit_test(each_has_words_of_its_own),
      cmocka_unit_test(unknown_values_have_an_answer),
      cmocka_unit_test(the_library_is_the_one_of_these_headers),
      cmocka_unit_test(build_info_has_no_path_and_no_date),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
