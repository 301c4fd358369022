// SPDX-License-Identifier: MIT
// Tables for tests of the registry, and asserts on Results.
#pragma once

#include <string>

#include "backend/ops.hpp"
#include "tlcache/backend.h"

namespace tlc::test {

inline tlc_backend_ops make_ops(const char* engine, const char* const* kinds, const char* name = "test") {
  tlc_backend_ops ops{};
  ops.struct_size = TLC_BACKEND_OPS_SIZE;
  ops.abi_major = TLC_ABI_MAJOR;
  ops.abi_minor = TLC_ABI_MINOR;
  ops.name = name;
  ops.engine = engine;
  ops.target_kinds = kinds;
  return ops;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tlc::test

// Each evaluates its argument once.
#define assert_ok(result)                                                         \
  do {                                                                            \
    const auto& result_seen = (result);                                           \
    assert_true_msg(result_seen.ok(), "%s", result_seen.error().message.c_str()); \
  } while (0)
#define assert_fails(result, expected, part)                                                 \
  do {                                                                                       \
    const auto& result_seen = (result);                                                      \
    assert_false(result_seen.ok());                                                          \
    assert_int_equal(result_seen.error().status, (expected));                                \
    assert_true_msg(tlc::test::contains(result_seen.error().message, (part)), "message: %s", \
                    result_seen.error().message.c_str());                                    \
  } while (0)
