/* SPDX-License-Identifier: MIT */
/**
 * @file tlcache.h
 * @brief TLCache: one cache of compiled kernels for every backend and every language. For applications.
 *
 * @section conventions Conventions
 *
 *  1. Every function that can fail returns a tlc_status: 0 is success, a positive value is an outcome that is no error
 *     (a miss, say), a negative value is an error. Values never change.
 *  2. The last parameter of such a function is a tlc_error the caller owns, or NULL. It is written for every status but
 *     TLC_OK and left alone on success. There is no thread-local last error and nothing in it to free.
 *  3. Text is a tlc_str {data, len}: UTF-8, no terminator needed. {NULL, 0} is empty and, for an option, "the default".
 *     TLC_STRLEN as len means "up to the terminator". Bytes are (pointer, length). Paths are bytes.
 *  4. Every struct the caller fills begins with struct_size. Set it with the struct's init function or TLC_SIZEOF. A
 *     smaller one (an older program) gets defaults for the rest; a larger one is refused unless its unknown tail is zero.
 *  5. _open and _create give an object that _close or _destroy ends; _retain and _release count references. Each accepts
 *     NULL. Out parameters are set to NULL first, so that they can be released whatever happened.
 *  6. A callback is (function, user_data, destroy). user_data is its last parameter. destroy runs exactly once, also when
 *     the call that took it fails; it may run on any thread, never under a lock of the library's.
 *  7. Constants are also listed, by name, by tlc_abi_constants(); struct layouts by tlc_abi_layout().
 *
 * @section threads Threads
 *
 *  Every function may be called from any thread at any time, also on the same object, unless its comment says otherwise.
 *  Builders (tlc_request, tlc_bundle) are the exception: one thread at a time. Release functions never block for long,
 *  never fail and never call back, so that a garbage collector's finalizer may call them from any thread.
 *  The library starts no thread of its own until a cache with a remote has something to ask or to tell it; then one, with
 *  all signals blocked, which tlc_cache_close() ends within two seconds.
 *
 * @section fork Fork
 *
 *  After fork the child may use every handle it inherited: the library notices and opens the store afresh on first use.
 *  Artifacts stay readable. Modules of a device that does not survive fork answer TLC_E_FORKED. A compile lock belongs to
 *  the process that took it: in a child it answers TLC_E_FORKED and ending it there does nothing to the parent's.
 *
 * @section caveats Caveats
 *
 *  - Members of an artifact are mapped from a file of the store. They are verified before you get them and never change
 *    while you hold the artifact; deleting the store's folder does not harm them. Truncating or overwriting the store's
 *    files while programs use them does (SIGBUS, as with any mapped file): use tlc_artifact_read() where others can do so.
 *  - Holding an artifact keeps its file's disk blocks, also after eviction. tlc_stats.unlinked_bytes shows how much.
 *  - A store belongs on a local file system. On a network one the library puts it into a local folder and uses the folder
 *    that was asked for as a remote, shared with this user's other machines (tlc_cache_describe says so).
 *  - A store is private to one user (mode 0700). What it checks by default guards against accidents, not against somebody
 *    who can write to it. docs/security.md says who trusts whom.
 *  - A store that cannot be used does not fail your program: the cache then works from memory and tlc_cache_describe says
 *    why. Ask for TLC_OPEN_STRICT to get an error instead.
 *  - File digests and compiler identities are remembered by (device, inode, size, mtime, ctime). A file rewritten within
 *    two seconds of being read is read again; one whose clock-stamps are forged is not noticed.
 *  - `auto` and `native` in a target are resolved by its backend before a key exists; a key with either is refused.
 *
 * The ABI is 0.x and may still change until it is frozen; docs/abi.md says what is promised.
 */
#ifndef TLCACHE_TLCACHE_H
#define TLCACHE_TLCACHE_H

#include <stddef.h>
#include <stdint.h>

#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- status, text, errors */

/** Result of a call: 0, a positive outcome, or a negative error. @since 0.1 */
typedef int32_t tlc_status;

enum {
  TLC_OK = 0,            /**< Done. For a look-up: a hit. */
  TLC_MISS = 1,          /**< Nothing is stored for this key. */
  TLC_REJECTED = 2,      /**< Something is stored but unusable (damaged, foreign). Acts as a miss; the next publish
                              replaces it. The error says what was wrong. */
  TLC_NOT_STORED = 3,    /**< The artifact could not be kept (disk full, read-only, lock not had in time). The artifact
                              handed back, if any, is usable all the same. */
  TLC_EXISTED = 4,       /**< The key was already published; what is stored was kept. */
  TLC_CONFLICT = 5,      /**< Another generation was published since the one the caller saw. */
  TLC_TIMEOUT = 6,       /**< The deadline passed. */
  TLC_LOCKED = 7,        /**< You hold the compile lock: compile, then end it. */
  TLC_TOO_LARGE = 8,     /**< The artifact is larger than an eighth of the store's limit. Not stored. */

  TLC_E_INVALID = -1,     /**< An argument is wrong; the message says which and why. */
  TLC_E_NOMEM = -2,       /**< Out of memory. */
  TLC_E_IO = -3,          /**< The system refused; sys_errno has its code. */
  TLC_E_INTERNAL = -4,    /**< A fault of the library's. Please report the message. */
  TLC_E_UNSUPPORTED = -5, /**< Not supported here, or an option this library is too old for. */
  TLC_E_ABI = -6,         /**< Header, library or plugin do not fit together. */
  TLC_E_EXISTS = -7,      /**< The pair of target kind and engine has another backend already. */
  TLC_E_NOT_FOUND = -8,   /**< No such backend, member, symbol or namespace; the message lists what there is. */
  TLC_E_UNCACHEABLE = -9, /**< The request cannot be keyed: unresolved target, unknown toolchain, value of no type. */
  TLC_E_COMPILE = -10,    /**< The compiler refused the source; its log came back. */
  TLC_E_LOAD = -11,       /**< The loader or driver refused the artifact. */
  TLC_E_UNAVAILABLE = -12, /**< The backend cannot work on this machine; the message says what is missing. */
  TLC_E_CANCELLED = -13,  /**< The caller's cancel token was triggered. */
  TLC_E_FORKED = -14,     /**< The object belongs to the parent process. */
  TLC_E_CALLBACK = -15,   /**< A callback asked to stop. The library itself never makes this code. */
  TLC_E_DENIED = -16,     /**< Refused for trust: owner, mode, signature, or plugins not allowed. */
  TLC_E_BUSY = -17,       /**< In use elsewhere. */
  TLC_E_CORRUPT = -18     /**< Stored bytes are not what was stored. */
};

