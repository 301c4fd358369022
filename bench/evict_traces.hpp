// SPDX-License-Identifier: MIT
// Request traces for the eviction simulator: made from a seed, or recorded by TLC_TRACE.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct Object {
  std::uint64_t bytes = 0;  // in the store, header and padding included
  double cost_ms = 0;       // of compiling it
  std::uint64_t name_space = 0;
};

struct Request {
  double time_s = 0;
  std::uint32_t object = 0;
};

struct Trace {
  std::string name;
  std::vector<Object> objects;
  std::vector<Request> requests;  // in order of time

  /// Bytes of all objects that are asked for.
  [[nodiscard]] std::uint64_t working_set() const;
};

/// "zipf", "autotune", "upgrades", "ranks": the same for the same seed on every machine.
[[nodiscard]] std::vector<Trace> synthetic_traces(std::uint64_t seed);

/// A file that TLC_TRACE wrote. Empty if it cannot be read.
[[nodiscard]] Trace recorded_trace(const std::string& path);

}  // namespace bench
