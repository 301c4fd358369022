/* SPDX-License-Identifier: MIT */
/* Runs every slot of one plugin file of tests/plugins/golden.c, whatever headers it was built with.
 * usage: golden_plugins PLUGIN ENGINE FOLDER     FOLDER is writable; the store is made in it */
#include "../abi_test.h"

static const char *plugin, *engine, *folder;
static unsigned minor;
static char store[4096], guarded[4096], nothing[4096];
static tlc_error error;
static tlc_cache* cache;
static tlc_artifact* artifact;

static tlc_str text(const char* s) {
  return tlc_str_from(s);
}

static void write_guarded(const char* content) {
  FILE* file = fopen(guarded, "w");
  assert_non_null(file);
  assert_true(fputs(content, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static int start(void** state) {
  (void)state;
  tlc_error_init(&error);
  (void)snprintf(store, sizeof store, "%s/store", folder);
  (void)snprintf(guarded, sizeof guarded, "%s/guarded", folder);
  (void)snprintf(nothing, sizeof nothing, "%s/nothing", folder);
  tlc_cache_options options;
  tlc_cache_options_init(&options);
  options.directory = text(store);
  options.flags = TLC_OPEN_STRICT | TLC_OPEN_NO_ENV;
  assert_status(tlc_cache_open(&options, &cache, &error), TLC_OK, &error);
  assert_status(tlc_load_plugin(text(plugin), &error), TLC_OK, &error);
  return 0;
}

static int end(void** state) {
  (void)state;
  tlc_artifact_release(artifact);
  tlc_cache_close(cache);
  return 0;
}

static tlc_request* make_request(void) {
  tlc_request* request = NULL;
  assert_status(tlc_request_create(text("golden"), &request, &error), TLC_OK, &error);
  (void)tlc_request_set_target(request, text("golden:native"), &error);
  (void)tlc_request_set_engine(request, text(engine), &error);
  (void)tlc_request_add_int(request, text("int"), -5, 0, &error);
  (void)tlc_request_add_f64(request, text("f64"), 1.5, 0, &error);
  (void)tlc_request_add_text(request, text("source"), text("golden source"), 0, &error);
  (void)tlc_request_add_text(request, text("path"), text(guarded), 0, &error);
  (void)tlc_request_add_text(request, text("nothing"), text(nothing), 0, &error);
  (void)tlc_request_begin_list(request, text("list"), 0, &error);
  (void)tlc_request_begin_map(request, text(""), 0, &error);
  (void)tlc_request_add_null(request, text("entry"), 0, &error);
  (void)tlc_request_end(request, &error);
  assert_status(tlc_request_end(request, &error), TLC_OK, &error);
  return request;
}

/* Gets or compiles; says whether it was compiled. */
static int compiled(void) {
  tlc_request* request = make_request();
  tlc_blob* log = NULL;
  tlc_artifact_release(artifact);
  artifact = NULL;
  assert_status(tlc_cache_get_or_compile(cache, request, NULL, &artifact, &log, &error), TLC_OK, &error);
  tlc_request_destroy(request);
  const int ran = log != NULL;
  if (ran) assert_non_null(strstr(tlc_blob_data(log, NULL), engine));
  tlc_blob_release(log);
  return ran;
}

static void resolve_identify_and_compile(void** state) {
  (void)state;
  write_guarded("one");
  assert_true(compiled());
  assert_false(compiled());
  size_t size = 0;
  const char* data = tlc_artifact_data(artifact, 0, &size);
  assert_int_equal(size, strlen(engine));
  assert_memory_equal(data, engine, size);
  write_guarded("three"); /* its guard no longer holds */
  assert_true(compiled());
}

static int number_at(tlc_module* module, const char* name) {
  void* address = NULL;
  assert_status(tlc_module_symbol(module, text(name), &address, &error), TLC_OK, &error);
  int number = 0;
  memcpy(&number, address, sizeof number);
  return number;
}

static void validate_place_load_symbol_native_unload(void** state) {
  (void)state;
  tlc_load_options options;
  tlc_load_options_init(&options);
  tlc_module *module = NULL, *again = NULL, *other = NULL;
  if (minor == 0) { /* its table ends before */
    assert_status(tlc_cache_load(cache, artifact, &options, &module, &error), TLC_E_UNSUPPORTED, &error);
    assert_non_null(strstr(error.message, "load"));
    return;
  }
  options.device = 9;
  assert_status(tlc_cache_load(cache, artifact, &options, &module, &error), TLC_REJECTED, &error);
  assert_non_null(strstr(error.message, "not for device 9"));
  options.device = 1;
  assert_status(tlc_cache_load(cache, artifact, &options, &module, &error), TLC_OK, &error);
  assert_status(tlc_cache_load(cache, artifact, &options, &again, &error), TLC_OK, &error);
  options.device = 2; /* another place: loaded once more */
  assert_status(tlc_cache_load(cache, artifact, &options, &other, &error), TLC_OK, &error);
  assert_int_equal(number_at(module, "answer"), 42);
  assert_int_equal(number_at(again, "loads"), 2);
  int native = 0;
  memcpy(&native, tlc_module_native(module), sizeof native);
  assert_int_equal(native, 42);
  void* address = NULL;
  assert_status(tlc_module_symbol(module, text("none"), &address, &error), TLC_E_NOT_FOUND, &error);
  assert_int_equal(number_at(module, "unloads"), 0);
  tlc_module_release(module);
  tlc_module_release(again);
  assert_int_equal(number_at(other, "unloads"), 1);
  tlc_module_release(other);
}

static void probe_and_describe(void** state) {
  (void)state;
  char wanted[128];
  tlc_blob* json = NULL;
  assert_status(tlc_cache_backends(cache, &json, &error), TLC_OK, &error);
  (void)snprintf(wanted, sizeof wanted, "\"probed\": \"%s\"", engine);
  assert_int_equal(strstr(tlc_blob_data(json, NULL), wanted) != NULL, minor > 0);
  (void)snprintf(wanted, sizeof wanted, "\"%s plugin\"", engine);
  assert_non_null(strstr(tlc_blob_data(json, NULL), wanted));
  tlc_blob_release(json);
  json = NULL;
  if (minor < 2) {
    assert_status(tlc_artifact_describe(artifact, cache, &json, &error), TLC_E_UNSUPPORTED, &error);
    return;
  }
  assert_status(tlc_artifact_describe(artifact, cache, &json, &error), TLC_OK, &error);
  assert_non_null(strstr(tlc_blob_data(json, NULL), engine));
  tlc_blob_release(json);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  plugin = argv[1];
  engine = argv[2];
  folder = argv[3];
  const char* dot = strrchr(engine, '.');
  if (dot == NULL) return 2;
  minor = (unsigned)strtoul(dot + 1, NULL, 10);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(resolve_identify_and_compile),
      cmocka_unit_test(validate_place_load_symbol_native_unload),
      cmocka_unit_test(probe_and_describe),
  };
  return cmocka_run_group_tests(tests, start, end);
}
