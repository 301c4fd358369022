// SPDX-License-Identifier: MIT
// Requests, keys and bytes of scenarios.json, by the public C API. Anything that is not as the file says throws.
#pragma once

#include <tlcache/tlcache.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace conformance {

using nlohmann::json;

struct Release {
  void operator()(tlc_cache* p) const { tlc_cache_close(p); }
  void operator()(tlc_request* p) const { tlc_request_destroy(p); }
  void operator()(tlc_key* p) const { tlc_key_release(p); }
  void operator()(tlc_bundle* p) const { tlc_bundle_destroy(p); }
  void operator()(tlc_artifact* p) const { tlc_artifact_release(p); }
  void operator()(tlc_lock* p) const { tlc_lock_abandon(p); }
  void operator()(tlc_blob* p) const { tlc_blob_release(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Release>;

// A text of the program's; valid while it is.
inline tlc_str text(const std::string& value) {
  return {value.data(), value.size()};
}
inline std::string copy(tlc_str value) {
  return value.len == 0 ? std::string() : std::string(value.data, value.len);
}

// A member's or toolchain's bytes.
std::string unhex(const std::string& hex);
std::string bytes(const json& given);

// The request; a status that is not TLC_OK comes back with its error.
tlc_status make_request(const json& given, Owned<tlc_request>& request, tlc_error* error);
tlc_status make_key(const json& given, Owned<tlc_key>& key, tlc_error* error);

}  // namespace conformance
