/* SPDX-License-Identifier: MIT */
/* Writes a store with an entry of each kind, or reads one that some version wrote. It judges nothing: check.py compares
 * what it prints with the manifest.
 * usage: golden_store write STORE            prints "NAME hit|miss KEY" for each entry
 *        golden_store read STORE OUT <LIST   for each line "NAME KEY" prints what is found, its members as files in OUT
 *        golden_store rebuild STORE         indexes the segments again
 *        golden_store add STORE              publishes an entry, replaces one, finds both
 * Guards are of files in the current folder, by a path that is the same everywhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlcache/tlcache.h>

#define GUARDED "/proc/self/cwd/guarded.h"
#define ABSENT "/proc/self/cwd/absent.h"

static tlc_error error;
static tlc_cache* cache;

static tlc_str text(const char* s) {
  return tlc_str_from(s);
}

/* Every call must answer what it is said to. */
static void expect(tlc_status got, tlc_status wanted, const char* what) {
  if (got == wanted) return;
  (void)fprintf(stderr, "golden_store: %s: %s instead of %s: %s\n", what, tlc_status_name(got), tlc_status_name(wanted),
                error.message);
  exit(1);
}
#define OK(call) expect(call, TLC_OK, #call)

static void open_store(const char* folder) {
  tlc_cache_options options;
  tlc_cache_options_init(&options);
  options.directory = text(folder);
  options.limit_bytes = UINT64_C(64) << 20;
  options.flags = TLC_OPEN_STRICT | TLC_OPEN_NO_ENV;
  OK(tlc_cache_open(&options, &cache, &error));
}

static void print_hex(const uint8_t* data, size_t len) {
  for (size_t i = 0; i < len; ++i) (void)printf("%02x", data[i]);
}

/* ---- writing */

static tlc_key* key_of(const char* name_space, const char* name) {
  tlc_request* request = NULL;
  tlc_key* key = NULL;
  OK(tlc_request_create(text(name_space), &request, &error));
  OK(tlc_request_set_no_toolchain(request, &error));
  OK(tlc_request_add_text(request, text("name"), text(name), 0, &error));
  OK(tlc_request_key(request, &key, &error));
  tlc_request_destroy(request);
  return key;
}

/* A key with a field of each type, a target and a toolchain. */
static tlc_key* rich_key(void) {
  const uint8_t digest[TLC_DIGEST_SIZE] = {1, 2, 3};
  tlc_request* request = NULL;
  tlc_key* key = NULL;
  OK(tlc_request_create(text("golden/rich"), &request, &error));
  OK(tlc_request_set_target(request, text("golden:g1:b:a"), &error));
  OK(tlc_request_set_engine(request, text("none-1.0"), &error));
  OK(tlc_request_set_toolchain(request, "toolchain\0 1", 12, &error));
  OK(tlc_request_add_null(request, text("null"), 0, &error));
  OK(tlc_request_add_bool(request, text("bool"), 1, 0, &error));
  OK(tlc_request_add_int(request, text("int"), INT64_MIN, 0, &error));
  OK(tlc_request_add_uint(request, text("uint"), UINT64_MAX, 0, &error));
  OK(tlc_request_add_f64(request, text("f64"), -0.5, 0, &error));
  OK(tlc_request_add_text(request, text("t\xc3\xa4xt"), text("\xe2\x82\xac"), 0, &error));
  OK(tlc_request_add_bytes(request, text("bytes"), "\0\xff", 2, TLC_FIELD_DIGEST_ONLY, &error));
  OK(tlc_request_add_digest(request, text("digest"), digest, 0, &error));
  OK(tlc_request_begin_list(request, text("list"), 0, &error));
  OK(tlc_request_begin_map(request, text(""), 0, &error));
  OK(tlc_request_add_int(request, text("one"), 1, 0, &error));
  OK(tlc_request_end(request, &error));
  OK(tlc_request_end(request, &error));
  OK(tlc_request_key(request, &key, &error));
  tlc_request_destroy(request);
  return key;
}

static tlc_bundle* bundle_of(const char* member, size_t size, unsigned seed) {
  uint8_t* data = malloc(size + 1);
  if (data == NULL) exit(1);
  for (size_t i = 0; i < size; ++i) data[i] = (uint8_t)((i * 31 + (i >> 8) * 7 + seed) & 0xff);
  tlc_bundle* bundle = NULL;
  OK(tlc_bundle_create(&bundle, &error));
  OK(tlc_bundle_add(bundle, text(member), TLC_MEMBER_DEVICE_BINARY, data, size, 0, &error));
  OK(tlc_bundle_set_label(bundle, text("a golden kernel"), &error));
  OK(tlc_bundle_set_compile_time(bundle, 1234567, &error));
  free(data);
  return bundle;
}

static tlc_artifact* put(const tlc_key* key, tlc_bundle* bundle) {
  tlc_artifact* artifact = NULL;
  OK(tlc_cache_put(cache, key, bundle, &artifact, &error));
  tlc_bundle_destroy(bundle);
  return artifact;
}

