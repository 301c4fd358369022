// SPDX-License-Identifier: MIT
// Caches for the eviction simulator, each fed one trace at one size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evict_traces.hpp"
#include "store/policy.hpp"

namespace bench {

struct Outcome {
  double recompile_s = 0;  // compile time of all misses, the first of each object too
  std::uint64_t requests = 0, hits = 0;
  double inserted_bytes = 0, rewritten_bytes = 0;
  std::uint64_t rounds = 0;
};

/// How the store's cache differs from what the library does; for choosing its numbers.
struct StoreVariant {
  tlc::store::PolicyNumbers numbers;
  bool oldest_first = false;  // whole segments by age, nothing kept: the store before it had a policy
  double low_water = 0.9;
};

/// Segments as in src/store, with its policy code.
Outcome run_store(const Trace& trace, std::uint64_t limit, const StoreVariant& variant = {});

/// Of single entries, as small as need be: "lru", "fifo", "gdsf".
Outcome run_entries(const std::string& policy, const Trace& trace, std::uint64_t limit);

/// Knows what comes: what is not asked for again goes first, then what saves least per byte and second of waiting.
Outcome run_offline(const Trace& trace, std::uint64_t limit);

/// No cache of this size can cost less: of all spans between two requests of an object, those that save most per byte
/// and second are kept until the space of the whole time is used up, even where they do not fit at the same moment.
Outcome bound_below(const Trace& trace, std::uint64_t limit);

/// Only the first request of each object costs.
Outcome run_unlimited(const Trace& trace);

}  // namespace bench
