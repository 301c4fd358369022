/* SPDX-License-Identifier: MIT */
/**
 * @file backend.h
 * @brief TLCache for backend authors: the vtable, the host's services, registration, plugin files.
 *
 * @section glossary Glossary
 *
 *  target    What code is compiled for: `kind[:arch[:feature...]]`. The library knows the grammar, the backend the meaning.
 *  engine    What compiles, loads and launches for a target. One target kind has several engines; an engine serves several
 *            kinds. A backend is registered for each (target kind, engine) pair.
 *  backend   A tlc_backend_ops with its state. The library dispatches on the pair; nothing in it knows any backend.
 *  request   The typed fields of what is wanted, with whole values: source, options.
 *  bundle    The members that a compile makes. artifact: a bundle that was published, verified and found again.
 *  guard     A file the compile read, and its digest: the artifact is found only while the file is the same.
 *  module    An artifact loaded on a device.
 *
 * @section ten In ten minutes
 *
 *  1. Fill a static const tlc_backend_ops: struct_size = TLC_BACKEND_OPS_SIZE, abi_major/minor = TLC_ABI_*, name, engine,
 *     target_kinds, and the slots you have. A slot that is NULL is not supported; none is required. A backend with only
 *     `identify` and `compile` already gives a cached compiler; one with only `load` loads what others compile.
 *  2. tlc_register_backend(&ops, state, 0, &error), or put it in a plugin file (tlc_plugin_desc_v1, tlc_plugin_init_v1).
 *  3. In a slot, reach the library only through the tlc_host_api you were given: a plugin never links libtlcache.
 *
 * @section rules Rules for slots
 *
 *  - Slots are called from any thread, several at once, with no lock of the library's held (`compile`: the key's compile
 *    lock). `compile` may use the cache; the others must not.
 *  - A slot returns a tlc_status. For anything but TLC_OK it explains itself with host->fail(error, ...). A C++ exception
 *    that leaves a slot is caught and becomes TLC_E_CALLBACK, with its text.
 *  - Artifacts given to `validate` and `load` have passed the library's integrity check, but may come from somebody who
 *    wrote the store: check bounds before handing them to a loader that takes no length.
 *  - `identify` and `resolve_target` run at every look-up: they must not start a compiler when host->memo_get knows the
 *    answer.
 *  - GPU libraries are opened at run time, on the first call that needs them, never when a backend is registered.
 */
#ifndef TLCACHE_BACKEND_H
#define TLCACHE_BACKEND_H

#include "tlcache.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One call of a slot: the cache it is for, its deadline and cancel token. Valid until the slot returns. */
typedef struct tlc_call tlc_call;

/**
 * The library's services. Passed to tlc_plugin_init_v1 and, for a registered backend, by tlc_host(). Appended to, never
 * changed; check struct_size before using a function newer than the version you were built for. @since 0.1
 */