/** UTF-8 text (or, for a path, bytes) that somebody else owns. @since 0.1 */
typedef struct tlc_str {
  const char* data;
  size_t len;
} tlc_str;

/** As tlc_str.len: data ends with a NUL. */
#define TLC_STRLEN SIZE_MAX

/** A tlc_str over a NUL-terminated string; NULL gives the empty text. @since 0.1 */
TLC_API tlc_str tlc_str_from(const char* text);

/** Size of a struct up to the end of its last member; what struct_size holds. */
#define TLC_SIZEOF(type, last) (offsetof(type, last) + sizeof(((type*)0)->last))

/** Detail of a status. Set struct_size (tlc_error_init) and pass it; all else is written by the library. @since 0.1 */
typedef struct tlc_error {
  size_t struct_size;      /**< Set by the caller. */
  int32_t code;            /**< The status this belongs to. */
  int32_t sys_errno;       /**< errno behind it, or 0. */
  int64_t backend_code;    /**< The backend's or driver's own code, or 0. */
  uint64_t message_length; /**< Bytes of the whole message, also when it was cut. */
  char message[512];       /**< NUL-terminated UTF-8, cut at a code point. */
} tlc_error;

/** Clears an error and sets its struct_size. @since 0.1 */
TLC_API void tlc_error_init(tlc_error* error);

/** The constant's name ("TLC_E_IO"); "?" for an unknown one. Static. @since 0.1 */
TLC_API const char* tlc_status_name(tlc_status status);

/** What it means in a few words. Static. @since 0.1 */
TLC_API const char* tlc_status_message(tlc_status status);

/** Bytes that the library allocated for the caller: a log, a report. @since 0.1 */
typedef struct tlc_blob tlc_blob;

/** The bytes and, if len is not NULL, their number. A NUL follows the last one. Valid until release. @since 0.1 */
TLC_API const char* tlc_blob_data(const tlc_blob* blob, size_t* len);
TLC_API void tlc_blob_release(tlc_blob* blob);

/* ---------------------------------------------------------------- version and layout */

/** TLC_VERSION of the running library. @since 0.1 */
TLC_API uint32_t tlc_version(void);
/** "0.1.0". Static. @since 0.1 */
TLC_API const char* tlc_version_string(void);
/** (ABI major << 16) | ABI minor of the running library. @since 0.1 */
TLC_API uint32_t tlc_abi_version(void);
/** How the library was built: compiler, options, versions of its libraries. No path, no date. Static. @since 0.1 */
TLC_API const char* tlc_build_info(void);

enum {
  TLC_FEATURE_STORE = 1 << 0,   /**< The local store. */
  TLC_FEATURE_PLUGINS = 1 << 1, /**< Backends from plugin files. */
  TLC_FEATURE_PACKS = 1 << 2,   /**< Read-only packs. */
  TLC_FEATURE_REMOTES = 1 << 3  /**< Remote tiers. */
};
/** TLC_FEATURE_* bits of the running library. @since 0.1 */
TLC_API uint64_t tlc_features(void);

/** One struct, or one member of a struct, of the public ABI. @since 0.1 */
typedef struct tlc_layout {
  const char* struct_name;
  const char* member; /**< NULL: the struct itself. */
  uint64_t offset;
  uint64_t size;
} tlc_layout;
/** All structs and members, for a binding to check its mirror against. Static. @since 0.1 */
TLC_API const tlc_layout* tlc_abi_layout(size_t* count);

/** A named constant. @since 0.1 */
typedef struct tlc_constant {
  const char* name;
  int64_t value;
} tlc_constant;
/** All public constants. Static. @since 0.1 */
TLC_API const tlc_constant* tlc_abi_constants(size_t* count);

/* ---------------------------------------------------------------- log */

enum { TLC_LOG_OFF = 0, TLC_LOG_ERROR = 1, TLC_LOG_WARN = 2, TLC_LOG_INFO = 3, TLC_LOG_DEBUG = 4 };

/** Takes one line without its newline. May be called from any thread; must not call the library. */
typedef void (*tlc_log_fn)(int32_t level, tlc_str component, tlc_str message, void* user_data);

/**
 * Sets where log lines of this process go; NULL: back to the default, which is silent unless TLC_LOG asks for standard
 * error.
 * @param level  least severe level wanted (TLC_LOG_*)
 * @since 0.1
 */
TLC_API tlc_status tlc_set_log(int32_t level, tlc_log_fn fn, void* user_data, void (*destroy)(void*),
                               tlc_error* error);

/* ---------------------------------------------------------------- cache */

/** An open cache. Several in one process on the same folder share one store. */
typedef struct tlc_cache tlc_cache;

enum {
  TLC_OPEN_STRICT = 1 << 0,        /**< Fail when the store cannot be used, instead of working from memory. */
  TLC_OPEN_READ_ONLY = 1 << 1,     /**< Never write to the store. Compile locks are then in-process only. */
  TLC_OPEN_DURABLE = 1 << 2,       /**< Sync a payload before it is published: survives power loss. */
  TLC_OPEN_VERIFY_STRICT = 1 << 3, /**< Check BLAKE2b content hashes under the MAC, not only XXH3-128. */
  TLC_OPEN_ALLOW_PLUGINS = 1 << 4, /**< Load plugin files from TLC_BACKEND_PATH. */
  TLC_OPEN_MEMORY = 1 << 5,        /**< No store: keep artifacts in this process only. */
  TLC_OPEN_NO_ENV = 1 << 6         /**< Ignore TLC_* environment variables. */
};

