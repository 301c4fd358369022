/* SPDX-License-Identifier: MIT */
/* A libtlcache.so.0 of another time, linked with the same versions of symbols: whoever calls it by mistake gets another
 * ABI. */
#include <stddef.h>
#include <stdint.h>

uint32_t tlc_abi_version(void);
uint32_t tlc_version(void);
const char* tlc_version_string(void);
int32_t tlc_cache_open(const void* options, void** cache, void* error);

uint32_t tlc_abi_version(void) {
  return (uint32_t)9 << 16;
}

uint32_t tlc_version(void) {
  return 9000000;
}

const char* tlc_version_string(void) {
  return "9.0.0";
}

int32_t tlc_cache_open(const void* options, void** cache, void* error) {
  (void)options, (void)error;
  *cache = NULL;
  return -1;
}
