// SPDX-License-Identifier: MIT
#include "evict_traces.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <unordered_map>

namespace bench {
namespace {

constexpr double kHour = 3600, kDay = 24 * kHour;

/// splitmix64, and what is drawn from it. The standard distributions differ between libraries.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  std::uint32_t below(std::size_t n) { return static_cast<std::uint32_t>(next() % n); }
  double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * 3.14159265358979323846 * uniform()); }

 private:
  std::uint64_t state_;
};

/// Sizes from 4 KiB to 20 MiB, half of them under 48 KiB; compile times from 5 ms to 60 s that grow with the size's
/// power 0.6 and scatter by a factor of e around that.
Object draw_object(Dice& dice, std::uint64_t name_space) {
  const double size = std::clamp(std::exp(std::log(48.0 * 1024) + 1.3 * dice.normal()), 4096.0, 20.0 * (1 << 20));
  const double cost = std::clamp(400 * std::pow(size / (48.0 * 1024), 0.6) * std::exp(dice.normal()), 5.0, 60000.0);
  const auto bytes = static_cast<std::uint64_t>(size);
  return {(bytes + 256 + 400 + 63) / 64 * 64, cost, name_space};
}

/// Ranks by Zipf's law.
class Zipf {
 public:
  Zipf(std::size_t n, double power) : sums_(n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sums_[i] = sum += std::pow(static_cast<double>(i + 1), -power);
  }
  std::uint32_t draw(Dice& dice) const {
    const double at = dice.uniform() * sums_.back();
    return static_cast<std::uint32_t>(std::lower_bound(sums_.begin(), sums_.end(), at) - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

// Many users' kernels: popularity by Zipf's law, and what is popular drifts over thirty days.
Trace zipf(std::uint64_t seed) {
  Dice dice(seed);
  Trace trace{"zipf", {}, {}};
  constexpr std::size_t kObjects = 12000, kRequests = 150000;
  for (std::size_t i = 0; i < kObjects; ++i) trace.objects.push_back(draw_object(dice, 1));
  std::vector<std::uint32_t> by_rank(kObjects);
  std::iota(by_rank.begin(), by_rank.end(), 0);
  const Zipf ranks(kObjects, 0.9);
  for (std::size_t i = 0; i < kRequests; ++i) {
    if (i % 20 == 0) std::swap(by_rank[ranks.draw(dice)], by_rank[dice.below(kObjects)]);
    trace.requests.push_back({static_cast<double>(i) * 30 * kDay / kRequests, by_rank[ranks.draw(dice)]});
  }
  return trace;
}

// A tuner tries 20 to 300 candidates, each asked for once or twice within minutes; the best is then used by jobs for
// days, with the best of other problems.
Trace autotune(std::uint64_t seed) {
  Dice dice(seed + 1);
  Trace trace{"autotune", {}, {}};
  std::vector<std::uint32_t> winners;
  double now = 0;
  for (int sweep = 0; sweep < 160; ++sweep) {
    const std::uint32_t candidates = 20 + dice.below(281);
    const auto first = static_cast<std::uint32_t>(trace.objects.size());
    for (std::uint32_t i = 0; i < candidates; ++i) {
      trace.objects.push_back(draw_object(dice, 1));
      trace.requests.push_back({now += 1, first + i});
      if (dice.uniform() < 0.3) trace.requests.push_back({now + 60 + dice.uniform() * 300, first + i});
    }
    winners.push_back(first + dice.below(candidates));
    for (int job = 0; job < 12; ++job) {
      now += kHour / 4;
      const std::size_t recent = std::min<std::size_t>(winners.size(), 80);
      for (std::size_t i = winners.size() - recent; i < winners.size(); ++i)
        if (dice.uniform() < 0.5) trace.requests.push_back({now += 0.5, winners[i]});
    }
  }
  return trace;
}

// A set of 1500 kernels whose compiler is upgraded every other day: all keys change, the old ones are asked for by few
// jobs, for a while.
Trace upgrades(std::uint64_t seed) {
  Dice dice(seed + 2);
  Trace trace{"upgrades", {}, {}};
  constexpr std::uint32_t kKernels = 1500;
  const Zipf ranks(kKernels, 0.7);
  double now = 0;
  for (std::uint32_t version = 0; version < 12; ++version) {
    for (std::uint32_t i = 0; i < kKernels; ++i) trace.objects.push_back(draw_object(dice, version));
    for (int i = 0; i < 9000; ++i) {
      std::uint32_t used = version;
      if (version > 0 && dice.uniform() < 0.15 * std::exp(-i / 3000.0)) used = version - 1;
      trace.requests.push_back({now += 2 * kDay / 9000, used * kKernels + ranks.draw(dice)});
    }
  }
  return trace;
}

// Jobs of 64 ranks: each rank asks for its model's kernels in turn, and for a few of its own. Forty models, some run
// daily, some once.
Trace ranks(std::uint64_t seed) {
  Dice dice(seed + 3);
  Trace trace{"ranks", {}, {}};
  constexpr std::uint32_t kModels = 40, kKernels = 150, kRanks = 64;
  for (std::uint32_t i = 0; i < kModels * kKernels; ++i) trace.objects.push_back(draw_object(dice, i / kKernels));
  const Zipf models(kModels, 0.8);
  double now = 0;
  for (int job = 0; job < 120; ++job) {
    const std::uint32_t model = models.draw(dice);
    for (std::uint32_t kernel = 0; kernel < kKernels; ++kernel) {
      now += 1;
      if (dice.uniform() < 0.1) trace.objects.push_back(draw_object(dice, model));  // a shape of this job only
      const bool own = trace.objects.size() > kModels * kKernels && dice.uniform() < 0.1;
      const auto object = own ? static_cast<std::uint32_t>(trace.objects.size() - 1) : model * kKernels + kernel;
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) trace.requests.push_back({now + rank * 0.01, object});
    }
    now += 4 * kHour * dice.uniform();
  }
  return trace;
}

void sort_by_time(Trace& trace) {
  std::stable_sort(trace.requests.begin(), trace.requests.end(),
                   [](const Request& a, const Request& b) { return a.time_s < b.time_s; });
}

}  // namespace

std::uint64_t Trace::working_set() const {
  std::vector<bool> seen(objects.size());
  std::uint64_t bytes = 0;
  for (const Request& request : requests) {
    if (seen[request.object]) continue;
    seen[request.object] = true;
    bytes += objects[request.object].bytes;
  }
  return bytes;
}

std::vector<Trace> synthetic_traces(std::uint64_t seed) {
  std::vector<Trace> traces = {zipf(seed), autotune(seed), upgrades(seed), ranks(seed)};
  for (Trace& trace : traces) sort_by_time(trace);
  return traces;
}

// Lines: time in ms, pid, what, digest, bytes, compile us, namespace (src/store/trace.hpp). A look-up counts whether it
// hit or missed. What is published counts if no look-up of it missed before (the artifact that a link leads to). A hit
// of the process that published, within a minute, is that publish seen again. Lines that do not fit are passed over.
Trace recorded_trace(const std::string& path) {
  Trace trace{path.substr(path.rfind('/') + 1), {}, {}};
  struct Known {
    std::uint32_t number = 0;
    bool missed = false;
    double put_ms = -1e18;
    std::string put_by;
  };
  std::ifstream file(path);
  std::unordered_map<std::string, Known> objects;
  std::map<std::string, std::uint64_t> names;
  std::string line;
  double first_ms = -1;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    double ms = 0, bytes = 0, us = 0;
    std::string pid, what, digest, name;
    if (!(words >> ms >> pid >> what >> digest >> bytes >> us) || what.size() != 1 || digest.size() != 16) continue;
    words >> name;
    if (first_ms < 0) first_ms = ms;
    const auto [place, added] = objects.try_emplace(digest);
    Known& known = place->second;
    if (added) {
      known.number = static_cast<std::uint32_t>(trace.objects.size());
      trace.objects.emplace_back();
    }
    Object& object = trace.objects[known.number];
    object.bytes = std::max(object.bytes, static_cast<std::uint64_t>(bytes));
    object.cost_ms = std::max(object.cost_ms, us / 1000);
    object.name_space = names.emplace(name, names.size()).first->second;
    const bool published = what == "p";
    const bool same = what == "h" && pid == known.put_by && ms - known.put_ms < 60000;
    if (!same && !(published && known.missed)) trace.requests.push_back({(ms - first_ms) / 1000, known.number});
    known.missed = !published && (known.missed || what != "h");
    if (published) known.put_ms = ms, known.put_by = pid;
  }
  // What was asked for and never published has no size: it cannot be cached.
  std::erase_if(trace.requests, [&](const Request& request) { return trace.objects[request.object].bytes == 0; });
  sort_by_time(trace);
  return trace;
}

}  // namespace bench