/** How to open a cache. Zero is the default for every member. @since 0.1 */
typedef struct tlc_cache_options {
  size_t struct_size;
  tlc_str directory;    /**< The store's folder; made if missing. Default: TLC_DIR, else $XDG_CACHE_HOME/tlcache, else
                             ~/.cache/tlcache. */
  uint64_t limit_bytes; /**< Limit of a store that this call creates (default: 10 GiB, at most a tenth of the file
                             system and half of what is free in it). An existing store keeps its own. */
  uint64_t flags;       /**< TLC_OPEN_* */

  /* ---- 0.3 ---- */
  tlc_str remotes; /**< URLs of remotes, white space between them; asked in this order (docs/remotes.md). "none": not even
                        the one that is made of a folder on a network file system. TLC_REMOTES overrides it. @since 0.3 */
} tlc_cache_options;

/** Clears the options as they were in 0.1, up to `flags`, and sets struct_size to that: what a program that was built with that
    version's header has room for. Programs built with this header call tlc_cache_options_init_sized() by this name.
    @since 0.1 */
TLC_API void tlc_cache_options_init(tlc_cache_options* options);
/** Clears the first `size` bytes of the options, which are those that the caller's header has, and sets struct_size.
    @since 0.3 */
TLC_API void tlc_cache_options_init_sized(tlc_cache_options* options, size_t size);
#define tlc_cache_options_init(options) tlc_cache_options_init_sized((options), TLC_SIZEOF(tlc_cache_options, remotes))

/**
 * Opens the cache. Creates the store's folder (mode 0700) on first use. Does not wait for a rebuild of a damaged index:
 * that goes on behind it. Without TLC_OPEN_STRICT it succeeds also when no store can be used.
 * @param options  NULL: all defaults
 * @param[out] cache  to be closed
 * @return TLC_OK, TLC_E_INVALID, TLC_E_NOMEM; strict: TLC_E_IO, TLC_E_DENIED, TLC_E_UNSUPPORTED
 * @since 0.1
 */
TLC_API tlc_status tlc_cache_open(const tlc_cache_options* options, tlc_cache** cache, tlc_error* error);

/** Closes the cache. Artifacts, modules and compile locks taken from it stay valid. With remotes, waits up to two seconds for
    what is queued for them; the rest stays queued in the store, for the next process. @since 0.1 */
TLC_API void tlc_cache_close(tlc_cache* cache);

/* ---------------------------------------------------------------- requests and keys */

/** What is wanted: typed fields, target, engine, toolchain. A builder: one thread at a time. */
typedef struct tlc_request tlc_request;
/** The fields that determine an artifact, encoded, and their 32-byte digest. Immutable. docs/key-format.md. */
typedef struct tlc_key tlc_key;

enum { TLC_DIGEST_SIZE = 32 };

enum {
  TLC_FIELD_DIGEST_ONLY = 1 << 0 /**< Keep only type, length and digest of the value in the stored key. */
};

/**
 * A request in a namespace (`myapp`, `triton/3.6`): 1 to 128 of [A-Za-z0-9._/+-]. Names that begin `tlc.` are refused.
 * @since 0.1
 */
TLC_API tlc_status tlc_request_create(tlc_str name_space, tlc_request** request, tlc_error* error);
TLC_API void tlc_request_destroy(tlc_request* request);

/** The target, `kind[:arch[:feature...]]`. Default: none (an artifact for no particular target). @since 0.1 */
TLC_API tlc_status tlc_request_set_target(tlc_request* request, tlc_str target, tlc_error* error);
/** The engine. Default: the default engine of the target's kind, or none. @since 0.1 */
TLC_API tlc_status tlc_request_set_engine(tlc_request* request, tlc_str engine, tlc_error* error);
/** Identity of the toolchain, where no backend says it: a version and build, a digest. Enters the key. @since 0.1 */
TLC_API tlc_status tlc_request_set_toolchain(tlc_request* request, const void* data, size_t len, tlc_error* error);
/** States that nothing compiles this artifact, so that its key needs no toolchain. @since 0.1 */
TLC_API tlc_status tlc_request_set_no_toolchain(tlc_request* request, tlc_error* error);
/** A label for people (`matmul 128x128`), shown by the tools. Never in the key. For what tlc_cache_get_or_compile
    publishes; a put takes the bundle's. @since 0.1 */
TLC_API tlc_status tlc_request_set_label(tlc_request* request, tlc_str label, tlc_error* error);
/** An artifact without a member of this name is incomplete: not stored, and a look-up of it misses. @since 0.1 */
TLC_API tlc_status tlc_request_require_member(tlc_request* request, tlc_str name, tlc_error* error);

/*
 * Fields. A name is UTF-8, 1 to 255 bytes, unique; inside a list it must be empty, inside a map unique there. Order of
 * fields and map entries does not matter. The first error is kept: a later call answers it again. flags: TLC_FIELD_*.
 */
TLC_API tlc_status tlc_request_add_null(tlc_request* request, tlc_str name, uint32_t flags, tlc_error* error);
/** value: 0 is false, anything else true. @since 0.1 */
TLC_API tlc_status tlc_request_add_bool(tlc_request* request, tlc_str name, int32_t value, uint32_t flags,
                                        tlc_error* error);
TLC_API tlc_status tlc_request_add_int(tlc_request* request, tlc_str name, int64_t value, uint32_t flags,
                                       tlc_error* error);
/** The same type as tlc_request_add_int: 5 and 5u are one value. @since 0.1 */
TLC_API tlc_status tlc_request_add_uint(tlc_request* request, tlc_str name, uint64_t value, uint32_t flags,
                                        tlc_error* error);
