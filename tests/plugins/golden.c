/* SPDX-License-Identifier: MIT */
/* A plugin with every slot, which uses every service of the host: built with the headers of each ABI minor and kept as
 * a file (tests/abi/golden), so that later libraries are tested with what older headers really made. GOLDEN_SHORT  a
 * table that ends after `compile`, as if of ABI 0.0 It uses nothing that ABI 0.1 did not have, but the slots of the
 * headers at hand. Linked to nothing of the library. */
#include <stddef.h>
#include <string.h>
#include <tlcache/backend.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#if defined(GOLDEN_SHORT)
#define MINOR 0
#define TABLE_SIZE TLC_SIZEOF(tlc_backend_ops, compile)
#else
#define MINOR TLC_ABI_MINOR
#define TABLE_SIZE TLC_BACKEND_OPS_SIZE
#endif
#define ENGINE "abi-" TEXT(TLC_ABI_MAJOR) "." TEXT(MINOR)

static const tlc_host_api* host;
static const char* const kinds[] = {"golden", NULL};
static int answer = 42;

static tlc_str text(const char* s) {
  const tlc_str out = {s, strlen(s)};
  return out;
}

static int is_text(tlc_str got, const char* wanted) {
  return got.len == strlen(wanted) && memcmp(got.data, wanted, got.len) == 0;
}

static tlc_status wrong(tlc_error* error, const char* what) {
  return host->fail(error, TLC_E_INTERNAL, 5, 4711, text(what));
}

