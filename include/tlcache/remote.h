/* SPDX-License-Identifier: MIT */
/**
 * @file remote.h
 * @brief TLCache for authors of remote tiers: a table of slots that moves opaque, verified blobs by digest.
 *
 * A remote is a dumb store: it maps a 32-byte digest to bytes. It never sees a key, and nothing it returns is used before
 * the library has verified it (docs/remotes.md has the layout of a blob, for those who want to look inside).
 *
 * A kind of remote is registered once per process, by the scheme of its URLs. A cache names its remotes by URL
 * (tlc_cache_options.remotes, TLC_REMOTES) and opens each on first use. The library asks a remote only under a key's
 * compile lock, and writes to it in the background from a queue that is kept in the local store.
 *
 * Threads: slots run on a thread of the library's with all signals blocked, never two at once for the same state; they must
 * not use a cache. A slot
 * that does not come back in its time is left alone on that thread: its state is neither used nor closed before it
 * returns, and the cache goes on without that remote. A remote that fails or is late is not asked for a second, then two,
 * four, up to five minutes.
 *
 * Fork: a child opens its remotes afresh; close is not called there for what the parent opened.
 */
#ifndef TLCACHE_REMOTE_H
#define TLCACHE_REMOTE_H

#include "backend.h"
#include "tlcache.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TLC_REMOTE_CONCURRENT = 1 << 0, /**< Slots may run on several threads at once. Not used by this version. */
  TLC_REMOTE_READ_ONLY = 1 << 1,  /**< No put, no remove. */
  TLC_REMOTE_PRIVATE = 1 << 2     /**< Only this user can read what is kept there: labels and paths of files that a compile
                                       read may go there too. Without it they do not. @since 0.3 */
};

enum {
  TLC_REMOTE_REPLACE = 1 << 0 /**< Of an item: what is there under the digest must give way. Without it, it may be kept. */
};

/** Takes fetched bytes in order; returns TLC_OK to go on, anything else to be returned by the slot. */
typedef tlc_status (*tlc_remote_sink_fn)(const void* data, size_t len, void* user_data);

/** One blob to be stored, or one digest to be removed. Filled by the library. @since 0.3 */
typedef struct tlc_remote_item {
  size_t struct_size;
  const uint8_t* digest; /**< TLC_DIGEST_SIZE bytes. */
  const void* data;      /**< NULL: remove what is there. */
  size_t len;
  uint64_t flags; /**< TLC_REMOTE_REPLACE */
} tlc_remote_item;

/** A remote tier. Frozen up to caps; slots are appended. Every slot may be NULL. @since 0.1 */
typedef struct tlc_remote_ops {
  size_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  const void* next;   /**< NULL */
  const char* name;   /**< For people. */
  const char* scheme; /**< Of the URLs it takes: "dir", "redis", "http". 1 to 32 of [a-z0-9+.-]. */
  uint64_t caps;      /**< TLC_REMOTE_* */

  /* ---- 0.1 ---- */
  /** Opens `url`; *state is passed to the other slots. May be called again after a failure. */
  tlc_status (*open)(tlc_str url, void** state, tlc_error* error);
  /** Fetches the blob of a digest (TLC_DIGEST_SIZE bytes) into sink. TLC_OK, TLC_MISS, TLC_TIMEOUT or an error. */
  tlc_status (*get)(void* state, const uint8_t* digest, int64_t timeout_ms, tlc_remote_sink_fn sink, void* sink_data,
                    tlc_error* error);
  /** Stores a blob; one that is there already may be kept. TLC_OK, TLC_TOO_LARGE (is not tried again) or an error. */
  tlc_status (*put)(void* state, const uint8_t* digest, const void* data, size_t len, int64_t timeout_ms,
                    tlc_error* error);
  /** Removes a blob; TLC_MISS if it was not there. */
  tlc_status (*remove)(void* state, const uint8_t* digest, int64_t timeout_ms, tlc_error* error);
  /** Ends the state; no slot is called with it any more. */
  void (*close)(void* state);

  /* ---- 0.3 ---- */
  /** Stores and removes several at once; called in place of put and remove where it is set. All of them, or an error:
      the library then offers all of them again. @since 0.3 */
  tlc_status (*put_many)(void* state, const tlc_remote_item* const* items, size_t count, int64_t timeout_ms,
                         tlc_error* error);
} tlc_remote_ops;

#define TLC_REMOTE_OPS_SIZE TLC_SIZEOF(tlc_remote_ops, put_many)

/**
 * Registers a kind of remote for this process, for good. The table is copied; its functions must stay loaded. Registering
 * the same table again does nothing.
 * @return TLC_OK, TLC_E_INVALID (no name, or no scheme), TLC_E_ABI (sizes or versions do not fit), TLC_E_EXISTS (the scheme
 *         is another table's)
 * @since 0.1; TLC_E_UNSUPPORTED before 0.3
 */
TLC_API tlc_status tlc_register_remote(const tlc_remote_ops* ops, tlc_error* error);

/**
 * The entry of a remote that is linked into the library: hands out its table, which must stay where it is.
 * @param host  the library's services; stays valid
 * @since 0.3
 */
typedef tlc_status (*tlc_remote_init_fn)(const tlc_host_api* host, const tlc_remote_ops** ops, tlc_error* error);

#ifdef __cplusplus
}
#endif

#endif /* TLCACHE_REMOTE_H */