/** By its bits: -0.0 differs from 0.0; all NaN are one. @since 0.1 */
TLC_API tlc_status tlc_request_add_f64(tlc_request* request, tlc_str name, double value, uint32_t flags,
                                       tlc_error* error);
TLC_API tlc_status tlc_request_add_text(tlc_request* request, tlc_str name, tlc_str value, uint32_t flags,
                                        tlc_error* error);
TLC_API tlc_status tlc_request_add_bytes(tlc_request* request, tlc_str name, const void* data, size_t len,
                                         uint32_t flags, tlc_error* error);
/** digest: TLC_DIGEST_SIZE bytes. @since 0.1 */
TLC_API tlc_status tlc_request_add_digest(tlc_request* request, tlc_str name, const uint8_t* digest, uint32_t flags,
                                          tlc_error* error);
/** Opens a list; what is added until tlc_request_end are its elements, in order. @since 0.1 */
TLC_API tlc_status tlc_request_begin_list(tlc_request* request, tlc_str name, uint32_t flags, tlc_error* error);
/** Opens a map; what is added until tlc_request_end are its entries. @since 0.1 */
TLC_API tlc_status tlc_request_begin_map(tlc_request* request, tlc_str name, uint32_t flags, tlc_error* error);
/** Closes the innermost list or map. @since 0.1 */
TLC_API tlc_status tlc_request_end(tlc_request* request, tlc_error* error);

/** A field's whole value, as the request holds it (a long one too). Borrowed from the request. */
typedef struct tlc_value tlc_value;

enum {
  TLC_TYPE_NULL = 0,
  TLC_TYPE_BOOL = 1,
  TLC_TYPE_INT = 2,
  TLC_TYPE_F64 = 3,
  TLC_TYPE_TEXT = 4,
  TLC_TYPE_BYTES = 5,
  TLC_TYPE_DIGEST = 6,
  TLC_TYPE_LIST = 7,
  TLC_TYPE_MAP = 8
};

/** The field of this name; NULL if there is none. @since 0.1 */
TLC_API const tlc_value* tlc_request_find(const tlc_request* request, tlc_str name);
/** TLC_TYPE_*; NULL has type null. @since 0.1 */
TLC_API uint32_t tlc_value_type(const tlc_value* value);
/** The bytes of a text, bytes or digest; empty for other types. @since 0.1 */
TLC_API tlc_str tlc_value_text(const tlc_value* value);
/** A bool (0 or 1) or an int that fits. @return TLC_OK, TLC_E_INVALID (another type, or out of range). @since 0.1 */
TLC_API tlc_status tlc_value_int(const tlc_value* value, int64_t* out);
/** An f64, or an int converted. @return TLC_OK, TLC_E_INVALID. @since 0.1 */
TLC_API tlc_status tlc_value_f64(const tlc_value* value, double* out);
/** Elements of a list or entries of a map; 0 for other types. @since 0.1 */
TLC_API size_t tlc_value_count(const tlc_value* value);
/** Element or entry by position; *name (if not NULL) gets an entry's name. NULL beyond the end. @since 0.1 */
TLC_API const tlc_value* tlc_value_at(const tlc_value* value, size_t index, tlc_str* name);
/** The request's target, engine, namespace or label as it was set; empty if it was not. @since 0.1 */
TLC_API tlc_str tlc_request_target(const tlc_request* request);
TLC_API tlc_str tlc_request_engine(const tlc_request* request);
TLC_API tlc_str tlc_request_namespace(const tlc_request* request);
TLC_API tlc_str tlc_request_label(const tlc_request* request);

/**
 * Makes the request's key: resolves `auto` and `native` in the target, picks the default engine, adds the toolchain's
 * identity (each by the registered backend). Does not start a compiler when the backend's answers are remembered.
 * @return TLC_OK, TLC_E_INVALID, TLC_E_UNCACHEABLE, TLC_E_NOT_FOUND, TLC_E_UNAVAILABLE, the backend's error
 * @since 0.1
 */
TLC_API tlc_status tlc_cache_key(tlc_cache* cache, const tlc_request* request, tlc_key** key, tlc_error* error);
/** The same without a cache or a backend: target, engine and toolchain must be stated. @since 0.1 */
TLC_API tlc_status tlc_request_key(const tlc_request* request, tlc_key** key, tlc_error* error);
/** A key from its encoding, which must be canonical. @since 0.1 */
TLC_API tlc_status tlc_key_decode(const void* encoding, size_t len, tlc_key** key, tlc_error* error);
TLC_API tlc_key* tlc_key_retain(tlc_key* key);
TLC_API void tlc_key_release(tlc_key* key);
/** The 32 bytes that name the artifact. Borrowed from the key. @since 0.1 */
TLC_API const uint8_t* tlc_key_digest(const tlc_key* key);
/** The encoding and its length. Borrowed from the key. @since 0.1 */
TLC_API const uint8_t* tlc_key_encoding(const tlc_key* key, size_t* len);
/** JSON object: digest, namespace, target, engine and the fields as text. @since 0.1 */
TLC_API tlc_status tlc_key_describe(const tlc_key* key, tlc_blob** json, tlc_error* error);
/** JSON array of differences between two keys: {path, kind, was, now}. @since 0.1 */
TLC_API tlc_status tlc_key_diff(const tlc_key* was, const tlc_key* now, tlc_blob** json, tlc_error* error);

/* ---------------------------------------------------------------- bundles: what is published */

/** Members to publish under a key. A builder: one thread at a time. */
typedef struct tlc_bundle tlc_bundle;

enum {
  TLC_MEMBER_OPAQUE = 0,        /**< Bytes the library knows nothing of. */
  TLC_MEMBER_SHARED_OBJECT = 1, /**< A library for dlopen. */
  TLC_MEMBER_DEVICE_BINARY = 2, /**< Device code that a driver loads. */
  TLC_MEMBER_DEVICE_IR = 3,     /**< Device code that a driver compiles further. */
  TLC_MEMBER_SOURCE = 4,        /**< Source text. */
  TLC_MEMBER_JSON = 5,          /**< Metadata as JSON. */
  TLC_MEMBER_OBJECT = 6         /**< A relocatable object. */
};

