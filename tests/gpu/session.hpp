// SPDX-License-Identifier: MIT
// The library in short words, for tests on a card: an error ends the program with its text.
#pragma once

#include <tlcache/tlcache.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tlc::gpu {

inline tlc_error error_here() {
  tlc_error error;
  tlc_error_init(&error);
  return error;
}

inline tlc_str view(const std::string& text) {
  return {text.data(), text.size()};
}

inline void require(tlc_status status, const tlc_error& error, const char* what) {
  if (status == TLC_OK) return;
  std::fprintf(stderr, "%s: %s: %s\n", what, tlc_status_name(status), error.message);
  std::exit(1);
}

struct Release {
  void operator()(tlc_cache* p) const { tlc_cache_close(p); }
  void operator()(tlc_request* p) const { tlc_request_destroy(p); }
  void operator()(tlc_artifact* p) const { tlc_artifact_release(p); }
  void operator()(tlc_module* p) const { tlc_module_release(p); }
  void operator()(tlc_blob* p) const { tlc_blob_release(p); }
  void operator()(tlc_key* p) const { tlc_key_release(p); }
  void operator()(tlc_bundle* p) const { tlc_bundle_destroy(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Release>;

/// What is to be compiled; a chain of adds.
class Wanted {
 public:
  explicit Wanted(const std::string& source, const std::string& target = "cuda:auto") {
    tlc_request* raw = nullptr;
    tlc_error error = error_here();
    require(tlc_request_create(tlc_str_from("gpu-test"), &raw, &error), error, "a request");
    request_.reset(raw);
    tlc_request_set_target(raw, view(target), nullptr);
    if (!source.empty()) text("source", source);
  }
  Wanted& text(const std::string& name, const std::string& value) {
    tlc_request_add_text(request_.get(), view(name), view(value), 0, nullptr);
    return *this;
  }
  Wanted& list(const std::string& name, const std::vector<std::string>& values) {
    tlc_request_begin_list(request_.get(), view(name), 0, nullptr);
    for (const auto& value : values) text("", value);
    tlc_request_end(request_.get(), nullptr);
    return *this;
  }
  Wanted& define(const std::string& name, const std::string& value) {
    tlc_request_begin_map(request_.get(), tlc_str_from("defines"), 0, nullptr);
    text(name, value);
    tlc_request_end(request_.get(), nullptr);
    return *this;
  }
  Wanted& launch(const std::string& kernel, const std::string& attribute, std::int64_t value) {
    tlc_request_begin_map(request_.get(), tlc_str_from("launch"), 0, nullptr);
    tlc_request_begin_map(request_.get(), view(kernel), 0, nullptr);
    tlc_request_add_int(request_.get(), view(attribute), value, 0, nullptr);
    tlc_request_end(request_.get(), nullptr);
    tlc_request_end(request_.get(), nullptr);
    return *this;
  }
  [[nodiscard]] tlc_request* get() const { return request_.get(); }

 private:
  Owned<tlc_request> request_;
};

class Session {
 public:
  explicit Session(const std::string& folder) {
    tlc_cache_options options;
    tlc_cache_options_init(&options);
    options.directory = view(folder);
    options.flags = TLC_OPEN_STRICT;
    tlc_cache* raw = nullptr;
    tlc_error error = error_here();
    require(tlc_cache_open(&options, &raw, &error), error, "the cache");
    cache_.reset(raw);
  }

  struct Got {
    Owned<tlc_artifact> artifact;
    bool compiled = false;
  };
  [[nodiscard]] Got get(const Wanted& wanted) const {
    tlc_artifact* artifact = nullptr;
    tlc_blob* log = nullptr;
    tlc_error error = error_here();
    require(tlc_cache_get_or_compile(cache_.get(), wanted.get(), nullptr, &artifact, &log, &error), error,
            "get or compile");
    const Owned<tlc_blob> owned(log);
    return {Owned<tlc_artifact>(artifact), log != nullptr};
  }
  /// The key of an artifact.
  static Owned<tlc_key> key_of(const tlc_artifact* artifact) {
    std::size_t length = 0;
    const std::uint8_t* encoding = tlc_artifact_key_encoding(artifact, &length);
    tlc_key* key = nullptr;
    tlc_error error = error_here();
    require(tlc_key_decode(encoding, length, &key, &error), error, "a stored key");
    return Owned<tlc_key>(key);
  }

  tlc_status try_load(tlc_artifact* artifact, Owned<tlc_module>& module, tlc_error& error,
                      void* context = nullptr) const {
    tlc_load_options options;
    tlc_load_options_init(&options);
    options.device = -1;
    options.context = context;
    tlc_module* raw = nullptr;
    const tlc_status status = tlc_cache_load(cache_.get(), artifact, &options, &raw, &error);
    module.reset(raw);
    return status;
  }
  [[nodiscard]] Owned<tlc_module> load(tlc_artifact* artifact, void* context = nullptr) const {
    Owned<tlc_module> module;
    tlc_error error = error_here();
    require(try_load(artifact, module, error, context), error, "load");
    return module;
  }
  /// A new generation of an artifact, with one member of these bytes.
  [[nodiscard]] Owned<tlc_artifact> replace_member(tlc_artifact* seen, const char* name,
                                                   const std::string& bytes) const {
    tlc_error error = error_here();
    tlc_bundle* raw = nullptr;
    require(tlc_bundle_create(&raw, &error), error, "a bundle");
    const Owned<tlc_bundle> bundle(raw);
    require(tlc_bundle_add(raw, tlc_str_from(name), TLC_MEMBER_DEVICE_BINARY, bytes.data(), bytes.size(), 0, &error),
            error, "add");
    const auto key = key_of(seen);
    tlc_artifact* artifact = nullptr;
    require(tlc_cache_replace(cache_.get(), key.get(), seen, raw, &artifact, &error), error, "replace");
    return Owned<tlc_artifact>(artifact);
  }
  static void* symbol(tlc_module* module, const std::string& name) {
    void* address = nullptr;
    tlc_error error = error_here();
    require(tlc_module_symbol(module, view(name), &address, &error), error, name.c_str());
    return address;
  }
  [[nodiscard]] tlc_stats stats() const {
    tlc_stats stats{};
    stats.struct_size = TLC_SIZEOF(tlc_stats, disk_bytes);
    tlc_error error = error_here();
    require(tlc_cache_get_stats(cache_.get(), tlc_str_from("gpu-test"), &stats, &error), error, "stats");
    return stats;
  }
  [[nodiscard]] tlc_cache* get() const { return cache_.get(); }

 private:
  Owned<tlc_cache> cache_;
};

}  // namespace tlc::gpu
