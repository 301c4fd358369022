// SPDX-License-Identifier: MIT
// What the benchmarks share: clock, medians, scratch folders, a line of JSON a result, and our side of a comparison
// through the public API.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tlcache/tlcache.h"

namespace bench {

[[nodiscard]] std::uint64_t now_ns();
[[nodiscard]] double median(std::vector<double> values);

/// Ends the program with a message: a benchmark that went wrong has no result.
[[noreturn]] void fail(const std::string& message);
inline void require(bool good, const char* what) {
  if (!good) fail(what);
}

/// Removed with everything in it at the end of the program.
class ScratchFolder {
 public:
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Prints {"case": name, "values": {...}} as one line for run.py.
void report(std::string_view name, const std::vector<std::pair<std::string, double>>& values);

/// The same pseudo-random bytes for the same seed.
[[nodiscard]] std::string bytes(std::size_t size, std::uint64_t seed);
/// 0 .. count-1 in a fixed random order.
[[nodiscard]] std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed);
/// Reads every byte.
[[nodiscard]] std::uint64_t sum_of(const void* data, std::size_t size);
/// Keeps a value from being optimised away.
inline void use(std::uint64_t value) {
  asm volatile("" : : "r"(value) : "memory");
}

/// Several ways to do the same thing, in turn, a short slice each (the second of two counts), `rounds` times;
/// nanoseconds an operation, medians.
struct Arm {
  std::string name;
  std::function<void()> slice;  ///< does `operations` operations
  std::size_t operations;
};
[[nodiscard]] std::vector<double> interleave(const std::vector<Arm>& arms, int rounds);

// ---- our side

struct CloseCache {
  void operator()(tlc_cache* cache) const { tlc_cache_close(cache); }
};
struct ReleaseKey {
  void operator()(tlc_key* key) const { tlc_key_release(key); }
};
struct DestroyBundle {
  void operator()(tlc_bundle* bundle) const { tlc_bundle_destroy(bundle); }
};
struct DestroyRequest {
  void operator()(tlc_request* request) const { tlc_request_destroy(request); }
};
using Cache = std::unique_ptr<tlc_cache, CloseCache>;
using Key = std::unique_ptr<tlc_key, ReleaseKey>;
using Bundle = std::unique_ptr<tlc_bundle, DestroyBundle>;
using Request = std::unique_ptr<tlc_request, DestroyRequest>;

inline tlc_str text(std::string_view view) {
  return {view.data(), view.size()};
}

/// Opens the store of a folder, whatever the environment says; fails where none can be used.
/// `limit`: bytes, of a store that is made.
[[nodiscard]] Cache open_cache(const std::string& folder, std::uint64_t limit = std::uint64_t{4} << 30);
[[nodiscard]] Request make_request(std::uint64_t number);
[[nodiscard]] Key make_key(std::uint64_t number);
[[nodiscard]] Bundle make_bundle(const std::string& member);
void put(tlc_cache* cache, const tlc_key* key, const std::string& member);

/// The 32 bytes under which peers store what a key names.
[[nodiscard]] inline std::string_view digest_of(const Key& key) {
  return {reinterpret_cast<const char*>(tlc_key_digest(key.get())), TLC_DIGEST_SIZE};
}

}  // namespace bench
