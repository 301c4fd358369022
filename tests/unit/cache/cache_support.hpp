// SPDX-License-Identifier: MIT
// What the flow's tests share: the C API with owners, so that a test reads as an application would.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scratch.hpp"
#include "tlc_test.hpp"
#include "tlcache/backend.h"

namespace tlc::test {

inline tlc_str str(std::string_view text) {
  return {text.data(), text.size()};
}

struct Owner {
  void operator()(tlc_cache* cache) const { tlc_cache_close(cache); }
  void operator()(tlc_request* request) const { tlc_request_destroy(request); }
  void operator()(tlc_key* key) const { tlc_key_release(key); }
  void operator()(tlc_bundle* bundle) const { tlc_bundle_destroy(bundle); }
  void operator()(tlc_artifact* artifact) const { tlc_artifact_release(artifact); }
  void operator()(tlc_blob* blob) const { tlc_blob_release(blob); }
  void operator()(tlc_module* module) const { tlc_module_release(module); }
};
template <typename T>
using Own = std::unique_ptr<T, Owner>;

/// An error that prints itself when an assert fails.
struct Err : tlc_error {
  Err() { tlc_error_init(this); }
};

inline Own<tlc_cache> open_cache(const std::string& directory, std::uint64_t flags = 0, std::uint64_t limit = 0) {
  tlc_cache_options options;
  tlc_cache_options_init(&options);
  options.directory = str(directory);
  options.flags = flags | TLC_OPEN_NO_ENV;
  options.limit_bytes = limit;
  tlc_cache* cache = nullptr;
  Err error;
  assert_true_msg(tlc_cache_open(&options, &cache, &error) == TLC_OK, "%s", error.message);
  return Own<tlc_cache>(cache);
}

/// A request in namespace `test`, for no target, with one field.
inline Own<tlc_request> make_request(std::string_view name, std::string_view value, const char* ns = "test") {
  tlc_request* request = nullptr;
  assert_int_equal(tlc_request_create(str(ns), &request, nullptr), TLC_OK);
  assert_int_equal(tlc_request_set_no_toolchain(request, nullptr), TLC_OK);
  assert_int_equal(tlc_request_add_text(request, str(name), str(value), 0, nullptr), TLC_OK);
  return Own<tlc_request>(request);
}

inline Own<tlc_key> make_key(const tlc_request* request) {
  tlc_key* key = nullptr;
  Err error;
  assert_true_msg(tlc_request_key(request, &key, &error) == TLC_OK, "%s", error.message);
  return Own<tlc_key>(key);
}

inline Own<tlc_bundle> make_bundle(std::string_view content) {
  tlc_bundle* bundle = nullptr;
  assert_int_equal(tlc_bundle_create(&bundle, nullptr), TLC_OK);
  assert_int_equal(tlc_bundle_add(bundle, str("code"), TLC_MEMBER_OPAQUE, content.data(), content.size(), 0, nullptr),
                   TLC_OK);
  return Own<tlc_bundle>(bundle);
}

inline tlc_status get(tlc_cache* cache, const tlc_key* key, std::string* content = nullptr) {
  tlc_artifact* artifact = nullptr;
  const tlc_status status = tlc_cache_get(cache, key, &artifact, nullptr);
  const Own<tlc_artifact> owned(artifact);
  if (status != TLC_OK || content == nullptr) return status;
  size_t size = 0;
  const void* data = tlc_artifact_data(artifact, 0, &size);
  content->assign(static_cast<const char*>(data), size);
  return status;
}

inline std::string text_of(tlc_blob* blob) {
  const Own<tlc_blob> owned(blob);
  size_t size = 0;
  const char* data = tlc_blob_data(blob, &size);
  return data == nullptr ? std::string() : std::string(data, size);
}

/// Gets or compiles a request whose toolchain is stated, by a callback that is told where to count.
inline Own<tlc_artifact> get_or_compile(tlc_cache* cache, const char* target, const char* engine,
                                        tlc_compile_fn compile, int& compiles) {
  tlc_request* raw = nullptr;
  assert_int_equal(tlc_request_create(str("test"), &raw, nullptr), TLC_OK);
  const Own<tlc_request> request(raw);
  assert_int_equal(tlc_request_set_target(raw, str(target), nullptr), TLC_OK);
  assert_int_equal(tlc_request_set_engine(raw, str(engine), nullptr), TLC_OK);
  assert_int_equal(tlc_request_set_toolchain(raw, "stated", 6, nullptr), TLC_OK);
  tlc_compile_options options;
  tlc_compile_options_init(&options);
  options.compile = compile;
  options.user_data = &compiles;
  tlc_artifact* artifact = nullptr;
  Err error;
  assert_true_msg(tlc_cache_get_or_compile(cache, raw, &options, &artifact, nullptr, &error) == TLC_OK, "%s",
                  error.message);
  return Own<tlc_artifact>(artifact);
}

}  // namespace tlc::test
