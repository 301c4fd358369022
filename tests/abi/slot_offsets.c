/* SPDX-License-Identifier: MIT */
/* The released offsets, sizes and values (slots.inc), stated to the compiler: a moved slot does not compile. */
#include <stddef.h>
#include <tlcache/backend.h>
#include <tlcache/remote.h>
#include <tlcache/tlcache.h>

#define SLOT(type, member, offset, size)                                              \
  _Static_assert(offsetof(type, member) == (offset), #type "." #member " has moved"); \
  _Static_assert(sizeof(((type*)0)->member) == (size), #type "." #member " has another size");
#define CONSTANT(name, value) _Static_assert((int64_t)(name) == (value), #name " has another value");
#include "slots.inc"

/* What plugins are told: the frozen prefix ends with caps, the table with its last slot, and neither is padded. */
_Static_assert(TLC_BACKEND_OPS_PREFIX == 56, "the frozen prefix of tlc_backend_ops has another size");
_Static_assert(TLC_BACKEND_OPS_SIZE == offsetof(tlc_backend_ops, describe) + sizeof(void (*)(void*)), "");
_Static_assert(TLC_REMOTE_OPS_SIZE == offsetof(tlc_remote_ops, put_many) + sizeof(void (*)(void)), "");
_Static_assert(offsetof(tlc_remote_ops, caps) == 40, "the frozen prefix of tlc_remote_ops has another size");
_Static_assert(TLC_PLUGIN_MAGIC == UINT64_C(0x3147554c50434c54), "");

extern const char* tlc_slot_offsets_checked(void);
const char* tlc_slot_offsets_checked(void) {
  return "slots.inc";
}