enum {
  TLC_BUNDLE_BORROW = 1 << 0 /**< Do not copy: the bytes stay valid and unchanged until the bundle is destroyed. */
};

TLC_API tlc_status tlc_bundle_create(tlc_bundle** bundle, tlc_error* error);
TLC_API void tlc_bundle_destroy(tlc_bundle* bundle);
/**
 * Adds a member. Its name is that of a file in a folder: 1 to 255 bytes of UTF-8, no `/`, no NUL, not `.` or `..`, unique
 * in the bundle. A member may be empty. At most 4096 members.
 * @param type  TLC_MEMBER_*; unknown values are kept as they are
 * @since 0.1
 */
TLC_API tlc_status tlc_bundle_add(tlc_bundle* bundle, tlc_str name, uint32_t type, const void* data, size_t len,
                                  uint32_t flags, tlc_error* error);
/** How long the compile took, in microseconds: weighs against eviction, and is what a hit saves. @since 0.1 */
TLC_API tlc_status tlc_bundle_set_compile_time(tlc_bundle* bundle, uint64_t microseconds, tlc_error* error);
/** Label for people. Overrides the request's. @since 0.1 */
TLC_API tlc_status tlc_bundle_set_label(tlc_bundle* bundle, tlc_str label, tlc_error* error);
/**
 * A file the compile read (absolute path). The artifact is then found only while the file has this content.
 * @param digest  BLAKE2b-256 of the content the compile saw, or NULL: the library reads the file now
 * @since 0.1
 */
TLC_API tlc_status tlc_bundle_add_guard(tlc_bundle* bundle, tlc_str path, const uint8_t* digest, tlc_error* error);
/** A path where the compile looked and found nothing. The artifact is found only while nothing is there. @since 0.1 */
TLC_API tlc_status tlc_bundle_add_absent(tlc_bundle* bundle, tlc_str path, tlc_error* error);
/** Another key that must be present for a `closed` look-up to hit this artifact. @since 0.1 */
TLC_API tlc_status tlc_bundle_add_requirement(tlc_bundle* bundle, const tlc_key* key, tlc_error* error);

/* ---------------------------------------------------------------- artifacts: what is found */

/** A verified, immutable artifact. The handle is the only pin: members are valid until it is released. */
typedef struct tlc_artifact tlc_artifact;

/** One member, borrowed from its artifact. @since 0.1 */
typedef struct tlc_member {
  size_t struct_size;
  tlc_str name;
  const void* data; /**< 64-byte aligned. */
  uint64_t size;    /**< Bytes. */
  uint32_t type;    /**< TLC_MEMBER_* */
} tlc_member;

enum { TLC_TIER_MEMORY = 0, TLC_TIER_STORE = 1, TLC_TIER_PACK = 2, TLC_TIER_REMOTE = 3 };

/** Facts about an artifact; texts are borrowed from it. @since 0.1 */
typedef struct tlc_artifact_info {
  size_t struct_size;
  tlc_str name_space;
  tlc_str label;
  const uint8_t* digest;      /**< Its key's digest, TLC_DIGEST_SIZE bytes. */
  uint64_t generation;        /**< Grows with each publish in this store. */
  uint64_t created_ns;        /**< Wall clock, nanoseconds since 1970. */
  uint64_t compile_us;        /**< Microseconds. */
  uint64_t size;              /**< Bytes of all members. */
  uint32_t member_count;
  uint32_t tier;              /**< TLC_TIER_* it came from. */
} tlc_artifact_info;

TLC_API tlc_artifact* tlc_artifact_retain(tlc_artifact* artifact);
/** Any thread, any time, also after tlc_cache_close and in a forked child. @since 0.1 */
TLC_API void tlc_artifact_release(tlc_artifact* artifact);
TLC_API tlc_status tlc_artifact_get_info(const tlc_artifact* artifact, tlc_artifact_info* info, tlc_error* error);
TLC_API size_t tlc_artifact_member_count(const tlc_artifact* artifact);
/** Member by position, in the order they were added. @return TLC_OK, TLC_E_INVALID. @since 0.1 */
TLC_API tlc_status tlc_artifact_member_at(const tlc_artifact* artifact, size_t index, tlc_member* member,
                                          tlc_error* error);
/** Member by name. @return TLC_OK, TLC_E_NOT_FOUND (the message lists the names). @since 0.1 */
TLC_API tlc_status tlc_artifact_find(const tlc_artifact* artifact, tlc_str name, tlc_member* member,
                                     tlc_error* error);
/** The shortest way to the bytes: address and size of member index; NULL if there is none. @since 0.1 */
TLC_API const void* tlc_artifact_data(const tlc_artifact* artifact, size_t index, size_t* size);
/**
 * Copies a member with pread: faster than the mapping for bytes read once, and safe where somebody truncates files.
 * Verified again after copying.
 * @param capacity  bytes in buffer; at least the member's size
 * @return TLC_OK, TLC_E_INVALID (too small), TLC_E_CORRUPT, TLC_E_IO
 * @since 0.1
 */
TLC_API tlc_status tlc_artifact_read(const tlc_artifact* artifact, size_t index, void* buffer, size_t capacity,
                                     tlc_error* error);
/** The key's encoding and its length; NULL where it was stored by digest only. Borrowed. @since 0.1 */
TLC_API const uint8_t* tlc_artifact_key_encoding(const tlc_artifact* artifact, size_t* len);
/**
 * A folder with the members as files under their own names: verified, mode 0500, never changed, kept at least as long as
 * the artifact's handles and the cache are open in this process. For loaders that want a path.
 * @param[out] path  NUL-terminated
 * @return TLC_OK, TLC_E_IO, TLC_E_UNSUPPORTED (no writable folder)
 * @since 0.1
 */
TLC_API tlc_status tlc_artifact_folder(tlc_artifact* artifact, tlc_blob** path, tlc_error* error);

