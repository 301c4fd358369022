/* SPDX-License-Identifier: MIT */
/* Plugins built with an older and a newer ABI minor on this library: they load, compile and say clearly what they lack.
 * usage: test_minor OLD_PLUGIN NEW_PLUGIN DEMANDING_PLUGIN */
#include "abi_test.h"

static const char *old_plugin, *new_plugin, *demanding_plugin;
static tlc_error error;
static tlc_cache* cache;

static int start(void** state) {
  (void)state;
  tlc_cache_options options;
  tlc_error_init(&error);
  tlc_cache_options_init(&options);
  options.flags = TLC_OPEN_MEMORY | TLC_OPEN_NO_ENV | TLC_OPEN_ALLOW_PLUGINS;
  return tlc_cache_open(&options, &cache, &error);
}
static int end(void** state) {
  (void)state;
  tlc_cache_close(cache);
  return 0;
}

/* Compiles for `kind:x`, and checks that what came out is the plugin's. */
static tlc_artifact* compile_for(const char* kind) {
  char target[64];
  (void)snprintf(target, sizeof(target), "%s:x", kind);
  tlc_request* request = NULL;
  assert_status(tlc_request_create(tlc_str_from("abi"), &request, &error), TLC_OK, &error);
  assert_status(tlc_request_set_target(request, tlc_str_from(target), &error), TLC_OK, &error);
  tlc_artifact* artifact = NULL;
  tlc_blob* log = NULL;
  assert_status(tlc_cache_get_or_compile(cache, request, NULL, &artifact, &log, &error), TLC_OK, &error);
  size_t size = 0;
  const void* data = tlc_artifact_data(artifact, 0, &size);
  assert_int_equal(size, strlen(kind));
  assert_memory_equal(data, kind, size);
  assert_non_null(strstr(tlc_blob_data(log, NULL), kind));
  tlc_blob_release(log);
  tlc_request_destroy(request);
  return artifact;
}

static void an_older_plugin_compiles_and_lacks_only_what_it_lacks(void** state) {
  (void)state;
  assert_status(tlc_load_plugin(tlc_str_from(old_plugin), &error), TLC_OK, &error);
  tlc_artifact* artifact = compile_for("oldminor");
  tlc_module* module = NULL;
  assert_status(tlc_cache_load(cache, artifact, NULL, &module, &error), TLC_E_UNSUPPORTED, &error);
  assert_null(module);
  assert_true(error.message_length > 0);
  tlc_artifact_release(artifact);
}

static void a_newer_plugin_works_and_its_unknown_slots_are_left_alone(void** state) {
  (void)state;
  assert_status(tlc_load_plugin(tlc_str_from(new_plugin), &error), TLC_OK, &error);
  tlc_artifact_release(compile_for("newminor"));
}

static void a_plugin_that_needs_a_newer_host_is_refused_with_both_versions(void** state) {
  (void)state;
  char wants[16], is[16];
  assert_status(tlc_load_plugin(tlc_str_from(demanding_plugin), &error), TLC_E_ABI, &error);
  (void)snprintf(wants, sizeof(wants), "%d.%d", TLC_ABI_MAJOR, TLC_ABI_MINOR + 3);
  (void)snprintf(is, sizeof(is), "%d.%d", TLC_ABI_MAJOR, TLC_ABI_MINOR);
  assert_non_null(strstr(error.message, demanding_plugin));
  assert_non_null(strstr(error.message, wants));
  assert_non_null(strstr(error.message, is));
}

/* The host's table as a plugin of this version sees it. */
static void the_host_table_says_its_size_and_version(void** state) {
  (void)state;
  const tlc_host_api* host = tlc_host();
  assert_int_equal(host->struct_size, TLC_SIZEOF(tlc_host_api, cancelled));
  assert_int_equal(host->abi_major, TLC_ABI_MAJOR);
  assert_int_equal(host->abi_minor, TLC_ABI_MINOR);
  void* const* slots = (void* const*)(const void*)((const char*)host + offsetof(tlc_host_api, log));
  for (size_t i = 0; i < (host->struct_size - offsetof(tlc_host_api, log)) / sizeof(void*); ++i) {
    if (slots[i] == NULL) fail_msg("slot %zu of the host's table is NULL", i);
  }
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  old_plugin = argv[1];
  new_plugin = argv[2];
  demanding_plugin = argv[3];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(an_older_plugin_compiles_and_lacks_only_what_it_lacks, start, end),
      cmocka_unit_test_setup_teardown(a_newer_plugin_works_and_its_unknown_slots_are_left_alone, start, end),
      cmocka_unit_test_setup_teardown(a_plugin_that_needs_a_newer_host_is_refused_with_both_versions, start, end),
      cmocka_unit_test_setup_teardown(the_host_table_says_its_size_and_version, start, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
