/* SPDX-License-Identifier: MIT */
/* An application: opens a cache in the folder it is given, puts an artifact, gets it, reads a member. Prints one line.
 */
#include <stdio.h>
#include <string.h>
#include <tlcache/backend.h>
#include <tlcache/tlcache.h>

static tlc_error error;

static int check(const char* what, tlc_status got, tlc_status wanted) {
  if (got == wanted) return 0;
  fprintf(stderr, "%s: %s instead of %s: %s\n", what, tlc_status_name(got), tlc_status_name(wanted), error.message);
  return 1;
}
#define CHECK(call, wanted)                   \
  do {                                        \
    if (check(#call, call, wanted)) return 1; \
  } while (0)

int main(int argc, char** argv) {
  tlc_cache_options options;
  tlc_cache* cache = NULL;
  tlc_request* request = NULL;
  tlc_key* key = NULL;
  tlc_bundle* bundle = NULL;
  tlc_artifact* artifact = NULL;
  const char payload[] = "what a compiler made";
  char copy[sizeof(payload)];

  if (argc != 2) return 2;
  tlc_error_init(&error);
  if (tlc_version() != TLC_VERSION || strcmp(tlc_version_string(), TLC_VERSION_STRING) != 0) {
    fprintf(stderr, "headers %s, library %s\n", TLC_VERSION_STRING, tlc_version_string());
    return 1;
  }
  tlc_cache_options_init(&options);
  options.directory = tlc_str_from(argv[1]);
  options.limit_bytes = (uint64_t)64 << 20;
  options.flags = TLC_OPEN_STRICT | TLC_OPEN_NO_ENV;
  CHECK(tlc_cache_open(&options, &cache, &error), TLC_OK);
  CHECK(tlc_request_create(tlc_str_from("consumer"), &request, &error), TLC_OK);
  CHECK(tlc_request_set_no_toolchain(request, &error), TLC_OK);
  CHECK(tlc_request_add_text(request, tlc_str_from("source"), tlc_str_from("int main;"), 0, &error), TLC_OK);
  CHECK(tlc_cache_key(cache, request, &key, &error), TLC_OK);
  CHECK(tlc_cache_get(cache, key, &artifact, &error), TLC_MISS);
  CHECK(tlc_bundle_create(&bundle, &error), TLC_OK);
  CHECK(tlc_bundle_add(bundle, tlc_str_from("out.bin"), TLC_MEMBER_OPAQUE, payload, sizeof(payload), 0, &error),
        TLC_OK);
  CHECK(tlc_cache_put(cache, key, bundle, NULL, &error), TLC_OK);
  CHECK(tlc_cache_put(cache, key, bundle, NULL, &error), TLC_EXISTED);
  CHECK(tlc_cache_get(cache, key, &artifact, &error), TLC_OK);
  CHECK(tlc_artifact_read(artifact, 0, copy, sizeof(copy), &error), TLC_OK);
  if (memcmp(copy, payload, sizeof(payload)) != 0) {
    fprintf(stderr, "what was read is not what was put\n");
    return 1;
  }
  tlc_artifact_release(artifact);
  tlc_bundle_destroy(bundle);
  tlc_key_release(key);
  tlc_request_destroy(request);
  tlc_cache_close(cache);
  printf("put and read %zu bytes with %s\n", sizeof(payload), tlc_version_string());
  return 0;
}