/* ---------------------------------------------------------------- look up and publish */

/**
 * Looks a key up: process table, local store, packs. Makes no system call when this process has seen the artifact.
 * @param[out] artifact  set on TLC_OK; to be released
 * @return TLC_OK, TLC_MISS, TLC_REJECTED, TLC_E_INVALID
 * @since 0.1
 */
TLC_API tlc_status tlc_cache_get(tlc_cache* cache, const tlc_key* key, tlc_artifact** artifact, tlc_error* error);
/**
 * Shown what is stored for a key: facts, and the members with their names, types and sizes but without their bytes (data is
 * NULL). All of it is valid during the call only. It may use the cache.
 * @return 0: a question only, which counts nothing. Anything else: the caller has what it needs, elsewhere, and this
 *         counts as a hit.
 * @since 0.3
 */
typedef int32_t (*tlc_outline_fn)(const tlc_artifact_info* info, const tlc_member* members, size_t count,
                                  void* user_data);
/**
 * Asks what is stored for a key without reading its members: for a caller that has a copy of them, and wants to know whether
 * it is still that of the generation that is stored (info's created_ns and generation, the members' sizes). Links are followed,
 * remotes are not asked. The record's header and its list of members are verified; the members are where the cache was opened
 * with TLC_OPEN_VERIFY_STRICT.
 * @param fn  called once on TLC_OK, else not
 * @return TLC_OK, TLC_MISS and TLC_REJECTED (neither is counted: ask with tlc_cache_get or tlc_cache_begin), TLC_E_INVALID
 * @since 0.3
 */
TLC_API tlc_status tlc_cache_outline(tlc_cache* cache, const tlc_key* key, tlc_outline_fn fn, void* user_data,
                                     tlc_error* error);

/**
 * Publishes a bundle if the key is absent or rejected. All or nothing: readers in any process see the whole of it or none.
 * @param[out] artifact  NULL, or gets what the key now stands for (what was there on TLC_EXISTED; the caller's own members,
 *                       in memory, on TLC_NOT_STORED and TLC_TOO_LARGE)
 * @return TLC_OK, TLC_EXISTED, TLC_NOT_STORED, TLC_TOO_LARGE, TLC_E_INVALID (a bundle without members)
 * @since 0.1
 */
TLC_API tlc_status tlc_cache_put(tlc_cache* cache, const tlc_key* key, const tlc_bundle* bundle,
                                 tlc_artifact** artifact, tlc_error* error);
/**
 * Publishes a new generation in place of the one the caller saw.
 * @param seen  the artifact it replaces; NULL: the key must be absent
 * @return as tlc_cache_put, and TLC_CONFLICT when another generation stands there
 * @since 0.1
 */
TLC_API tlc_status tlc_cache_replace(tlc_cache* cache, const tlc_key* key, const tlc_artifact* seen,
                                     const tlc_bundle* bundle, tlc_artifact** artifact, tlc_error* error);
/** Publishes a new generation with seen's members and the bundle's; a member of the same name is replaced. @since 0.1 */
TLC_API tlc_status tlc_cache_amend(tlc_cache* cache, const tlc_key* key, const tlc_artifact* seen,
                                   const tlc_bundle* bundle, tlc_artifact** artifact, tlc_error* error);
/** Maps one key to another: a look-up of `from` then finds what `to` stands for. @since 0.1 */
TLC_API tlc_status tlc_cache_link(tlc_cache* cache, const tlc_key* from, const tlc_key* to, tlc_error* error);
/** Removes a key. @return TLC_OK, TLC_MISS (it was not there), TLC_NOT_STORED (the store cannot be written). @since 0.1 */
TLC_API tlc_status tlc_cache_remove(tlc_cache* cache, const tlc_key* key, tlc_error* error);
/** Takes this generation of the artifact out, because it turned out unusable. A newer one is left alone. @since 0.1 */
TLC_API tlc_status tlc_cache_invalidate(tlc_cache* cache, const tlc_artifact* artifact, tlc_error* error);
/**
 * Removes all entries of a namespace, or everything when it is empty. Artifacts that are held stay valid.
 * @param[out] removed  NULL, or gets the number of entries
 * @since 0.1
 */
TLC_API tlc_status tlc_cache_clear(tlc_cache* cache, tlc_str name_space, uint64_t* removed, tlc_error* error);

/* ---------------------------------------------------------------- one compile for many */

/** The right to compile a key on this host. Held by one process, and one thread in it, at a time. */
typedef struct tlc_lock tlc_lock;
/** A token that makes waits end. */
typedef struct tlc_cancel tlc_cancel;

TLC_API tlc_status tlc_cancel_create(tlc_cancel** cancel, tlc_error* error);
/** Ends, with TLC_E_CANCELLED, every wait that was given this token, now and later. Async-signal-safe. @since 0.1 */
TLC_API void tlc_cancel_trigger(tlc_cancel* cancel);
TLC_API void tlc_cancel_release(tlc_cancel* cancel);

enum {
  TLC_WAIT_DEFAULT = -1, /**< Ten minutes, or less where the compile time is known. */
  TLC_WAIT_NONE = 0
};

/**
 * Looks the key up and, if it is absent, takes its compile lock, waiting while another process or thread compiles it.
 * Who gets the lock asks the remotes, if there are any: each for two seconds at most, whatever timeout_ms says.
 * @param timeout_ms  milliseconds to wait, TLC_WAIT_DEFAULT or TLC_WAIT_NONE
 * @param cancel      NULL, or a token that ends the wait
 * @param[out] artifact  set on TLC_OK
 * @param[out] lock      set on TLC_LOCKED; end it with publish, fail or abandon, from any thread
 * @return TLC_OK (hit), TLC_LOCKED (you compile), TLC_TIMEOUT (compile for yourself and put), TLC_E_CANCELLED, or the
 *         error with which the thread of this process that compiled it called tlc_lock_fail
 * @since 0.1
 */
