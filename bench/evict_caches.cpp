// SPDX-License-Identifier: MIT
#include "evict_caches.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "store/format.hpp"

namespace bench {
namespace {

constexpr std::uint32_t kFirstMinute = 29'000'000;  // as good as any: minutes since 1970

std::uint32_t minute_of(double time_s) {
  return kFirstMinute + static_cast<std::uint32_t>(time_s / 60);
}

void miss(Outcome& outcome, const Object& object) {
  outcome.recompile_s += object.cost_ms / 1000;
}

/// The store in little: entries in segments that fill up one after the other.
class StoreCache {
 public:
  StoreCache(const Trace& trace, std::uint64_t limit, const StoreVariant& variant)
      : trace_(trace),
        limit_(limit),
        // No store is smaller than kMinLimit: a small trace is replayed as if all were larger.
        segment_size_(limit < tlc::store::kMinLimit ? limit / 64 : tlc::store::segment_size_for(limit)),
        variant_(variant),
        entries_(trace.objects.size()) {}

  Outcome run() {
    for (const Request& request : trace_.requests) {
      ++outcome_.requests;
      tlc::store::PolicyEntry& entry = entries_[request.object];
      if (entry.segment != 0) {
        ++outcome_.hits;
        entry.used_minute = minute_of(request.time_s);
        continue;
      }
      const Object& object = trace_.objects[request.object];
      miss(outcome_, object);
      if (object.bytes > limit_ / 8) continue;
      if (used_ + object.bytes > limit_ / 32 * 31) make_room(object.bytes);
      entry = {0,
               0,
               object.bytes,
               ++sequence_,
               object.name_space,
               static_cast<std::uint32_t>(std::ceil(object.cost_ms)),
               minute_of(request.time_s),
               0,
               true};
      place(request.object);
      outcome_.inserted_bytes += static_cast<double>(object.bytes);
    }
    return outcome_;
  }

 private:
  struct Segment {
    std::uint64_t bytes = 0;
    std::vector<std::uint32_t> objects;
  };

  void place(std::uint32_t object) {
    tlc::store::PolicyEntry& entry = entries_[object];
    const bool own = entry.bytes > segment_size_ / 8;
    if (!own && (active_ == 0 || segments_[active_].bytes + entry.bytes > segment_size_)) active_ = ++next_;
    const std::uint64_t id = own ? ++next_ : active_;
    Segment& segment = segments_[id];
    entry.segment = id;
    entry.offset = segment.bytes;
    segment.bytes += entry.bytes;
    segment.objects.push_back(object);
    used_ += entry.bytes;
  }

  void make_room(std::uint64_t bytes) {
    ++outcome_.rounds;
    const auto low = static_cast<std::uint64_t>(static_cast<double>(limit_) * variant_.low_water);
    const std::uint64_t target = low > bytes ? low - bytes : 0;
    std::vector<tlc::store::PolicySegment> segments;
    std::vector<tlc::store::PolicyEntry> live;
    for (const auto& [id, segment] : segments_)
      if (id != active_) segments.push_back({id, segment.bytes});
    for (const tlc::store::PolicyEntry& entry : entries_)
      if (entry.segment != 0) live.push_back(entry);
    std::vector<tlc::store::Victim> plan;
    if (variant_.oldest_first)
      for (const tlc::store::PolicySegment& segment : segments) plan.push_back({segment.id, {}});
    else
      plan = plan_eviction(std::move(segments), live, true, variant_.numbers);
    for (const tlc::store::Victim& victim : plan) {
      if (used_ <= target) break;
      evict(victim);
    }
  }

  void evict(const tlc::store::Victim& victim) {
    const Segment segment = std::move(segments_[victim.segment]);
    segments_.erase(victim.segment);
    used_ -= segment.bytes;
    for (const std::uint32_t object : segment.objects) {
      tlc::store::PolicyEntry& entry = entries_[object];
      if (entry.segment != victim.segment) continue;
      if (std::binary_search(victim.kept.begin(), victim.kept.end(), entry.offset)) {
        place(object);
        outcome_.rewritten_bytes += static_cast<double>(entry.bytes);
      } else {
        entry.segment = 0;
      }
    }
  }

  const Trace& trace_;
  std::uint64_t limit_, segment_size_;
  StoreVariant variant_;
  std::vector<tlc::store::PolicyEntry> entries_;  // by object; segment 0: not there
  std::map<std::uint64_t, Segment> segments_;
  std::uint64_t active_ = 0, next_ = 0, used_ = 0, sequence_ = 0;
  Outcome outcome_;
};

/// Keeps single entries in order of a rank; what ranks lowest goes.
class RankedCache {
 public:
  RankedCache(const Trace& trace, std::uint64_t limit)
      : trace_(trace), limit_(limit), rank_(trace.objects.size(), -1) {}

  /// rank(object, request number, hit) is asked at each request.
  template <typename Rank>
  Outcome run(const Rank& rank, const std::vector<std::uint64_t>* next = nullptr) {
    Outcome outcome;
    for (std::size_t i = 0; i < trace_.requests.size(); ++i) {
      const std::uint32_t object = trace_.requests[i].object;
      const Object& what = trace_.objects[object];
      const bool hit = rank_[object] >= 0;
      ++outcome.requests;
      outcome.hits += hit ? 1 : 0;
      if (!hit) miss(outcome, what);
      if (hit) take_out(object);
      // What does not come again need not be taken in, if that is known.
      if (what.bytes > limit_ || (next != nullptr && (*next)[i] == trace_.requests.size())) continue;
      while (used_ + what.bytes > limit_) {
        lowest_ = order_.begin()->first;
        take_out(order_.begin()->second);
      }
      rank_[object] = rank(object, i, hit);
      order_.emplace(rank_[object], object);
      used_ += what.bytes;
      if (!hit) outcome.inserted_bytes += static_cast<double>(what.bytes);
    }
    return outcome;
  }
  [[nodiscard]] double lowest() const { return lowest_; }  // rank of what went last

