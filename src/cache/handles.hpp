// SPDX-License-Identifier: MIT
// What is behind the opaque types of the public headers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/blob.hpp"
#include "cache/bundle.hpp"
#include "cache/flight.hpp"
#include "cache/modules.hpp"
#include "key/key.hpp"
#include "key/request.hpp"
#include "store/artifact.hpp"
#include "tlcache/backend.h"

namespace tlc::cache {
class Cache;
class Local;
}  // namespace tlc::cache

struct tlc_cache {
  std::shared_ptr<tlc::cache::Cache> cache;
};

struct tlc_request {
  tlc::key::Request request;
};

struct tlc_key {
  explicit tlc_key(tlc::key::Key made) : key(std::move(made)) {}
  tlc::key::Key key;
  std::atomic<std::uint32_t> references{1};
};

struct tlc_key_release_one {
  void operator()(tlc_key* key) const {
    if (key != nullptr && key->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      std::default_delete<tlc_key>()(key);
  }
};
/// Owns one reference to a key.
using tlc_key_ref = std::unique_ptr<tlc_key, tlc_key_release_one>;

struct tlc_bundle {
  tlc::cache::Bundle bundle;
};

struct tlc_log {
  std::string text;
};

struct tlc_module {
  std::shared_ptr<tlc::cache::Module> module;
  std::atomic<std::uint32_t> references{1};
};

/// A held compile lock.
struct tlc_lock {
  std::shared_ptr<tlc::cache::Cache> cache;
  tlc::cache::Local* local;  ///< lives as long as the cache
  tlc::key::Key key;
  std::shared_ptr<tlc::cache::Flight> flight;
  bool between_processes = false;  ///< the store's lock is held too
  std::uint64_t fork_epoch = 0;
  std::uint64_t taken_ns = 0;  ///< monotonic
};

/// A slot's call: what the host's services need to know.
struct tlc_call {
  tlc::cache::Cache* cache = nullptr;
  std::string backend;  ///< whose memos are meant
  const tlc_cancel* cancel = nullptr;
};

namespace tlc::cache {

[[nodiscard]] inline tlc_artifact* to_public(store::Artifact* artifact) {
  return reinterpret_cast<tlc_artifact*>(artifact);
}
[[nodiscard]] inline const tlc_artifact* to_public(const store::Artifact* artifact) {
  return reinterpret_cast<const tlc_artifact*>(artifact);
}
[[nodiscard]] inline store::Artifact* to_core(tlc_artifact* artifact) {
  return reinterpret_cast<store::Artifact*>(artifact);
}
[[nodiscard]] inline const store::Artifact* to_core(const tlc_artifact* artifact) {
  return reinterpret_cast<const store::Artifact*>(artifact);
}
[[nodiscard]] inline const tlc_value* to_public(const key::Value* value) {
  return reinterpret_cast<const tlc_value*>(value);
}
[[nodiscard]] inline const key::Value* to_core(const tlc_value* value) {
  return reinterpret_cast<const key::Value*>(value);
}

}  // namespace tlc::cache
