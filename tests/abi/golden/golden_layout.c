/* SPDX-License-Identifier: MIT */
/* Prints what the running library says of its structs and constants, a line each: "member STRUCT.NAME OFFSET SIZE",
 * "constant NAME VALUE". */
#include <stdio.h>
#include <tlcache/tlcache.h>

int main(void) {
  size_t count = 0;
  const tlc_layout* layout = tlc_abi_layout(&count);
  for (size_t i = 0; i < count; ++i) {
    if (layout[i].member == NULL) continue; /* a struct may grow */
    (void)printf("member %s.%s %llu %llu\n", layout[i].struct_name, layout[i].member,
                 (unsigned long long)layout[i].offset, (unsigned long long)layout[i].size);
  }
  const tlc_constant* constants = tlc_abi_constants(&count);
  for (size_t i = 0; i < count; ++i)
    (void)printf("constant %s %lld\n", constants[i].name, (long long)constants[i].value);
  return 0;
}
