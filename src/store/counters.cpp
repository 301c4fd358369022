// SPDX-License-Identifier: MIT
#include "store/counters.hpp"

#include <algorithm>
#include <cstring>

namespace tlc::store {
namespace {

constexpr std::string_view kOther = "other";

std::uint64_t hash_of(std::string_view name) {
  return trust::xxh3_64(name.data(), name.size()) | 1;
}

bool holds(const CounterBlock& block, std::uint64_t hash, std::string_view name) {
  return block.name_hash.load(std::memory_order_acquire) == hash &&
         block.name_length.load(std::memory_order_acquire) == name.size() &&
         std::memcmp(block.name, name.data(), name.size()) == 0;
}

// A block is claimed by its hash first; its length, stored last, says that the name is whole.
bool claim(CounterBlock& block, std::uint64_t hash, std::string_view name) {
  std::uint64_t free = 0;
  if (!block.name_hash.compare_exchange_strong(free, hash, std::memory_order_acq_rel)) return false;
  std::memcpy(block.name, name.data(), name.size());
  block.name_length.store(name.size(), std::memory_order_release);
  return true;
}

void lower_youngest(SharedWord& word, std::uint64_t age) {
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  while ((seen == 0 || age < seen) && !word.compare_exchange_weak(seen, age, std::memory_order_relaxed)) {
  }
}

}  // namespace

std::size_t counter_block_for(const Control& control, std::string_view name_space) {
  name_space = name_space.substr(0, sizeof(CounterBlock::name));
  CounterBlock* blocks = control.counter_blocks();
  const std::uint64_t hash = hash_of(name_space);
  for (std::size_t i = 0; i + 1 < kCounterBlocks; ++i) {
    if (holds(blocks[i], hash, name_space)) return i;
    if (blocks[i].name_hash.load(std::memory_order_acquire) != 0) continue;
    if (!control.writable()) break;
    if (claim(blocks[i], hash, name_space) || holds(blocks[i], hash, name_space)) return i;
  }
  if (control.writable()) claim(blocks[kCounterBlocks - 1], hash_of(kOther), kOther);
  return kCounterBlocks - 1;
}

void add_counters(const Control& control, std::size_t block, const CounterValues& values) {
  if (!control.writable()) return;
  CounterBlock& shared = control.counter_blocks()[block];
  for (std::size_t i = 0; i < kCounters; ++i) {
    if (values[i] == 0) continue;
    if (i == static_cast<std::size_t>(Counter::youngest_evicted_s))
      lower_youngest(shared.values[i], values[i]);
    else
      shared.values[i].fetch_add(values[i], std::memory_order_relaxed);
  }
}

std::vector<NamespaceCounters> read_counters(const Control& control) {
  std::vector<NamespaceCounters> all;
  const CounterBlock* blocks = control.counter_blocks();
  for (std::size_t i = 0; i < kCounterBlocks; ++i) {
    const std::uint64_t length = blocks[i].name_length.load(std::memory_order_acquire);
    if (blocks[i].name_hash.load(std::memory_order_acquire) == 0 || length == 0 || length > sizeof blocks[i].name)
      continue;
    NamespaceCounters& one = all.emplace_back();
    one.name_space.assign(blocks[i].name, length);
    for (std::size_t j = 0; j < kCounters; ++j) one.values[j] = blocks[i].values[j].load(std::memory_order_relaxed);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name_space < b.name_space; });
  return all;
}

}  // namespace tlc::store