TLC_API tlc_status tlc_cache_begin(tlc_cache* cache, const tlc_key* key, int64_t timeout_ms, tlc_cancel* cancel,
                                   tlc_artifact** artifact, tlc_lock** lock, tlc_error* error);
/**
 * Publishes and ends the lock, whatever the status. As tlc_cache_put. Counts as a compile, of the bundle's compile time, or if
 * that was not set of the time since the lock was taken.
 * @since 0.1
 */
TLC_API tlc_status tlc_lock_publish(tlc_lock* lock, const tlc_bundle* bundle, tlc_artifact** artifact,
                                    tlc_error* error);
/** Ends the lock; threads here that wait get this status and message (TLC_E_CANCELLED: one compiles), others compile. @since 0.1 */
TLC_API void tlc_lock_fail(tlc_lock* lock, tlc_status status, tlc_str message);
/** Ends the lock; the next waiter compiles. NULL does nothing. @since 0.1 */
TLC_API void tlc_lock_abandon(tlc_lock* lock);

/**
 * Compiles a request into a bundle. Runs on the caller's thread with no lock of the library's held but the compile lock;
 * may call the library, also for the same key.
 * @param log  append the compiler's output with tlc_log_append; may be ignored
 * @return TLC_OK, or an error that the caller of tlc_cache_get_or_compile gets
 */
typedef struct tlc_log tlc_log;
typedef tlc_status (*tlc_compile_fn)(const tlc_request* request, const tlc_key* key, tlc_bundle* bundle, tlc_log* log,
                                     tlc_error* error, void* user_data);
TLC_API void tlc_log_append(tlc_log* log, tlc_str text);

enum {
  TLC_COMPILE_KEEP_FAILURE = 1 << 0, /**< Remember a compile error for a day, and answer it without compiling. */
  TLC_COMPILE_CLOSED = 1 << 1,       /**< A hit counts only if everything the artifact requires is there too. */
  TLC_COMPILE_NEVER = 1 << 2         /**< Look only: a miss is TLC_MISS. */
};

/** How to get or compile. Zero is the default for every member. @since 0.1 */
typedef struct tlc_compile_options {
  size_t struct_size;
  tlc_compile_fn compile;     /**< NULL: the backend registered for the request's target and engine. */
  void* user_data;
  void (*destroy)(void*);
  tlc_cancel* cancel;
  int64_t timeout_ms;         /**< As tlc_cache_begin, but 0 is the default too. After it the caller compiles. */
  uint64_t flags;             /**< TLC_COMPILE_* */
} tlc_compile_options;

TLC_API void tlc_compile_options_init(tlc_compile_options* options);

/**
 * The whole flow: key, look up, lock, remotes, compile, publish. One compile per key among all processes and threads of the
 * host.
 * A publish that fails does not fail the call: the artifact is then in memory.
 * @param[out] artifact  set on TLC_OK
 * @param[out] log       NULL, or gets the compiler's whole output when it ran (NULL when it did not)
 * @return TLC_OK, TLC_MISS (with TLC_COMPILE_NEVER), TLC_E_COMPILE and the other errors of key and backend
 * @since 0.1
 */
TLC_API tlc_status tlc_cache_get_or_compile(tlc_cache* cache, const tlc_request* request,
                                            const tlc_compile_options* options, tlc_artifact** artifact,
                                            tlc_blob** log, tlc_error* error);

/* ---------------------------------------------------------------- modules */

/** An artifact loaded on a device, shared by all who load it there in this process. */
typedef struct tlc_module tlc_module;

/** Where to load. Zero is the default for every member. @since 0.1 */
typedef struct tlc_load_options {
  size_t struct_size;
  int64_t device;  /**< Device ordinal of the backend; -1: its current one. Ignored where there is one only. */
  void* context;   /**< The backend's own context handle; NULL: its current one. */
  tlc_str member;  /**< Which member to load; default: the backend chooses. */
} tlc_load_options;

TLC_API void tlc_load_options_init(tlc_load_options* options);

/**
 * Checks the artifact for the device and loads it by the backend of its target and engine. If the loader refuses it, this
 * generation is invalidated once.
 * @return TLC_OK, TLC_REJECTED (wrong for this device; the error says why), TLC_E_LOAD, TLC_E_UNAVAILABLE,
 *         TLC_E_NOT_FOUND (no backend)
 * @since 0.1
 */
TLC_API tlc_status tlc_cache_load(tlc_cache* cache, tlc_artifact* artifact, const tlc_load_options* options,
                                  tlc_module** module, tlc_error* error);
/**
 * What the artifact's binaries say of themselves, read by the backend of its target and engine: a JSON object
 * `{"members": {NAME: {"format": ...}}}`, with archs, kernels and symbols where the backend reads them. Needs no device.
 * @param cache  Whose backends are asked.
 * @param json   Receives the text; release with tlc_blob_release.
 * @return TLC_OK, TLC_E_UNSUPPORTED (stored for no target, or the backend cannot tell), TLC_E_NOT_FOUND (no backend)
 * @since 0.2
 */
TLC_API tlc_status tlc_artifact_describe(const tlc_artifact* artifact, tlc_cache* cache, tlc_blob** json,
                                         tlc_error* error);
/** Address of a symbol: a function for a CPU module, the driver's function handle for a device. Borrowed. @since 0.1 */
TLC_API tlc_status tlc_module_symbol(tlc_module* module, tlc_str name, void** address, tlc_error* error);
/** The backend's own handle of the module. Borrowed; NULL in a child that may not use it. @since 0.1 */
TLC_API void* tlc_module_native(tlc_module* module);
TLC_API tlc_module* tlc_module_retain(tlc_module* module);
TLC_API void tlc_module_release(tlc_module* module);

/* ---------------------------------------------------------------- what is there, and why */

