// SPDX-License-Identifier: MIT
// What every C++ test includes first: cmocka 1.1 wrapped for C++, and asserts that print 64-bit values.
//
// Traps of cmocka 1.1: an assert in a thread or a forked child does not fail the run. Threads record a status that the
// main thread asserts after join; children end with _exit(code) that the parent asserts.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <ios>  // has a member fail(), which cmocka makes a macro of: included before
extern "C" {
#include <cmocka.h>
}
#undef fail  // the host's table has a member of that name
#undef fail_msg
#define fail_msg(...) (print_error(__VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))

#define assert_u64(actual, expected) \
  assert_true_msg((actual) == (expected), "%llu != %llu", (unsigned long long)(actual), (unsigned long long)(expected))
#define assert_true_msg(cond, ...)                           \
  do {                                                       \
    if (!(cond)) {                                           \
      print_error("%s:%d: %s: ", __FILE__, __LINE__, #cond); \
      print_error(__VA_ARGS__);                              \
      print_error("\n");                                     \
      _fail(__FILE__, __LINE__);                             \
    }                                                        \
  } while (0)
