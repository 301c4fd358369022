// SPDX-License-Identifier: MIT
// Starting over when writers overtook the reader.
#pragma once

#include <sched.h>

#include <utility>

#include "store/index/snapshot.hpp"

namespace tlc::store {

/// A reader was never seen to need more than 6 walks, with writers that did nothing but commit on
/// 16 cores.
inline constexpr unsigned kMaxWalks = 64;
/// After so many it gives the processor up between walks: the writer may need it.
inline constexpr unsigned kWalksBeforeYield = 8;

/// read_once until it is not busy, at most kMaxWalks times.
template <class Hooks, class Walk>
Lookup read_snapshot(const PageSource& pages, const IndexControl* control, Hooks& hooks, Walk&& walk) {
  for (unsigned tries = 1;; ++tries) {
    const Lookup answer = read_once(pages, control, hooks, walk);
    if (answer != Lookup::busy || tries == kMaxWalks) return answer;
    if (tries > kWalksBeforeYield) sched_yield();
  }
}

}  // namespace tlc::store