/** Counters, across processes and since the store was made; sizes are of now. @since 0.1 */
typedef struct tlc_stats {
  size_t struct_size;
  uint64_t hits;
  uint64_t misses;
  uint64_t rejections;
  uint64_t puts;
  uint64_t not_stored;
  uint64_t compiles;
  uint64_t compile_us;           /**< Time spent compiling, microseconds. */
  uint64_t saved_us;             /**< Compile time that hits saved, microseconds. Counted once per process and artifact. */
  uint64_t evictions;            /**< Entries evicted. */
  uint64_t youngest_evicted_s;   /**< Least age at eviction, seconds; small: the limit is too small. 0: none. */
  uint64_t entries;              /**< Live entries (0 in a namespace's stats). */
  uint64_t disk_bytes;           /**< Allocated under the store's folder. */
  uint64_t limit_bytes;
  uint64_t mapped_bytes;         /**< Segments mapped by this process. */
  uint64_t unlinked_bytes;       /**< Of these, no longer in the store's folder. */
  uint64_t memory_bytes;         /**< Artifacts this process keeps in memory. */

  /* ---- 0.3 ---- */
  uint64_t remote_gets;   /**< Times a remote was asked. @since 0.3 */
  uint64_t remote_hits;   /**< Of these, answered with what was then used. @since 0.3 */
  uint64_t remote_puts;   /**< Artifacts and links stored at a remote, or removed there. @since 0.3 */
  uint64_t remote_errors; /**< Calls that failed or were late, and answers that were not what was stored. @since 0.3 */
} tlc_stats;

/** Stats of all, or of one namespace. @return TLC_OK, TLC_E_NOT_FOUND. @since 0.1 */
TLC_API tlc_status tlc_cache_get_stats(tlc_cache* cache, tlc_str name_space, tlc_stats* stats, tlc_error* error);
/** The same, and per namespace and backend, as JSON. @since 0.1 */
TLC_API tlc_status tlc_cache_stats_json(tlc_cache* cache, tlc_blob** json, tlc_error* error);

/** One entry of the store; texts and bytes are valid during the callback only. @since 0.1 */
typedef struct tlc_entry {
  size_t struct_size;
  const uint8_t* digest;
  const uint8_t* key_encoding;
  size_t key_length;
  tlc_str name_space;
  tlc_str label;
  tlc_str kind;            /**< "artifact", "link", "failure" */
  uint64_t size;           /**< Bytes in the store. */
  uint64_t created_ns;
  uint64_t last_used_s;    /**< Wall clock seconds, to the minute; 0: not since it was made. */
  uint64_t compile_us;
  uint64_t generation;
} tlc_entry;

/** @return 0 to go on; anything else stops and is passed on as the result. */
typedef tlc_status (*tlc_entry_fn)(const tlc_entry* entry, void* user_data);
/**
 * Visits every entry, in no order; entries published or removed meanwhile may be missed. The callback may use the cache.
 * @param name_space  only this one; empty: all
 * @since 0.1
 */
TLC_API tlc_status tlc_cache_list(tlc_cache* cache, tlc_str name_space, tlc_entry_fn fn, void* user_data,
                                  tlc_error* error);
/** An artifact by the first hex digits (4 or more) of its digest. @return TLC_OK, TLC_MISS, TLC_E_INVALID (ambiguous). */
TLC_API tlc_status tlc_cache_find(tlc_cache* cache, tlc_str hex_prefix, tlc_artifact** artifact, tlc_error* error);

/**
 * Why a key hits or misses, as a JSON object: `outcome` ("hit", "evicted", "removed", "guard", "rejected", "never"),
 * `guards` that no longer hold (path, what changed), and `nearest`: the other stored key most like it, with `differences`.
 * @since 0.1
 */
TLC_API tlc_status tlc_cache_explain(tlc_cache* cache, const tlc_key* key, tlc_blob** json, tlc_error* error);

/** Progress of long work: done of total (0: unknown). @return 0 to go on, else stop (TLC_E_CANCELLED). */
typedef int32_t (*tlc_progress_fn)(uint64_t done, uint64_t total, void* user_data);

enum {
  TLC_VERIFY_REPAIR = 1 << 0 /**< Take out what is damaged, finish a rebuild, remove leftovers. */
};
/** Reads everything and checks it. JSON: entries, bytes, damaged (each with digest, label, reason),
    index and config (each with state: whole, damaged, rebuilt; and detail), leftovers. @since 0.1 */
TLC_API tlc_status tlc_cache_verify(tlc_cache* cache, uint32_t flags, tlc_progress_fn progress, void* user_data,
                                    tlc_blob** json, tlc_error* error);
/** Evicts down to max_bytes (0: the limit) and removes leftovers of killed processes. JSON: freed_bytes,
    evicted_entries, removed_files, disk_bytes, limit_bytes. @since 0.1 */
TLC_API tlc_status tlc_cache_gc(tlc_cache* cache, uint64_t max_bytes, tlc_progress_fn progress, void* user_data,
                                tlc_blob** json, tlc_error* error);
/** Sets a property of the store: "limit" = bytes with K, M, G or T. @since 0.1 */
TLC_API tlc_status tlc_cache_configure(tlc_cache* cache, tlc_str name, tlc_str value, tlc_error* error);
/** Everything `tlcache doctor` shows, as JSON: where the store is and why, settings with their origin, warnings. */
TLC_API tlc_status tlc_cache_describe(tlc_cache* cache, tlc_blob** json, tlc_error* error);
/** Registered backends, what each found on this machine, and why one is unavailable, as JSON. @since 0.1 */
TLC_API tlc_status tlc_cache_backends(tlc_cache* cache, tlc_blob** json, tlc_error* error);

/**
 * Loads a plugin file with a backend. The path is absolute; the file and its folders must not be writable by others.
 * @return TLC_OK, TLC_E_DENIED, TLC_E_ABI, TLC_E_EXISTS; the message names file, both versions and the rule
 * @since 0.1
 */
TLC_API tlc_status tlc_load_plugin(tlc_str path, tlc_error* error);

#ifdef __cplusplus
}
#endif

#endif /* TLCACHE_TLCACHE_H */
