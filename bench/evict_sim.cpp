// SPDX-License-Identifier: MIT
// What each policy of eviction costs in recompile time: one JSON object a line, for bench/evict_sim.py.
//
//   tlc_bench_evict_sim [--seed N] [--tune] [TRACE...]     recorded traces beside the synthetic ones
//   tlc_bench_evict_sim --scan N                           what one plan over N entries takes of a processor
//
// --tune runs variants of the store's policy instead of the other policies.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "evict_caches.hpp"

namespace {

using namespace bench;  // NOLINT

void print(const Trace& trace, double part, std::uint64_t limit, const std::string& policy, const Outcome& outcome,
           double unlimited_s) {
  std::printf(
      "{\"trace\": \"%s\", \"part\": %g, \"limit\": %llu, \"policy\": \"%s\", \"recompile_s\": %.3f, \"unlimited_s\": "
      "%.3f, \"requests\": %llu, \"hits\": %llu, \"inserted_bytes\": %.0f, \"rewritten_bytes\": %.0f, \"rounds\": "
      "%llu}\n",
      trace.name.c_str(), part, static_cast<unsigned long long>(limit), policy.c_str(), outcome.recompile_s,
      unlimited_s, static_cast<unsigned long long>(outcome.requests), static_cast<unsigned long long>(outcome.hits),
      outcome.inserted_bytes, outcome.rewritten_bytes, static_cast<unsigned long long>(outcome.rounds));
  std::fflush(stdout);
}

void compare(const Trace& trace, double part, std::uint64_t limit, double unlimited_s) {
  const auto show = [&](const char* name, const Outcome& outcome) {
    print(trace, part, limit, name, outcome, unlimited_s);
  };
  show("tlcache", run_store(trace, limit));
  StoreVariant oldest;
  oldest.oldest_first = true;
  show("oldest segment", run_store(trace, limit, oldest));
  for (const char* policy : {"fifo", "lru", "gdsf"}) show(policy, run_entries(policy, trace, limit));
  show("offline", run_offline(trace, limit));
  show("bound", bound_below(trace, limit));
}

// Each number varied alone around what the library uses.
void tune(const Trace& trace, double part, std::uint64_t limit, double unlimited_s) {
  const auto show = [&](const std::string& name, const StoreVariant& variant) {
    print(trace, part, limit, name, run_store(trace, limit, variant), unlimited_s);
  };
  show("as the library", {});
  using Numbers = tlc::store::PolicyNumbers;
  const struct {
    const char* name;
    double Numbers::*number;
    std::vector<double> values;
  } kVaried[] = {{"most_kept", &Numbers::most_kept, {0, 0.25, 0.75}},
                 {"least_kept", &Numbers::least_kept, {0, 0.5, 1}},
                 {"recency_floor", &Numbers::recency_floor, {0.002, 0.1, 0.3, 100}},
                 {"used_again", &Numbers::used_again, {1, 2, 4, 16}}};
  for (const auto& varied : kVaried) {
    for (const double value : varied.values) {
      StoreVariant variant;
      variant.numbers.*varied.number = value;
      show(varied.name + std::string(" ") + std::to_string(value).substr(0, 5), variant);
    }
  }
  for (const double value : {0.8, 0.95}) {
    StoreVariant variant;
    variant.low_water = value;
    show("low water " + std::to_string(value).substr(0, 4), variant);
  }
}

void scan(std::uint64_t count) {
  std::vector<tlc::store::PolicySegment> segments;
  std::vector<tlc::store::PolicyEntry> entries;
  std::uint64_t state = 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    tlc::store::PolicyEntry entry;
    entry.segment = 1 + i / 4000;
    entry.offset = i % 4000 * 16384;
    entry.bytes = 4096 + (state >> 40) % 28000;
    entry.sequence = i;
    entry.compile_ms = 1 + static_cast<std::uint32_t>(state >> 33) % 5000;
    entry.made_minute = static_cast<std::uint32_t>(i / 1000);
    entry.used_minute = static_cast<std::uint32_t>((state >> 20) % 2000);
    entries.push_back(entry);
    if (segments.empty() || segments.back().id != entry.segment) segments.push_back({entry.segment, 64 << 20});
  }
  const std::clock_t start = std::clock();
  const std::size_t planned = tlc::store::plan_eviction(segments, entries, true).size();
  std::printf("{\"entries\": %llu, \"segments\": %zu, \"plan_cpu_ms\": %.0f}\n", static_cast<unsigned long long>(count),
              planned, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seed = 1;
  bool tuning = false;
  std::vector<Trace> recorded;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--tune") == 0) {
      tuning = true;
    } else if (std::strcmp(argv[i], "--scan") == 0 && i + 1 < argc) {
      scan(std::strtoull(argv[i + 1], nullptr, 10));
      return 0;
    } else if (std::strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else {
      recorded.push_back(recorded_trace(argv[i]));
      if (!recorded.back().requests.empty()) continue;
      std::fprintf(stderr, "%s: no trace, or nothing in it\n", argv[i]);
      return 1;
    }
  }
  std::vector<Trace> traces = synthetic_traces(seed);
  for (Trace& trace : recorded) traces.push_back(std::move(trace));
  for (const Trace& trace : traces) {
    const std::uint64_t whole = trace.working_set();
    const double unlimited_s = run_unlimited(trace).recompile_s;
    for (const double part : {0.05, 0.10, 0.25, 0.50})
      (tuning ? tune : compare)(trace, part, static_cast<std::uint64_t>(static_cast<double>(whole) * part),
                                unlimited_s);
  }
  return 0;
}
