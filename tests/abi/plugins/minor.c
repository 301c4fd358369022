/* SPDX-License-Identifier: MIT */
/* One plugin, built several times as if with the headers of another ABI minor:
 *   MINOR_OLD        ABI 0.0, whose table ended after `compile`: all later slots lie outside its memory
 *   MINOR_NEW        a later minor, whose table has slots that this library does not know, filled with nonsense
 *   MINOR_DEMANDING  a later minor that says it cannot work with an older host
 * The table ends where readable memory ends, so that a host which reads past struct_size dies of it.
 * Linked to nothing: what it needs of the library it gets through the host's table. */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <tlcache/backend.h>
#include <unistd.h>

#if defined(MINOR_OLD)
#define KIND "oldminor"
#define ABI_MINOR (TLC_ABI_MINOR - 1)
#define MIN_HOST 0
#define TABLE_SIZE TLC_SIZEOF(tlc_backend_ops, compile)
#elif defined(MINOR_NEW)
#define KIND "newminor"
#define ABI_MINOR (TLC_ABI_MINOR + 5)
#define MIN_HOST TLC_ABI_MINOR
#define TABLE_SIZE (TLC_BACKEND_OPS_SIZE + 4 * sizeof(void*))
#else
#define KIND "demanding"
#define ABI_MINOR (TLC_ABI_MINOR + 5)
#define MIN_HOST (TLC_ABI_MINOR + 3)
#define TABLE_SIZE TLC_BACKEND_OPS_SIZE
#endif

static const tlc_host_api* host;
static const char* const kinds[] = {KIND, NULL};

static tlc_str text(const char* s) {
  tlc_str out = {s, strlen(s)};
  return out;
}

static tlc_status identify(void* state, tlc_call* call, const tlc_request* request, tlc_str target, tlc_blob** identity,
                           tlc_error* error) {
  (void)state, (void)call, (void)request, (void)target;
  *identity = host->blob_create(KIND, sizeof(KIND) - 1);
  return *identity != NULL ? TLC_OK : host->fail(error, TLC_E_NOMEM, 0, 0, text("no memory"));
}

static tlc_status compile(void* state, tlc_call* call, const tlc_request* request, tlc_str target, tlc_bundle* bundle,
                          tlc_log* log, tlc_error* error) {
  (void)state, (void)call, (void)request, (void)target;
  host->log_append(log, text("compiled by " KIND));
  return host->bundle_add(bundle, text("out"), TLC_MEMBER_OPAQUE, KIND, sizeof(KIND) - 1, 0, error);
}

__attribute__((visibility("default"))) const tlc_plugin_desc tlc_plugin_desc_v1 = {
    .magic = TLC_PLUGIN_MAGIC,
    .struct_size = TLC_SIZEOF(tlc_plugin_desc, build_id),
    .abi_major = TLC_ABI_MAJOR,
    .abi_minor = ABI_MINOR,
    .min_host_minor = MIN_HOST,
    .name = KIND,
    .version = "1",
    .license = "MIT",
};

__attribute__((visibility("default"))) tlc_status tlc_plugin_init_v1(const tlc_host_api* h, const tlc_backend_ops** ops,
                                                                     void** state, tlc_error* error);

tlc_status tlc_plugin_init_v1(const tlc_host_api* h, const tlc_backend_ops** ops, void** state, tlc_error* error) {
  host = h;
  /* A plugin of a newer minor looks before it uses what an older host may not have. */
  if (h->struct_size < TLC_SIZEOF(tlc_host_api, cancelled)) {
    return h->fail(error, TLC_E_ABI, 0, 0, text("the host's table is too short"));
  }
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* base = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base + page, page, PROT_NONE) != 0) {
    return h->fail(error, TLC_E_NOMEM, 0, 0, text("no memory"));
  }
  const tlc_backend_ops full = {
      .struct_size = TABLE_SIZE,
      .abi_major = TLC_ABI_MAJOR,
      .abi_minor = ABI_MINOR,
      .name = KIND " plugin",
      .engine = "abi-test",
      .target_kinds = kinds,
      .identify = identify,
      .compile = compile,
  };
  char* table = base + page - TABLE_SIZE;
  memset(table, 0x5a, TABLE_SIZE);
  memcpy(table, &full, sizeof(full) < TABLE_SIZE ? sizeof(full) : TABLE_SIZE);
  *ops = (const tlc_backend_ops*)(const void*)table;
  *state = NULL;
  return TLC_OK;
}