typedef struct tlc_host_api {
  size_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;

  /* ---- 0.1 ---- */
  /** Writes a line to the log. level: TLC_LOG_*. */
  void (*log)(int32_t level, tlc_str component, tlc_str message);
  /** Fills an error (NULL is fine) and returns status, so that a slot can `return host->fail(...)`. */
  tlc_status (*fail)(tlc_error* error, tlc_status status, int32_t sys_errno, int64_t backend_code, tlc_str message);
  /** Bytes for an out parameter; copied. NULL when out of memory. */
  tlc_blob* (*blob_create)(const void* data, size_t len);
  const char* (*blob_data)(const tlc_blob* blob, size_t* len);
  void (*blob_release)(tlc_blob* blob);

  /** Fields of a request. As the tlc_request_ and tlc_value_ functions of tlcache.h. */
  const tlc_value* (*request_find)(const tlc_request* request, tlc_str name);
  uint32_t (*value_type)(const tlc_value* value);
  tlc_str (*value_text)(const tlc_value* value);
  tlc_status (*value_int)(const tlc_value* value, int64_t* out);
  tlc_status (*value_f64)(const tlc_value* value, double* out);
  size_t (*value_count)(const tlc_value* value);
  const tlc_value* (*value_at)(const tlc_value* value, size_t index, tlc_str* name);

  /** What a compile makes. As the tlc_bundle_ functions. */
  tlc_status (*bundle_add)(tlc_bundle* bundle, tlc_str name, uint32_t type, const void* data, size_t len,
                           uint32_t flags, tlc_error* error);
  tlc_status (*bundle_add_guard)(tlc_bundle* bundle, tlc_str path, const uint8_t* digest, tlc_error* error);
  tlc_status (*bundle_add_absent)(tlc_bundle* bundle, tlc_str path, tlc_error* error);
  void (*log_append)(tlc_log* log, tlc_str text);

  /** What is loaded. As the tlc_artifact_ functions. */
  size_t (*artifact_member_count)(const tlc_artifact* artifact);
  tlc_status (*artifact_member_at)(const tlc_artifact* artifact, size_t index, tlc_member* member, tlc_error* error);
  tlc_status (*artifact_find)(const tlc_artifact* artifact, tlc_str name, tlc_member* member, tlc_error* error);
  tlc_status (*artifact_folder)(tlc_artifact* artifact, tlc_blob** path, tlc_error* error);
  /** The target the artifact was keyed for; borrowed from it. */
  tlc_str (*artifact_target)(const tlc_artifact* artifact);

  /**
   * Identity of a file by content: its ELF build id, else BLAKE2b-256 of its bytes. Remembered in the store by (device,
   * inode, size, mtime, ctime), so that asking again costs one stat. digest: TLC_DIGEST_SIZE bytes.
   */
  tlc_status (*file_identity)(tlc_call* call, tlc_str path, uint8_t* digest, tlc_error* error);
  /** BLAKE2b-256 of a file's bytes, remembered likewise; what a guard compares. */
  tlc_status (*file_digest)(tlc_call* call, tlc_str path, uint8_t* digest, tlc_error* error);
  /**
   * Small facts the backend wants to keep between processes (where a compiler's parts are, what `native` means), by a key
   * of its own that must name everything the fact depends on. memo_get: TLC_OK or TLC_MISS. At most 64 KiB a value.
   */
  tlc_status (*memo_get)(tlc_call* call, const void* key, size_t key_len, tlc_blob** value, tlc_error* error);
  tlc_status (*memo_put)(tlc_call* call, const void* key, size_t key_len, const void* value, size_t value_len,
                         tlc_error* error);
  /** 1 when the caller gave up: end the compile and return TLC_E_CANCELLED. */
  int32_t (*cancelled)(const tlc_call* call);
} tlc_host_api;

/** The library's services, for a backend that is linked to it rather than loaded as a plugin. Static. @since 0.1 */
TLC_API const tlc_host_api* tlc_host(void);

enum {
  /** Code runs on the machine that compiled it: machine, system and libc enter the key (`tlc.host`). */
  TLC_BACKEND_HOST_BOUND = 1 << 0,
  /** A loaded module still works in a forked child. */
  TLC_BACKEND_SURVIVES_FORK = 1 << 1
};

/**
 * A backend. Everything up to `caps` is the frozen prefix: the same under every ABI version. Slots are appended in release
 * bands, never inserted, retyped or removed. The library copies the table when it is registered and never reads it again;
 * the strings and functions must live as long as the process. @since 0.1
 */
typedef struct tlc_backend_ops {
  size_t struct_size; /**< TLC_BACKEND_OPS_SIZE of the header the backend was built with. */
  uint32_t abi_major; /**< TLC_ABI_MAJOR of that header. */
  uint32_t abi_minor; /**< TLC_ABI_MINOR of that header. */
  const void* next;   /**< NULL. Room for extensions. */
  const char* name;   /**< For people: "Host C compiler". */
  const char* engine; /**< The engine it is registered for. */
  const char* const* target_kinds; /**< NULL-terminated list of target kinds, one or more. */
  uint64_t caps;                   /**< TLC_BACKEND_* */

  /* ---- 0.1 ---- */
  /** Makes a target with `auto` or `native` into one without (`kind:arch:features`, any spelling; it is made canonical). */
  tlc_status (*resolve_target)(void* state, tlc_call* call, tlc_str target, tlc_blob** resolved, tlc_error* error);
  /** Identity of what would really compile this request, as bytes for the key's toolchain field. */
  tlc_status (*identify)(void* state, tlc_call* call, const tlc_request* request, tlc_str target, tlc_blob** identity,
                         tlc_error* error);
  /** Compiles: members, guards and log. target is resolved. */
  tlc_status (*compile)(void* state, tlc_call* call, const tlc_request* request, tlc_str target, tlc_bundle* bundle,
                        tlc_log* log, tlc_error* error);
  /** Whether the artifact is whole and fits the device, before `load` sees it. TLC_REJECTED with a reason if not. */
  tlc_status (*validate)(void* state, tlc_call* call, const tlc_artifact* artifact, const tlc_load_options* options,
                         tlc_error* error);
  /** Number of the place (device, context) where a load with these options goes; modules are shared per place. */
  tlc_status (*place)(void* state, tlc_call* call, const tlc_load_options* options, uint64_t* place, tlc_error* error);
  /** Loads. *module is the backend's own; the artifact stays alive until unload. */
  tlc_status (*load)(void* state, tlc_call* call, tlc_artifact* artifact, const tlc_load_options* options,
                     void** module, tlc_error* error);
  /** Address of a symbol in a module. */
  tlc_status (*symbol)(void* state, void* module, tlc_str name, void** address, tlc_error* error);
  /** The handle applications know (a driver's module handle). NULL slot: the module pointer itself. */
  void* (*native)(void* state, void* module);
  /** Ends a module. Called once, from any thread. */
  void (*unload)(void* state, void* module);
  /** What was found on this machine, as a JSON object; TLC_E_UNAVAILABLE and a reason where it cannot work. */
  tlc_status (*probe)(void* state, tlc_call* call, tlc_blob** json, tlc_error* error);
  /** Ends the backend: at unregister, after the last running call. */
  void (*close)(void* state);

  /* ---- 0.2 ---- */
  /**
   * What the artifact's binaries say of themselves, for people and tools: a JSON object `{"members": {NAME: {...}}}`, each
   * with `format` and whatever else can be read without a device: `archs`, `kernels` (a list of objects with a `name`),
   * `symbols`. As for `validate`, the bytes may be anybody's.
   */
  tlc_status (*describe)(void* state, tlc_call* call, const tlc_artifact* artifact, tlc_blob** json, tlc_error* error);
} tlc_backend_ops;

