/* SPDX-License-Identifier: MIT */
/* A first program: a kernel, compiled once for all programs of this user, loaded and called. Run it twice.
 *
 *   cc first.c -o first $(pkg-config --cflags --libs tlcache) && ./first && ./first
 */
#include <stdio.h>
#include <string.h>
#include <tlcache/tlcache.h>

static const char source[] =
    "void saxpy(int count, float a, const float* x, float* y) {\n"
    "  for (int i = 0; i < count; ++i) y[i] += a * x[i];\n"
    "}\n";

static int failed(const tlc_error* error) {
  fprintf(stderr, "%s: %s\n", tlc_status_name(error->code), error->message);
  return 1;
}

int main(void) {
  tlc_cache* cache = NULL;
  tlc_request* request = NULL;
  tlc_artifact* artifact = NULL;
  tlc_module* module = NULL;
  tlc_blob* log = NULL;
  tlc_error error;
  void* address = NULL;
  void (*saxpy)(int, float, const float*, float*) = NULL;
  float x[] = {1, 2, 3}, y[] = {10, 20, 30};
  tlc_error_init(&error);

  /* The cache: TLC_DIR, else ~/.cache/tlcache. Programs in any language share it. */
  if (tlc_cache_open(NULL, &cache, &error) != TLC_OK) return failed(&error);

  /* What is wanted. Source, target and compiler make the key; a request keeps its first error for get_or_compile. */
  if (tlc_request_create(tlc_str_from("first"), &request, &error) != TLC_OK) return failed(&error);
  tlc_request_set_target(request, tlc_str_from("cpu:native"), &error);
  tlc_request_set_label(request, tlc_str_from("saxpy"), &error);
  tlc_request_add_text(request, tlc_str_from("source"), tlc_str_from(source), 0, &error);

  /* Found in the cache, or compiled: once, however many processes ask at the same time. */
  if (tlc_cache_get_or_compile(cache, request, NULL, &artifact, &log, &error) != TLC_OK) return failed(&error);

  /* Loaded, found by name, called. */
  if (tlc_cache_load(cache, artifact, NULL, &module, &error) != TLC_OK) return failed(&error);
  if (tlc_module_symbol(module, tlc_str_from("saxpy"), &address, &error) != TLC_OK) return failed(&error);
  memcpy(&saxpy, &address, sizeof(saxpy));
  saxpy(3, 2.0f, x, y);
  printf("%s: %g %g %g\n", log != NULL ? "compiled" : "found", (double)y[0], (double)y[1], (double)y[2]);

  tlc_blob_release(log);
  tlc_module_release(module);
  tlc_artifact_release(artifact);
  tlc_request_destroy(request);
  tlc_cache_close(cache);
  return 0;
}
