// SPDX-License-Identifier: MIT
// Counters per namespace, shared by all processes through the control file.
//
// A process counts in memory of its own (Tally) and adds the sums to the shared block when it publishes, asks for stats
// or closes. A store has room for 127 namespaces with numbers of their own; what comes later shares the last block,
// "other".
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/control.hpp"

namespace tlc::store {

enum class Counter : std::uint8_t {
  hits,
  misses,
  rejections,
  puts,
  not_stored,
  compiles,
  compile_us,
  saved_us,
  evictions,
  youngest_evicted_s,
  remote_gets,
  remote_hits,
  remote_puts,
  remote_errors,
};
inline constexpr std::size_t kCounters = 16;  // places in a block; more than are named

struct CounterBlock {
  SharedWord name_hash;  // 0: free
  SharedWord name_length;
  char name[128];
  SharedWord values[kCounters];
  std::uint8_t reserved[48];
};
static_assert(sizeof(CounterBlock) == 320);

using CounterValues = std::array<std::uint64_t, kCounters>;

struct NamespaceCounters {
  std::string name_space;
  CounterValues values;
};

/// Index of the namespace's block, made if needed and possible.
[[nodiscard]] std::size_t counter_block_for(const Control& control, std::string_view name_space);
/// Adds to the shared block; youngest_evicted_s takes the lower of both instead.
void add_counters(const Control& control, std::size_t block, const CounterValues& values);
[[nodiscard]] std::vector<NamespaceCounters> read_counters(const Control& control);

}  // namespace tlc::store
