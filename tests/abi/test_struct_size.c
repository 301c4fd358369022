/* SPDX-License-Identifier: MIT */
/* The rules of struct_size, seen by an application that was built with another version of the headers: older (a shorter
 * struct) gets defaults for the rest, newer (a longer one) works until it asks for what this library does not know. */
#include <sys/mman.h>
#include <unistd.h>

#include "abi_test.h"

/* A struct of `size` bytes that ends where the readable memory ends: reading or writing past it is a fault at once. */
typedef struct edge {
  char* base;
  void* at;
  size_t pages;
} edge;

static edge edge_make(size_t size, const void* content, size_t content_size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  edge e;
  e.pages = 2 * page;
  e.base = mmap(NULL, e.pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(e.base != MAP_FAILED);
  assert_int_equal(mprotect(e.base + page, page, PROT_NONE), 0);
  e.at = e.base + page - size;
  memcpy(e.at, content, content_size < size ? content_size : size);
  memcpy(e.at, &size, sizeof(size)); /* struct_size is the first member of each */
  return e;
}
static void edge_free(edge e) {
  assert_int_equal(munmap(e.base, e.pages), 0);
}

static tlc_error error;

static tlc_cache* open_in_memory(void) {
  tlc_cache_options options;
  tlc_cache* cache = NULL;
  tlc_cache_options_init(&options);
  options.flags = TLC_OPEN_MEMORY | TLC_OPEN_NO_ENV;
  assert_status(tlc_cache_open(&options, &cache, &error), TLC_OK, &error);
  return cache;
}

static tlc_artifact* put_one(tlc_cache* cache) {
  tlc_request* request = NULL;
  tlc_key* key = NULL;
  tlc_bundle* bundle = NULL;
  tlc_artifact* artifact = NULL;
  assert_status(tlc_request_create(tlc_str_from("abi"), &request, &error), TLC_OK, &error);
  assert_status(tlc_request_set_no_toolchain(request, &error), TLC_OK, &error);
  assert_status(tlc_request_add_int(request, tlc_str_from("n"), 1, 0, &error), TLC_OK, &error);
  assert_status(tlc_cache_key(cache, request, &key, &error), TLC_OK, &error);
  assert_status(tlc_bundle_create(&bundle, &error), TLC_OK, &error);
  assert_status(tlc_bundle_add(bundle, tlc_str_from("a.txt"), TLC_MEMBER_OPAQUE, "hello", 5, 0, &error), TLC_OK,
                &error);
  const tlc_status put = tlc_cache_put(cache, key, bundle, &artifact, &error);
  assert_true(put == TLC_OK || put == TLC_NOT_STORED); /* from memory */
  assert_non_null(artifact);
  tlc_bundle_destroy(bundle);
  tlc_key_release(key);
  tlc_request_destroy(request);
  return artifact;
}

static int start(void** state) {
  (void)state;
  tlc_error_init(&error);
  return 0;
}

/* ---- options: read by the library ---- */

static void init_sets_the_size_of_these_headers(void** state) {
  (void)state;
  tlc_cache_options open_options;
  tlc_compile_options compile_options;
  tlc_load_options load_options;
  memset(&open_options, 0xff, sizeof(open_options));
  tlc_cache_options_init(&open_options);
  tlc_compile_options_init(&compile_options);
  tlc_load_options_init(&load_options);
  assert_int_equal(open_options.struct_size, TLC_SIZEOF(tlc_cache_options, remotes));
  assert_int_equal(open_options.flags, 0);
  assert_int_equal(compile_options.struct_size, TLC_SIZEOF(tlc_compile_options, flags));
  assert_int_equal(load_options.struct_size, TLC_SIZEOF(tlc_load_options, member));
  assert_int_equal(error.struct_size, TLC_SIZEOF(tlc_error, message));
}

static void a_shorter_options_struct_is_read_to_its_end_only(void** state) {
  (void)state;
  /* As if `flags` had been added after the program was built: the library must not read what lies behind. */
  char folder[] = "/tmp/tlc-abi-XXXXXX";
  assert_non_null(mkdtemp(folder));
  const tlc_cache_options options = {.directory = {folder, strlen(folder)}, .limit_bytes = 64u << 20};
  edge e = edge_make(offsetof(tlc_cache_options, flags), &options, sizeof(options));
  tlc_cache* cache = NULL;
  assert_status(tlc_cache_open(e.at, &cache, &error), TLC_OK, &error);
  tlc_cache_close(cache);
  edge_free(e);
  char command[64];
  (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
  assert_int_equal(system(command), 0);
}

static void a_longer_options_struct_with_a_zero_tail_is_taken(void** state) {
  (void)state;
  tlc_cache_options options;
  tlc_cache_options_init(&options);
  options.flags = TLC_OPEN_MEMORY | TLC_OPEN_NO_ENV;
  edge e = edge_make(sizeof(options) + 24, &options, sizeof(options));
  tlc_cache* cache = NULL;
  assert_status(tlc_cache_open(e.at, &cache, &error), TLC_OK, &error);
  assert_non_null(cache);
  tlc_cache_close(cache);
  edge_free(e);
}

static void a_longer_options_struct_that_says_something_is_refused(void** state) {
  (void)state;
  tlc_cache_options options;
  tlc_cache_options_init(&options);
  options.flags = TLC_OPEN_MEMORY | TLC_OPEN_NO_ENV;
  edge e = edge_make(sizeof(options) + 24, &options, sizeof(options));
  ((char*)e.at)[sizeof(options) + 23] = 1; /* the last byte of the option that this library does not know */
  tlc_cache* cache = (tlc_cache*)e.base;
  assert_status(tlc_cache_open(e.at, &cache, &error), TLC_E_UNSUPPORTED, &error);
  assert_null(cache);
  assert_true(error.message_length > 0);
  edge_free(e);
}

static void a_struct_without_a_size_is_refused(void** state) {
  (void)state;
  tlc_cache_options options = {.flags = TLC_OPEN_MEMORY | TLC_OPEN_NO_ENV}; /* struct_size was forgotten */
  tlc_cache* cache = NULL;
  assert_status(tlc_cache_open(&options, &cache, &error), TLC_E_INVALID, &error);
  assert_null(cache);
  assert_non_null(strstr(error.message, "struct_size"));
}

static tlc_status compile_one_byte(const tlc_request* request, const tlc_key* key, tlc_bundle* bundle, tlc_log* log,
                                   tlc_error* out, void* user_data) {
  (void)request, (void)key, (void)log, (void)out;
  ++*(int*)user_data;
  return tlc_bundle_add(bundle, tlc_str_from("x"), TLC_MEMBER_OPAQUE, "x", 1, 0, out);
}

static void compile_options_follow_the_same_rules(void** state) {
  (void)state;
  tlc_cache* cache = open_in_memory();
  tlc_request* request = NULL;
  assert_status(tlc_request_create(tlc_str_from("abi"), &request, &error), TLC_OK, &error);
  assert_status(tlc_request_set_no_toolchain(request, &error), TLC_OK, &error);
  int calls = 0;
  const tlc_compile_options options = {.compile = compile_one_byte, .user_data = &calls};

  edge longer = edge_make(sizeof(options) + 8, &options, sizeof(options));
  ((char*)longer.at)[sizeof(options)] = 1;
  tlc_artifact* artifact = NULL;
  assert_status(tlc_cache_get_or_compile(cache, request, longer.at, &artifact, NULL, &error), TLC_E_UNSUPPORTED,
                &error);
  assert_int_equal(calls, 0);
  edge_free(longer);

  edge shorter = edge_make(offsetof(tlc_compile_options, destroy), &options, sizeof(options));
  assert_status(tlc_cache_get_or_compile(cache, request, shorter.at, &artifact, NULL, &error), TLC_OK, &error);
  assert_int_equal(calls, 1);
  edge_free(shorter);
  tlc_artifact_release(artifact);
  tlc_request_destroy(request);
  tlc_cache_close(cache);
}

/* ---- results: written by the library ---- */

static void a_shorter_result_struct_is_written_to_its_end_only(void** state) {
  (void)state;
  tlc_cache* cache = open_in_memory();
  tlc_artifact* artifact = put_one(cache);

  edge info = edge_make(offsetof(tlc_artifact_info, generation), "", 0);
  assert_status(tlc_artifact_get_info(artifact, info.at, &error), TLC_OK, &error);
  const tlc_artifact_info* got = info.at;
  assert_int_equal(got->struct_size, offsetof(tlc_artifact_info, generation));
  assert_int_equal(got->name_space.len, 3);
  assert_memory_equal(got->name_space.data, "abi", 3);
  edge_free(info);

  edge stats = edge_make(offsetof(tlc_stats, misses), "", 0);
  assert_status(tlc_cache_get_stats(cache, tlc_str_from(""), stats.at, &error), TLC_OK, &error);
  edge_free(stats);

  edge member = edge_make(offsetof(tlc_member, type), "", 0);
  assert_status(tlc_artifact_member_at(artifact, 0, member.at, &error), TLC_OK, &error);
  assert_int_equal(((const tlc_member*)member.at)->size, 5);
  edge_free(member);

  tlc_artifact_release(artifact);
  tlc_cache_close(cache);
}

static void what_a_longer_result_struct_has_more_is_cleared(void** state) {
  (void)state;
  tlc_cache* cache = open_in_memory();
  tlc_artifact* artifact = put_one(cache);
  struct {
    tlc_member member;
    uint64_t more;
  } newer;
  memset(&newer, 0x5a, sizeof(newer));
  newer.member.struct_size = sizeof(newer);
  assert_status(tlc_artifact_find(artifact, tlc_str_from("a.txt"), &newer.member, &error), TLC_OK, &error);
  assert_int_equal(newer.member.size, 5);
  assert_int_equal(newer.more, 0);
  tlc_artifact_release(artifact);
  tlc_cache_close(cache);
}

static void a_shorter_error_is_written_to_its_end_only(void** state) {
  (void)state;
  tlc_key* key = NULL;
  edge e = edge_make(offsetof(tlc_error, message) + 16, "", 0); /* a version with a shorter text */
  assert_int_equal(tlc_key_decode("nonsense", 8, &key, e.at), TLC_E_INVALID);
  const tlc_error* got = e.at;
  assert_int_equal(got->code, TLC_E_INVALID);
  assert_true(memchr(got->message, 0, 16) != NULL); /* cut, and still ends */
  edge_free(e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(init_sets_the_size_of_these_headers, start),
      cmocka_unit_test_setup(a_shorter_options_struct_is_read_to_its_end_only, start),
      cmocka_unit_test_setup(a_longer_options_struct_with_a_zero_tail_is_taken, start),
      cmocka_unit_test_setup(a_longer_options_struct_that_says_something_is_refused, start),
      cmocka_unit_test_setup(a_struct_without_a_size_is_refused, start),
      cmocka_unit_test_setup(compile_options_follow_the_same_rules, start),
      cmocka_unit_test_setup(a_shorter_result_struct_is_written_to_its_end_only, start),
      cmocka_unit_test_setup(what_a_longer_result_struct_has_more_is_cleared, start),
      cmocka_unit_test_setup(a_shorter_error_is_written_to_its_end_only, start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