 private:
  void take_out(std::uint32_t object) {
    order_.erase({rank_[object], object});
    rank_[object] = -1;
    used_ -= trace_.objects[object].bytes;
  }

  const Trace& trace_;
  std::uint64_t limit_, used_ = 0;
  std::vector<double> rank_;  // -1: not there
  std::set<std::pair<double, std::uint32_t>> order_;
  double lowest_ = 0;
};

/// For each request the number of the next one of its object; the number of requests if there is none.
std::vector<std::uint64_t> next_requests(const Trace& trace) {
  std::vector<std::uint64_t> next(trace.requests.size()), later(trace.objects.size(), trace.requests.size());
  for (std::size_t i = trace.requests.size(); i-- > 0;) {
    next[i] = later[trace.requests[i].object];
    later[trace.requests[i].object] = i;
  }
  return next;
}

}  // namespace

Outcome run_store(const Trace& trace, std::uint64_t limit, const StoreVariant& variant) {
  return StoreCache(trace, limit, variant).run();
}

Outcome run_entries(const std::string& policy, const Trace& trace, std::uint64_t limit) {
  RankedCache cache(trace, limit);
  if (policy == "lru") return cache.run([](std::uint32_t, std::size_t i, bool) { return static_cast<double>(i); });
  if (policy == "fifo") {
    std::vector<double> since(trace.objects.size());
    return cache.run([&](std::uint32_t object, std::size_t i, bool hit) {
      return hit ? since[object] : since[object] = static_cast<double>(i);
    });
  }
  // Greedy dual size frequency: age of the cache + uses * cost / bytes. Uses count from 1 when it was evicted.
  std::vector<double> uses(trace.objects.size());
  return cache.run([&](std::uint32_t object, std::size_t, bool hit) {
    uses[object] = hit ? uses[object] + 1 : 1;
    const Object& what = trace.objects[object];
    return cache.lowest() + uses[object] * what.cost_ms / static_cast<double>(what.bytes);
  });
}

// Ranks change with the time that is left until the next use: they are drawn up anew whenever it is full.
Outcome run_offline(const Trace& trace, std::uint64_t limit) {
  const std::vector<std::uint64_t> next = next_requests(trace);
  const std::size_t end = trace.requests.size();
  std::vector<std::uint64_t> upcoming(trace.objects.size(), 0);  // 0: not there
  std::vector<std::uint32_t> there;
  std::vector<std::pair<double, std::uint32_t>> ranks;
  std::uint64_t used = 0;
  Outcome outcome;
  for (std::size_t i = 0; i < end; ++i) {
    const std::uint32_t object = trace.requests[i].object;
    const Object& what = trace.objects[object];
    const bool hit = upcoming[object] != 0;
    ++outcome.requests;
    outcome.hits += hit ? 1 : 0;
    if (!hit) miss(outcome, what);
    if (next[i] == end || what.bytes > limit) {
      if (hit) used -= what.bytes;
      upcoming[object] = 0;
      continue;
    }
    upcoming[object] = next[i];
    if (hit) continue;
    used += what.bytes;
    outcome.inserted_bytes += static_cast<double>(what.bytes);
    there.push_back(object);
    if (used <= limit) continue;
    // Down to 99 %, all by one order: a full sort per entry would take hours.
    std::erase_if(there, [&](std::uint32_t one) { return upcoming[one] == 0; });
    std::sort(there.begin(), there.end());
    there.erase(std::unique(there.begin(), there.end()), there.end());
    ranks.clear();
    for (const std::uint32_t one : there) {
      const Object& each = trace.objects[one];
      ranks.emplace_back(each.cost_ms / static_cast<double>(each.bytes) / static_cast<double>(upcoming[one] - i), one);
    }
    std::sort(ranks.begin(), ranks.end());
    for (const auto& [rank, one] : ranks) {
      if (used <= limit / 100 * 99) break;
      upcoming[one] = 0;
      used -= trace.objects[one].bytes;
    }
  }
  return outcome;
}

Outcome bound_below(const Trace& trace, std::uint64_t limit) {
  struct Span {
    double space, saved;
  };
  const std::vector<std::uint64_t> next = next_requests(trace);
  std::vector<Span> spans;
  Outcome outcome;
  outcome.requests = trace.requests.size();
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    const Object& what = trace.objects[trace.requests[i].object];
    miss(outcome, what);
    if (next[i] < trace.requests.size())
      spans.push_back({static_cast<double>(what.bytes) * static_cast<double>(next[i] - i), what.cost_ms / 1000});
  }
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.saved * b.space > b.saved * a.space; });
  double left = static_cast<double>(limit) * static_cast<double>(trace.requests.size());
  for (const Span& span : spans) {
    const double part = std::min(1.0, left / span.space);
    outcome.recompile_s -= span.saved * part;
    outcome.hits += part == 1 ? 1 : 0;
    left -= span.space * part;
    if (left <= 0) break;
  }
  return outcome;
}

Outcome run_unlimited(const Trace& trace) {
  return run_entries("fifo", trace, std::numeric_limits<std::uint64_t>::max());
}

}  // namespace bench
