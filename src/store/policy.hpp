// SPDX-License-Identifier: MIT
// The policy of eviction: which segments go, in what order, and what of each is worth writing again.
//
// Pure: it reads no file and no clock. The store (evict.cpp) and the simulator (bench/evict_sim.cpp) run this same
// code; docs/eviction.md tells how its numbers were chosen.
//
//   worth of an entry    its compile time, times the recency: 1 / (share + recency_floor), where share is the part of
//                        the store's live bytes that was used after it. No clock enters but the order of stamps, so a
//                        clock that jumps, or a weekend without use, changes nothing but that order.
//   used again           an entry that was used in a later minute than it was made in counts used_again times.
//   kept of a segment    its entries of the highest worth per byte, if that is over least_kept times the average of the
//                        store, to at most most_kept of the segment's bytes. Of a segment with one entry nothing is
//                        kept: it would be copied for nothing.
//   order of segments    by the worth lost per byte freed, lowest first. Segments in which nothing lives go first.
//
// So at most most_kept / (1 - most_kept) bytes are written again for each byte that eviction frees.
#pragma once

#include <cstdint>
#include <vector>

namespace tlc::store {

struct PolicyEntry {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sequence = 0;     ///< order of entries of one minute
  std::uint64_t name_space = 0;   ///< what compile times that nobody stated are taken from
  std::uint32_t compile_ms = 0;   ///< 0: not stated
  std::uint32_t made_minute = 0;  ///< since 1970
  std::uint32_t used_minute = 0;  ///< of the last use; 0: none since it was made
  bool movable = true;            ///< false: can only stay or go
};

struct PolicySegment {
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;  ///< on disk
};

struct PolicyNumbers {
  double most_kept = 0.5;
  double least_kept = 0.25;
  double recency_floor = 0.02;
  double used_again = 1.5;
};

struct Victim {
  std::uint64_t segment = 0;
  std::vector<std::uint64_t> kept;  ///< offsets of what is written again, ascending
};

/// All of the segments, in the order in which they go. Entries of other segments only count for what is average.
/// With `may_write` false nothing is kept: for a full disk.
[[nodiscard]] std::vector<Victim> plan_eviction(std::vector<PolicySegment> segments,
                                                const std::vector<PolicyEntry>& entries, bool may_write,
                                                const PolicyNumbers& numbers = {});

}  // namespace tlc::store
