/* SPDX-License-Identifier: MIT */
/* Preloaded by test_reports.py: a report of the library comes from the file that TLC_TEST_REPORT_<NAME> names, if it
 * is set. What is tested is how the command shows reports that are hard to provoke. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tlcache/backend.h>

static int from_file(const char* variable, tlc_blob** json) {
  const char* path = getenv(variable);
  FILE* file = path != NULL ? fopen(path, "rb") : NULL;
  static char buffer[1 << 20];
  if (file == NULL) return 0;
  const size_t length = fread(buffer, 1, sizeof buffer, file);
  fclose(file);
  *json = tlc_host()->blob_create(buffer, length);
  return 1;
}

/* ISO C has no cast from an object pointer to a function pointer. */
#define NEXT(type, name) \
  union {                \
    void* object;        \
    type function;       \
  } next;                \
  next.object = dlsym(RTLD_NEXT, name)

typedef tlc_status (*report_fn)(tlc_cache*, tlc_blob**, tlc_error*);
typedef tlc_status (*explain_fn)(tlc_cache*, const tlc_key*, tlc_blob**, tlc_error*);
typedef tlc_status (*verify_fn)(tlc_cache*, uint32_t, tlc_progress_fn, void*, tlc_blob**, tlc_error*);
typedef tlc_status (*gc_fn)(tlc_cache*, uint64_t, tlc_progress_fn, void*, tlc_blob**, tlc_error*);

tlc_status tlc_cache_describe(tlc_cache* cache, tlc_blob** json, tlc_error* error) {
  if (from_file("TLC_TEST_REPORT_DESCRIBE", json)) return TLC_OK;
  NEXT(report_fn, "tlc_cache_describe");
  return next.function(cache, json, error);
}

tlc_status tlc_cache_backends(tlc_cache* cache, tlc_blob** json, tlc_error* error) {
  if (from_file("TLC_TEST_REPORT_BACKENDS", json)) return TLC_OK;
  NEXT(report_fn, "tlc_cache_backends");
  return next.function(cache, json, error);
}

tlc_status tlc_cache_stats_json(tlc_cache* cache, tlc_blob** json, tlc_error* error) {
  if (from_file("TLC_TEST_REPORT_STATS", json)) return TLC_OK;
  NEXT(report_fn, "tlc_cache_stats_json");
  return next.function(cache, json, error);
}

tlc_status tlc_cache_explain(tlc_cache* cache, const tlc_key* key, tlc_blob** json, tlc_error* error) {
  if (from_file("TLC_TEST_REPORT_EXPLAIN", json)) return TLC_OK;
  NEXT(explain_fn, "tlc_cache_explain");
  return next.function(cache, key, json, error);
}

tlc_status tlc_cache_verify(tlc_cache* cache, uint32_t flags, tlc_progress_fn progress, void* user_data,
                            tlc_blob** json, tlc_error* error) {
  const char* slow = getenv("TLC_TEST_SLOW_VERIFY"); /* tenths of a second */
  const uint64_t steps = slow != NULL ? strtoull(slow, NULL, 10) : 0;
  for (uint64_t step = 0; step < steps; ++step) {
    const struct timespec tenth = {0, 100 * 1000 * 1000};
    if (progress(step, steps, user_data) != 0) return TLC_E_CANCELLED;
    nanosleep(&tenth, NULL);
  }
  if (from_file("TLC_TEST_REPORT_VERIFY", json)) return TLC_OK;
  NEXT(verify_fn, "tlc_cache_verify");
  return next.function(cache, flags, progress, user_data, json, error);
}

tlc_status tlc_cache_gc(tlc_cache* cache, uint64_t max_bytes, tlc_progress_fn progress, void* user_data,
                        tlc_blob** json, tlc_error* error) {
  if (from_file("TLC_TEST_REPORT_GC", json)) return TLC_OK;
  NEXT(gc_fn, "tlc_cache_gc");
  return next.function(cache, max_bytes, progress, user_data, json, error);
}
