/* SPDX-License-Identifier: MIT */
/* For the C tests of the ABI: cmocka, the public headers, nothing else. cmocka 1.1 wants these four first. */
#ifndef TLC_ABI_TEST_H
#define TLC_ABI_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlcache/backend.h>
#include <tlcache/remote.h>
#include <tlcache/tlcache.h>

/* Fails with the library's own words. */
#define assert_status(got, wanted, error)                                                                      \
  do {                                                                                                         \
    const tlc_status got_ = (got);                                                                             \
    if (got_ != (wanted)) {                                                                                    \
      print_error("%s:%d: %s gave %s, not %s: %s\n", __FILE__, __LINE__, #got, tlc_status_name(got_), #wanted, \
                  (error)->message);                                                                           \
      fail();                                                                                                  \
    }                                                                                                          \
  } while (0)

#endif