/* What was made of the key is to be found, or not. */
static void say(const char* name, const char* outcome, tlc_key* key, tlc_artifact* artifact) {
  size_t len = 0;
  const uint8_t* encoding = tlc_key_encoding(key, &len);
  (void)printf("%s %s ", name, outcome);
  print_hex(encoding, len);
  (void)printf("\n");
  tlc_key_release(key);
  tlc_artifact_release(artifact);
}

static tlc_bundle* bundle_of_types(void) {
  tlc_bundle* bundle = bundle_of("type 2", 100, 1);
  char name[32];
  for (uint32_t type = 0; type <= TLC_MEMBER_OBJECT; ++type) {
    if (type == TLC_MEMBER_DEVICE_BINARY) continue;
    (void)snprintf(name, sizeof name, "type %u", (unsigned)type);
    OK(tlc_bundle_add(bundle, text(name), type, name, strlen(name), 0, &error));
  }
  OK(tlc_bundle_add(bundle, text("\xe2\x82\xac empty"), 4242, "", 0, 0, &error));
  return bundle;
}

static tlc_status fail_to_compile(const tlc_request* request, const tlc_key* key, tlc_bundle* bundle, tlc_log* log,
                                  tlc_error* out, void* user_data) {
  (void)request, (void)key, (void)bundle, (void)user_data, (void)out;
  tlc_log_append(log, text("line 3\n"));
  return TLC_E_COMPILE;
}

static void keep_a_failure(void) {
  tlc_compile_options options;
  tlc_compile_options_init(&options);
  options.compile = fail_to_compile;
  options.flags = TLC_COMPILE_KEEP_FAILURE;
  tlc_request* request = NULL;
  OK(tlc_request_create(text("golden"), &request, &error));
  OK(tlc_request_set_no_toolchain(request, &error));
  OK(tlc_request_add_text(request, text("name"), text("failure"), 0, &error));
  tlc_artifact* artifact = NULL;
  expect(tlc_cache_get_or_compile(cache, request, &options, &artifact, NULL, &error), TLC_E_COMPILE, "a failure");
  tlc_request_destroy(request);
  say("failure", "miss", key_of("golden", "failure"), NULL);
}

static void write_entries(void) {
  tlc_key* key = key_of("golden", "plain");
  tlc_key* from = key_of("golden", "linked");
  tlc_artifact* artifact = put(key, bundle_of("kernel.bin", 1000, 2));
  OK(tlc_cache_link(cache, from, key, &error));
  say("linked", "hit", from, NULL);

  tlc_bundle* needing = bundle_of("kernel.bin", 10, 3);
  OK(tlc_bundle_add_requirement(needing, key, &error));
  say("plain", "hit", key, artifact);
  key = key_of("golden", "needing");
  say("needing", "hit", key, put(key, needing));

  key = rich_key();
  say("types", "hit", key, put(key, bundle_of_types()));
  key = key_of("golden", "large"); /* a segment of its own */
  say("large", "hit", key, put(key, bundle_of("kernel.bin", (size_t)3 << 20, 4)));

  key = key_of("golden", "guarded");
  tlc_bundle* guarded = bundle_of("kernel.bin", 300, 5);
  OK(tlc_bundle_add_guard(guarded, text(GUARDED), NULL, &error));
  OK(tlc_bundle_add_absent(guarded, text(ABSENT), &error));
  say("guarded", "hit", key, put(key, guarded));

  key = key_of("golden", "replaced");
  artifact = put(key, bundle_of("old.bin", 500, 6));
  tlc_bundle* next = bundle_of("new.bin", 600, 7);
  OK(tlc_cache_replace(cache, key, artifact, next, NULL, &error));
  tlc_bundle_destroy(next);
  say("replaced", "hit", key, artifact);

  key = key_of("golden", "amended");
  artifact = put(key, bundle_of("first.bin", 50, 8));
  next = bundle_of("second.bin", 60, 9);
  OK(tlc_cache_amend(cache, key, artifact, next, NULL, &error));
  tlc_bundle_destroy(next);
  say("amended", "hit", key, artifact);

  key = key_of("golden", "removed");
  tlc_artifact_release(put(key, bundle_of("kernel.bin", 70, 10)));
  OK(tlc_cache_remove(cache, key, &error));
  say("removed", "miss", key, NULL);

  key = key_of("golden/cleared", "cleared");
  tlc_artifact_release(put(key, bundle_of("kernel.bin", 80, 11)));
  OK(tlc_cache_clear(cache, text("golden/cleared"), NULL, &error));
  say("cleared", "miss", key, NULL);

  say("never", "miss", key_of("golden", "never"), NULL);
  keep_a_failure();
}

/* ---- reading */

static tlc_key* key_from_hex(const char* hex) {
  const size_t len = strlen(hex) / 2;
  uint8_t* encoding = malloc(len + 1);
  if (encoding == NULL) exit(1);
  for (size_t i = 0; i < len; ++i) {
    const char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
    encoding[i] = (uint8_t)strtoul(pair, NULL, 16);
  }
  tlc_key* key = NULL;
  OK(tlc_key_decode(encoding, len, &key, &error));
  free(encoding);
  return key;
}

