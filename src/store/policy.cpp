// SPDX-License-Identifier: MIT
#include "store/policy.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace tlc::store {
namespace {

constexpr double kUnknownMs = 100;  // where a namespace states no compile time at all

struct Scored {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  double worth = 0;
  bool movable = true;

  [[nodiscard]] double density() const { return worth / static_cast<double>(std::max<std::uint64_t>(bytes, 1)); }
};

struct Loss {
  double worth_per_byte = 0;  // of what is freed
  Victim victim;
};

std::uint32_t last_minute(const PolicyEntry& entry) {
  return std::max(entry.used_minute, entry.made_minute);
}

/// Compile times by namespace, for entries that state none: links, and what a framework put without saying.
class CompileTimes {
 public:
  explicit CompileTimes(const std::vector<PolicyEntry>& entries) {
    for (const PolicyEntry& entry : entries) {
      if (entry.compile_ms == 0) continue;
      add(by_name_[entry.name_space], entry.compile_ms);
      add(all_, entry.compile_ms);
    }
  }
  [[nodiscard]] double of(const PolicyEntry& entry) const {
    if (entry.compile_ms != 0) return entry.compile_ms;
    const auto found = by_name_.find(entry.name_space);
    if (found != by_name_.end()) return found->second.sum / found->second.count;
    return all_.count == 0 ? kUnknownMs : all_.sum / all_.count;
  }

 private:
  struct Mean {
    double sum = 0, count = 0;
  };
  static void add(Mean& mean, double value) {
    mean.sum += value;
    ++mean.count;
  }
  std::unordered_map<std::uint64_t, Mean> by_name_;
  Mean all_;
};

/// The entries by last use, the latest first. Small keys are sorted, not entries: there may be a million.
std::vector<std::uint32_t> by_last_use(const std::vector<PolicyEntry>& entries) {
  struct Key {
    std::uint64_t minute, sequence;
    std::uint32_t entry;
  };
  std::vector<Key> keys;
  keys.reserve(entries.size());
  for (const PolicyEntry& entry : entries)
    keys.push_back({last_minute(entry), entry.sequence, static_cast<std::uint32_t>(keys.size())});
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return a.minute != b.minute ? a.minute > b.minute : a.sequence > b.sequence;
  });
  std::vector<std::uint32_t> order;
  order.reserve(keys.size());
  for (const Key& key : keys) order.push_back(key.entry);
  return order;
}

std::vector<Scored> score(const std::vector<PolicyEntry>& entries, const PolicyNumbers& numbers) {
  double total = 0;
  for (const PolicyEntry& entry : entries) total += static_cast<double>(entry.bytes);
  const CompileTimes times(entries);
  std::vector<Scored> scored;
  scored.reserve(entries.size());
  double used_after = 0;
  for (const std::uint32_t number : by_last_use(entries)) {
    const PolicyEntry& entry = entries[number];
    const double recency = 1 / (used_after / std::max(total, 1.0) + numbers.recency_floor);
    const double again = entry.used_minute > entry.made_minute ? numbers.used_again : 1;
    scored.push_back({entry.segment, entry.offset, entry.bytes, times.of(entry) * recency * again, entry.movable});
    used_after += static_cast<double>(entry.bytes);
  }
  return scored;
}

double average_density(const std::vector<Scored>& entries) {
  double worth = 0, bytes = 0;
  for (const Scored& entry : entries) {
    worth += entry.worth;
    bytes += static_cast<double>(entry.bytes);
  }
  return bytes == 0 ? 0 : worth / bytes;
}

/// What becomes of one segment. `entries` are its own; they are sorted here.
Loss lose(const PolicySegment& segment, std::vector<Scored>& entries, double least_density, double most_kept) {
  Loss loss;
  loss.victim.segment = segment.id;
  std::sort(entries.begin(), entries.end(), [](const Scored& a, const Scored& b) {
    const double left = a.density(), right = b.density();
    return left != right ? left > right : a.offset < b.offset;
  });
  const double room = entries.size() < 2 ? 0 : static_cast<double>(segment.bytes) * most_kept;
  double kept = 0, lost = 0;
  for (const Scored& entry : entries) {
    const auto bytes = static_cast<double>(entry.bytes);
    if (entry.movable && entry.density() >= least_density && kept + bytes <= room) {
      kept += bytes;
      loss.victim.kept.push_back(entry.offset);
    } else {
      lost += entry.worth;
    }
  }
  std::sort(loss.victim.kept.begin(), loss.victim.kept.end());
  loss.worth_per_byte = lost / std::max(static_cast<double>(segment.bytes) - kept, 1.0);
  return loss;
}

}  // namespace

std::vector<Victim> plan_eviction(std::vector<PolicySegment> segments, const std::vector<PolicyEntry>& entries,
                                  bool may_write, const PolicyNumbers& numbers) {
  const std::vector<Scored> scored = score(entries, numbers);
  const double least = average_density(scored) * numbers.least_kept;
  std::sort(segments.begin(), segments.end(),
            [](const PolicySegment& a, const PolicySegment& b) { return a.id < b.id; });
  std::unordered_map<std::uint64_t, std::vector<Scored>> by_segment(segments.size());
  for (const PolicySegment& segment : segments) by_segment[segment.id];
  for (const Scored& one : scored)
    if (const auto found = by_segment.find(one.segment); found != by_segment.end()) found->second.push_back(one);
  std::vector<Loss> losses;
  losses.reserve(segments.size());
  for (const PolicySegment& segment : segments)
    losses.push_back(lose(segment, by_segment[segment.id], least, may_write ? numbers.most_kept : 0));
  std::stable_sort(losses.begin(), losses.end(),
                   [](const Loss& a, const Loss& b) { return a.worth_per_byte < b.worth_per_byte; });
  std::vector<Victim> plan;
  plan.reserve(losses.size());
  for (Loss& loss : losses) plan.push_back(std::move(loss.victim));
  return plan;
}

}  // namespace tlc::store