/** struct_size of the table in this header. */
#define TLC_BACKEND_OPS_SIZE TLC_SIZEOF(tlc_backend_ops, describe)
/** The part every table has: up to caps. */
#define TLC_BACKEND_OPS_PREFIX TLC_SIZEOF(tlc_backend_ops, caps)

enum {
  TLC_REGISTER_OVERRIDE = 1 << 0, /**< Take the pair over from the backend that has it. */
  TLC_REGISTER_DEFAULT = 1 << 1   /**< Make its engine the default of its target kinds. (The first one is, otherwise.) */
};

/**
 * Registers a backend for this process, for every (target kind, engine) pair it names; all or none. Registering the same
 * table and state again does nothing.
 * @return TLC_OK, TLC_E_INVALID, TLC_E_ABI, TLC_E_EXISTS. On failure `close` is not called.
 * @since 0.1
 */
TLC_API tlc_status tlc_register_backend(const tlc_backend_ops* ops, void* state, uint32_t flags, tlc_error* error);
/** Registers a backend for one cache only, before those of the process. @since 0.1 */
TLC_API tlc_status tlc_cache_register_backend(tlc_cache* cache, const tlc_backend_ops* ops, void* state, uint32_t flags,
                                              tlc_error* error);
/**
 * Takes a backend out, waits for its running calls and its modules' end, then calls `close`. Not from one of its slots.
 * @return TLC_OK, TLC_E_NOT_FOUND, TLC_E_BUSY (modules of it are alive; nothing was changed)
 * @since 0.1
 */
TLC_API tlc_status tlc_unregister_backend(const tlc_backend_ops* ops, void* state, tlc_error* error);

/* ---------------------------------------------------------------- plugin files */

/** "TLCPLUG1" as a little-endian number. */
#define TLC_PLUGIN_MAGIC UINT64_C(0x3147554c50434c54)

/**
 * What a plugin file exports as the data symbol `tlc_plugin_desc_v1`: read before any of its code is called. @since 0.1
 */
typedef struct tlc_plugin_desc {
  uint64_t magic;          /**< TLC_PLUGIN_MAGIC */
  size_t struct_size;      /**< TLC_SIZEOF(tlc_plugin_desc, build_id) */
  uint32_t abi_major;      /**< TLC_ABI_MAJOR it was built with. */
  uint32_t abi_minor;      /**< TLC_ABI_MINOR it was built with. */
  uint32_t min_host_minor; /**< Oldest ABI minor of a host that it works with. */
  uint32_t reserved;       /**< 0 */
  const char* name;        /**< "mybackend" */
  const char* version;     /**< Its own version. */
  const char* license;     /**< SPDX identifier. */
  const char* build_id;    /**< Of the library it belongs to, or NULL for a plugin of somebody else's. */
} tlc_plugin_desc;

/**
 * The function a plugin file exports as `tlc_plugin_init_v1`: registers nothing itself, but hands out its table and state.
 * Called once. May refuse with a status and a message.
 */
typedef tlc_status (*tlc_plugin_init_fn)(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                         tlc_error* error);

#define TLC_PLUGIN_DESC_SYMBOL "tlc_plugin_desc_v1"
#define TLC_PLUGIN_INIT_SYMBOL "tlc_plugin_init_v1"

#ifdef __cplusplus
}
#endif

#endif /* TLCACHE_BACKEND_H */
