/* SPDX-License-Identifier: MIT */
/**
 * @file remote.h
 * @brief TLCache for authors of remote tiers: a table of slots that moves opaque, verified blobs by digest.
 *
 * A remote is a dumb store: it maps a 32-byte digest to bytes. It never sees a key, and nothing it returns is used before
 * the library has verified it. Slots are called from the library's one remote thread or from a caller's, never two at once
 * for the same state unless TLC_REMOTE_CONCURRENT is set. This library version has no remote tier yet: the table is laid
 * down so that its layout is part of the ABI from the start, and registering one answers TLC_E_UNSUPPORTED.
 */
#ifndef TLCACHE_REMOTE_H
#define TLCACHE_REMOTE_H

#include "tlcache.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TLC_REMOTE_CONCURRENT = 1 << 0, /**< Slots may run on several threads at once. */
  TLC_REMOTE_READ_ONLY = 1 << 1   /**< No put, no remove. */
};

/** Takes fetched bytes in order; returns TLC_OK to go on. */
typedef tlc_status (*tlc_remote_sink_fn)(const void* data, size_t len, void* user_data);

/** A remote tier. Frozen up to caps; slots are appended. @since 0.1 */
typedef struct tlc_remote_ops {
  size_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  const void* next;   /**< NULL */
  const char* name;   /**< For people. */
  const char* scheme; /**< Of the URLs it takes: "dir", "redis", "http". */
  uint64_t caps;      /**< TLC_REMOTE_* */

  /* ---- 0.1 ---- */
  /** Opens `url`; *state is passed to the other slots. */
  tlc_status (*open)(tlc_str url, void** state, tlc_error* error);
  /** Fetches the blob of a digest (TLC_DIGEST_SIZE bytes) into sink. TLC_OK, TLC_MISS, TLC_TIMEOUT or an error. */
  tlc_status (*get)(void* state, const uint8_t* digest, int64_t timeout_ms, tlc_remote_sink_fn sink, void* sink_data,
                    tlc_error* error);
  /** Stores a blob; one that is there already may be kept. */
  tlc_status (*put)(void* state, const uint8_t* digest, const void* data, size_t len, int64_t timeout_ms,
                    tlc_error* error);
  /** Removes a blob; TLC_MISS if it was not there. */
  tlc_status (*remove)(void* state, const uint8_t* digest, int64_t timeout_ms, tlc_error* error);
  void (*close)(void* state);
} tlc_remote_ops;

#define TLC_REMOTE_OPS_SIZE TLC_SIZEOF(tlc_remote_ops, close)

/** Registers a kind of remote. @return TLC_E_UNSUPPORTED in this version. @since 0.1 */
TLC_API tlc_status tlc_register_remote(const tlc_remote_ops* ops, tlc_error* error);

#ifdef __cplusplus
}
#endif

#endif /* TLCACHE_REMOTE_H */
