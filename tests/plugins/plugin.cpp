// SPDX-License-Identifier: MIT
// A plugin that is right, or wrong in the one way that PLUGIN_<variant> names. Its init counts its calls in the
// environment variable TLC_TEST_INIT, so that a test sees whether any code of a refused file ran.
#include <stdlib.h>
#include <stdexcept>

#include "tlcache/backend.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

[[maybe_unused]] void count_init() {
  const char* seen = getenv("TLC_TEST_INIT");
  const char next[2] = {static_cast<char>(seen != nullptr ? seen[0] + 1 : '1'), '\0'};
  setenv("TLC_TEST_INIT", next, 1);
}

tlc_status probe(void*, tlc_call*, tlc_blob**, tlc_error*) {
  return TLC_E_UNAVAILABLE;
}

const char* const kKinds[] = {"testkind", nullptr};

[[maybe_unused]] tlc_backend_ops make_ops() {
  tlc_backend_ops ops{};
  ops.struct_size = TLC_BACKEND_OPS_SIZE;
  ops.abi_major = TLC_ABI_MAJOR;
  ops.abi_minor = TLC_ABI_MINOR;
  ops.name = "test plugin " PLUGIN_ENGINE;
  ops.engine = PLUGIN_ENGINE;
  ops.target_kinds = kKinds;
  ops.probe = probe;
#if defined(PLUGIN_short_ops)
  ops.struct_size = 24;
#elif defined(PLUGIN_null_engine)
  ops.engine = nullptr;
#endif
  return ops;
}

}  // namespace

#ifndef PLUGIN_no_desc
EXPORT const tlc_plugin_desc tlc_plugin_desc_v1;
const tlc_plugin_desc tlc_plugin_desc_v1 = {
#ifdef PLUGIN_wrong_magic
    1234,
#else
    TLC_PLUGIN_MAGIC,
#endif
#ifdef PLUGIN_short_desc
    16,
#else
    TLC_SIZEOF(tlc_plugin_desc, build_id),
#endif
#ifdef PLUGIN_wrong_major
    TLC_ABI_MAJOR + 7,
#else
    TLC_ABI_MAJOR,
#endif
#if defined(PLUGIN_needs_newer_host)
    TLC_ABI_MINOR + 3,
    TLC_ABI_MINOR + 2,
#elif defined(PLUGIN_newer_minor)
    TLC_ABI_MINOR + 3,
    TLC_ABI_MINOR,
#else
    TLC_ABI_MINOR,
    TLC_ABI_MINOR,
#endif
    0,
    "test",
    "1",
    "MIT",
#ifdef PLUGIN_stranger
    "0123456789abcdef"
#else
    nullptr
#endif
};
#endif

#ifndef PLUGIN_no_init
EXPORT tlc_status tlc_plugin_init_v1(const tlc_host_api*, const tlc_backend_ops** ops, void** state, tlc_error* error) {
  count_init();
#if defined(PLUGIN_throws)
  throw std::runtime_error("no luck today");
#elif defined(PLUGIN_refuses)
  (void)error;
  return TLC_E_UNAVAILABLE;
#elif defined(PLUGIN_bad_status)
  (void)error;
  return 77;
#endif
  static const tlc_backend_ops kOps = make_ops();
  *ops = &kOps;
  *state = nullptr;
  (void)error;
  return TLC_OK;
}
#endif