#define EXPECT(condition) \
  if (!(condition)) return wrong(error, ENGINE ": " #condition)

static tlc_status give(tlc_blob** out, const char* bytes, tlc_error* error) {
  *out = host->blob_create(bytes, strlen(bytes));
  EXPECT(*out != NULL);
  size_t len = 0;
  EXPECT(strcmp(host->blob_data(*out, &len), bytes) == 0 && len == strlen(bytes));
  return TLC_OK;
}

static tlc_status resolve_target(void* state, tlc_call* call, tlc_str target, tlc_blob** resolved, tlc_error* error) {
  EXPECT(state == &answer);
  EXPECT(host->cancelled(call) == 0);
  EXPECT(is_text(target, "golden:native"));
  return give(resolved, "golden:g1", error);
}

/* Reads a field of each type; the test program sets them. */
static tlc_status identify(void* state, tlc_call* call, const tlc_request* request, tlc_str target, tlc_blob** identity,
                           tlc_error* error) {
  (void)state;
  EXPECT(is_text(target, "golden:g1") && host->request_find(request, text("absent")) == NULL);
  int64_t number = 0;
  double real = 0;
  EXPECT(host->value_int(host->request_find(request, text("int")), &number) == TLC_OK && number == -5);
  EXPECT(host->value_f64(host->request_find(request, text("f64")), &real) == TLC_OK && real > 1.4 && real < 1.6);
  EXPECT(is_text(host->value_text(host->request_find(request, text("source"))), "golden source"));
  const tlc_value* list = host->request_find(request, text("list"));
  EXPECT(host->value_type(list) == TLC_TYPE_LIST && host->value_count(list) == 1);
  tlc_str name = {NULL, 0};
  const tlc_value* map = host->value_at(list, 0, NULL);
  EXPECT(host->value_type(map) == TLC_TYPE_MAP);
  EXPECT(host->value_type(host->value_at(map, 0, &name)) == TLC_TYPE_NULL && is_text(name, "entry"));
  /* What the store remembers: put, then found. */
  tlc_blob* known = NULL;
  EXPECT(host->memo_put(call, ENGINE, sizeof(ENGINE), "fact", 4, error) == TLC_OK);
  EXPECT(host->memo_get(call, ENGINE, sizeof(ENGINE), &known, error) == TLC_OK);
  EXPECT(strcmp(host->blob_data(known, NULL), "fact") == 0);
  host->blob_release(known);
  EXPECT(host->memo_get(call, "other", 5, &known, error) == TLC_MISS);
  return give(identity, ENGINE, error);
}

/* The member, a guard on the file that the field `path` names, and one on its absent neighbour. */
static tlc_status compile(void* state, tlc_call* call, const tlc_request* request, tlc_str target, tlc_bundle* bundle,
                          tlc_log* log, tlc_error* error) {
  (void)state, (void)target;
  const tlc_str path = host->value_text(host->request_find(request, text("path")));
  const tlc_str absent = host->value_text(host->request_find(request, text("nothing")));
  uint8_t digest[TLC_DIGEST_SIZE], identity[TLC_DIGEST_SIZE];
  tlc_status status = host->file_digest(call, path, digest, error);
  if (status == TLC_OK) status = host->file_identity(call, path, identity, error);
  if (status == TLC_OK) status = host->bundle_add_guard(bundle, path, digest, error);
  if (status == TLC_OK) status = host->bundle_add_absent(bundle, absent, error);
  if (status == TLC_OK)
    status = host->bundle_add(bundle, text("out"), TLC_MEMBER_DEVICE_BINARY, ENGINE, sizeof(ENGINE) - 1, 0, error);
  host->log_append(log, text("compiled by " ENGINE));
  host->log(TLC_LOG_DEBUG, text("golden"), text("compiled"));
  return status;
}

#if !defined(GOLDEN_SHORT)
static int loads;
static int unloads;
static int module_of_ours;

static tlc_status validate(void* state, tlc_call* call, const tlc_artifact* artifact, const tlc_load_options* options,
                           tlc_error* error) {
  (void)state, (void)call;
  tlc_member member = {.struct_size = TLC_SIZEOF(tlc_member, type)};
  if (options->device == 9) return host->fail(error, TLC_REJECTED, 0, 0, text(ENGINE ": not for device 9"));
  EXPECT(host->artifact_member_count(artifact) == 1);
  EXPECT(host->artifact_member_at(artifact, 0, &member, error) == TLC_OK && is_text(member.name, "out"));
  EXPECT(host->artifact_find(artifact, text("out"), &member, error) == TLC_OK);
  EXPECT(member.size == sizeof(ENGINE) - 1 && memcmp(member.data, ENGINE, member.size) == 0);
  EXPECT(member.type == TLC_MEMBER_DEVICE_BINARY);
  EXPECT(is_text(host->artifact_target(artifact), "golden:g1"));
  return TLC_OK;
}

static tlc_status place(void* state, tlc_call* call, const tlc_load_options* options, uint64_t* out, tlc_error* error) {
  (void)state, (void)call, (void)error;
  *out = options->device < 0 ? 0 : (uint64_t)options->device;
  return TLC_OK;
}

static tlc_status load(void* state, tlc_call* call, tlc_artifact* artifact, const tlc_load_options* options,
                       void** module, tlc_error* error) {
  (void)state, (void)call, (void)options;
  tlc_blob* folder = NULL;
  EXPECT(host->artifact_folder(artifact, &folder, error) == TLC_OK);
  EXPECT(host->blob_data(folder, NULL)[0] == '/');
  host->blob_release(folder);
  ++loads;
  *module = &module_of_ours;
  return TLC_OK;
}

static tlc_status symbol(void* state, void* module, tlc_str name, void** address, tlc_error* error) {
  (void)state;
  EXPECT(module == &module_of_ours);
  if (is_text(name, "answer"))
    *address = &answer;
  else if (is_text(name, "loads"))
    *address = &loads;
  else if (is_text(name, "unloads"))
    *address = &unloads;
  else
    return host->fail(error, TLC_E_NOT_FOUND, 0, 0, text(ENGINE ": no such symbol"));
  return TLC_OK;
}

static void* native(void* state, void* module) {
  return module == &module_of_ours ? state : NULL;
}

static void unload(void* state, void* module) {
  if (state == &answer && module == &module_of_ours) ++unloads;
}

static tlc_status probe(void* state, tlc_call* call, tlc_blob** json, tlc_error* error) {
  (void)state, (void)call;
  return give(json, "{\"probed\": \"" ENGINE "\"}", error);
}

static void close_backend(void* state) {
  (void)state;
}

#if TLC_ABI_MINOR >= 2
static tlc_status describe(void* state, tlc_call* call, const tlc_artifact* artifact, tlc_blob** json,
                           tlc_error* error) {
  (void)state, (void)call;
  EXPECT(host->artifact_member_count(artifact) == 1);
  return give(json, "{\"members\": {\"out\": {\"format\": \"" ENGINE "\"}}}", error);
}
#endif
#endif

__attribute__((visibility("default"))) const tlc_plugin_desc tlc_plugin_desc_v1 = {
    .magic = TLC_PLUGIN_MAGIC,
    .struct_size = TLC_SIZEOF(tlc_plugin_desc, build_id),
    .abi_major = TLC_ABI_MAJOR,
    .abi_minor = MINOR,
    .min_host_minor = 0,
    .name = ENGINE,
    .version = "1",
    .license = "MIT",
};

__attribute__((visibility("default"))) tlc_status tlc_plugin_init_v1(const tlc_host_api* h, const tlc_backend_ops** ops,
                                                                     void** state, tlc_error* error);

tlc_status tlc_plugin_init_v1(const tlc_host_api* h, const tlc_backend_ops** ops, void** state, tlc_error* error) {
  static const tlc_backend_ops table = {
    .struct_size = TABLE_SIZE,
    .abi_major = TLC_ABI_MAJOR,
    .abi_minor = MINOR,
    .name = ENGINE " plugin",
    .engine = ENGINE,
    .target_kinds = kinds,
    .caps = TLC_BACKEND_SURVIVES_FORK,
    .resolve_target = resolve_target,
    .identify = identify,
    .compile = compile,
#if !defined(GOLDEN_SHORT)
    .validate = validate,
    .place = place,
    .load = load,
    .symbol = symbol,
    .native = native,
    .unload = unload,
    .probe = probe,
    .close = close_backend,
#if TLC_ABI_MINOR >= 2
    .describe = describe,
#endif
#endif
  };
  host = h;
  if (h->struct_size < TLC_SIZEOF(tlc_host_api, cancelled))
    return h->fail(error, TLC_E_ABI, 0, 0, text("the host's table is too short"));
  *ops = &table;
  *state = &answer;
  return TLC_OK;
}