static void write_member(const char* folder, const char* entry, size_t index, const tlc_member* member) {
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/%s.%zu", folder, entry, index);
  FILE* file = fopen(path, "wb");
  const size_t size = (size_t)member->size;
  if (file == NULL || (size > 0 && fwrite(member->data, 1, size, file) != size) || fclose(file) != 0) {
    perror(path);
    exit(1);
  }
}

/* "entry NAME STATUS DIGEST", then for a hit "about LABEL NAMESPACE COMPILE_US" and "member INDEX TYPE NAME" each. */
static void read_entry(const char* name, const tlc_key* key, const char* out) {
  tlc_artifact* artifact = NULL;
  const tlc_status status = tlc_cache_get(cache, key, &artifact, &error);
  (void)printf("entry %s %s ", name, tlc_status_name(status));
  print_hex(tlc_key_digest(key), TLC_DIGEST_SIZE);
  (void)printf("\n");
  if (status != TLC_OK) return;
  tlc_artifact_info info = {.struct_size = TLC_SIZEOF(tlc_artifact_info, tier)};
  OK(tlc_artifact_get_info(artifact, &info, &error));
  (void)printf("about ");
  print_hex((const uint8_t*)info.label.data, info.label.len);
  (void)printf(" ");
  print_hex((const uint8_t*)info.name_space.data, info.name_space.len);
  (void)printf(" %llu\n", (unsigned long long)info.compile_us);
  for (size_t i = 0; i < tlc_artifact_member_count(artifact); ++i) {
    tlc_member member = {.struct_size = TLC_SIZEOF(tlc_member, type)};
    OK(tlc_artifact_member_at(artifact, i, &member, &error));
    (void)printf("member %zu %u ", i, (unsigned)member.type);
    print_hex((const uint8_t*)member.name.data, member.name.len);
    (void)printf("\n");
    write_member(out, name, i, &member);
  }
  tlc_artifact_release(artifact);
}

static tlc_status print_kind(const tlc_entry* entry, void* user_data) {
  (void)user_data;
  (void)printf("kind %.*s\n", (int)entry->kind.len, entry->kind.data);
  return TLC_OK;
}

static void read_entries(const char* out) {
  static char line[65536], name[256], hex[65536];
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (sscanf(line, "%255s %65535s", name, hex) != 2) continue;
    tlc_key* key = key_from_hex(hex);
    read_entry(name, key, out);
    tlc_key_release(key);
  }
  OK(tlc_cache_list(cache, text(""), print_kind, NULL, &error));
  tlc_blob* json = NULL;
  OK(tlc_cache_verify(cache, 0, NULL, NULL, &json, &error));
  (void)printf("verify ");
  for (const char* at = tlc_blob_data(json, NULL); *at != '\0'; ++at) (void)putchar(*at == '\n' ? ' ' : *at);
  (void)printf("\n");
  tlc_blob_release(json);
}

static void rebuild(void) {
  tlc_blob* json = NULL;
  OK(tlc_cache_verify(cache, TLC_VERIFY_REPAIR, NULL, NULL, &json, &error));
  tlc_blob_release(json);
}

/* A new entry, one in place of an old one, and one where one was removed: written, then found. */
static void add_entries(void) {
  tlc_key* key = key_of("golden", "added");
  tlc_artifact_release(put(key, bundle_of("kernel.bin", 5000, 12)));
  tlc_key* removed = key_of("golden", "removed");
  tlc_artifact_release(put(removed, bundle_of("kernel.bin", 5000, 13)));
  tlc_key* plain = key_of("golden", "plain");
  tlc_artifact* seen = NULL;
  OK(tlc_cache_get(cache, plain, &seen, &error));
  tlc_bundle* next = bundle_of("kernel.bin", 5000, 14);
  OK(tlc_cache_replace(cache, plain, seen, next, NULL, &error));
  tlc_bundle_destroy(next);
  tlc_artifact_release(seen);
  tlc_key* keys[] = {key, removed, plain};
  for (size_t i = 0; i < 3; ++i) {
    tlc_artifact* found = NULL;
    size_t size = 0;
    OK(tlc_cache_get(cache, keys[i], &found, &error));
    if (tlc_artifact_data(found, 0, &size) == NULL || size != 5000) expect(TLC_E_CORRUPT, TLC_OK, "what was added");
    tlc_artifact_release(found);
    tlc_key_release(keys[i]);
  }
}

int main(int argc, char** argv) {
  tlc_error_init(&error);
  if (argc < 3) return 2;
  open_store(argv[2]);
  if (strcmp(argv[1], "write") == 0)
    write_entries();
  else if (strcmp(argv[1], "rebuild") == 0)
    rebuild();
  else if (strcmp(argv[1], "add") == 0)
    add_entries();
  else if (strcmp(argv[1], "read") == 0 && argc == 4)
    read_entries(argv[3]);
  else
    return 2;
  tlc_cache_close(cache);
  return 0;
}
