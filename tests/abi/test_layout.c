/* SPDX-License-Identifier: MIT */
/* tlc_abi_layout() and tlc_abi_constants() against what this C compiler makes of the headers, both ways. */
#include "abi_test.h"

static const tlc_layout kExpected[] = {
#define SLOT(type, member, offset, size) {#type, #member, offsetof(type, member), sizeof(((type*)0)->member)},
#define CONSTANT(name, value)
#include "slots.inc"
#undef SLOT
#undef CONSTANT
};
static const tlc_constant kConstants[] = {
#define SLOT(type, member, offset, size)
#define CONSTANT(name, value) {#name, (int64_t)(name)},
#include "slots.inc"
#undef SLOT
#undef CONSTANT
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const tlc_layout* find_layout(const char* type, const char* member) {
  size_t count = 0;
  const tlc_layout* rows = tlc_abi_layout(&count);
  for (size_t i = 0; i < count; ++i) {
    const int same =
        member == NULL ? rows[i].member == NULL : rows[i].member != NULL && strcmp(rows[i].member, member) == 0;
    if (same && strcmp(rows[i].struct_name, type) == 0) return &rows[i];
  }
  return NULL;
}

static const tlc_constant* find_constant(const char* name) {
  size_t count = 0;
  const tlc_constant* rows = tlc_abi_constants(&count);
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  }
  return NULL;
}

static void every_member_is_listed_where_the_compiler_puts_it(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT(kExpected); ++i) {
    const tlc_layout* row = find_layout(kExpected[i].struct_name, kExpected[i].member);
    if (row == NULL) fail_msg("%s.%s is not listed", kExpected[i].struct_name, kExpected[i].member);
    assert_int_equal(row->offset, kExpected[i].offset);
    assert_int_equal(row->size, kExpected[i].size);
  }
}

static void nothing_else_is_listed(void** state) {
  (void)state;
  size_t count = 0;
  size_t members = 0;
  const tlc_layout* rows = tlc_abi_layout(&count);
  for (size_t i = 0; i < count; ++i) members += rows[i].member != NULL;
  assert_int_equal(members, COUNT(kExpected));
}

static void structs_are_listed_with_their_sizes(void** state) {
  (void)state;
  const struct {
    const char* name;
    size_t size;
  } sizes[] = {{"tlc_str", sizeof(tlc_str)},
               {"tlc_error", sizeof(tlc_error)},
               {"tlc_cache_options", sizeof(tlc_cache_options)},
               {"tlc_stats", sizeof(tlc_stats)},
               {"tlc_backend_ops", sizeof(tlc_backend_ops)},
               {"tlc_host_api", sizeof(tlc_host_api)},
               {"tlc_plugin_desc", sizeof(tlc_plugin_desc)},
               {"tlc_remote_ops", sizeof(tlc_remote_ops)}};
  for (size_t i = 0; i < COUNT(sizes); ++i) {
    const tlc_layout* row = find_layout(sizes[i].name, NULL);
    if (row == NULL) fail_msg("struct %s is not listed", sizes[i].name);
    assert_int_equal(row->size, sizes[i].size);
    assert_int_equal(row->offset, 0);
  }
}

static void every_constant_is_listed_with_its_value(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT(kConstants); ++i) {
    const tlc_constant* row = find_constant(kConstants[i].name);
    if (row == NULL) fail_msg("%s is not listed", kConstants[i].name);
    assert_true(row->value == kConstants[i].value);
  }
  assert_true(find_constant("TLC_VERSION")->value == TLC_VERSION);
  assert_true(find_constant("TLC_BACKEND_OPS_SIZE")->value == TLC_BACKEND_OPS_SIZE);
}

static void a_null_count_is_fine(void** state) {
  (void)state;
  assert_non_null(tlc_abi_layout(NULL));
  assert_non_null(tlc_abi_constants(NULL));
}

/* In another file: what the compiler asserted there is part of this program. */
extern const char* tlc_slot_offsets_checked(void);

static void offsets_were_asserted(void** state) {
  (void)state;
  assert_string_equal(tlc_slot_offsets_checked(), "slots.inc");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_member_is_listed_where_the_compiler_puts_it),
      cmocka_unit_test(nothing_else_is_listed),
      cmocka_unit_test(structs_are_listed_with_their_sizes),
      cmocka_unit_test(every_constant_is_listed_with_its_value),
      cmocka_unit_test(a_null_count_is_fine),
      cmocka_unit_test(offsets_were_asserted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
