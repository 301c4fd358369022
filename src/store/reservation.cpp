// SPDX-License-Identifier: MIT
#include "store/reservation.hpp"

#include <algorithm>
#include <array>

#include "port/clock.hpp"

namespace tlc::store {
namespace {

constexpr std::uint64_t kTickNs = 30'000'000'000;
constexpr std::uint64_t kUnit = 64;
constexpr unsigned kUnitBits = 40;
constexpr std::uint64_t kUnits = (std::uint64_t{1} << kUnitBits) - 1;
constexpr std::uint64_t kTicks = (std::uint64_t{1} << (64 - kUnitBits)) - 1;

using Words = std::array<std::uint64_t, kPendingWords>;

std::uint64_t tick_now() {
  return (port::monotonic_ns() / kTickNs) & kTicks;
}

// Not older than a minute; a process that is a moment ahead counts too.
bool counts(std::uint64_t word, std::uint64_t now) {
  const std::uint64_t ago = (now - (word >> kUnitBits)) & kTicks;
  return ago <= 1 || ago == kTicks;
}

Words read(const ControlHeader& control) {
  Words words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = control.pending[i].load(std::memory_order_acquire);
  return words;
}

std::uint64_t sum(const Words& words, std::uint64_t now) {
  std::uint64_t units = 0;
  for (const std::uint64_t word : words) units += counts(word, now) ? word & kUnits : 0;
  return units * kUnit;
}

}  // namespace

std::optional<Reservation> Reservation::take(ControlHeader& control, std::uint64_t bytes, std::uint64_t limit) {
  const std::uint64_t units = (bytes + kUnit - 1) / kUnit;
  if (units > kUnits / 2) return std::nullopt;
  for (;;) {
    const std::uint64_t now = tick_now();
    const Words words = read(control);
    const std::uint64_t used = control.used_bytes.load(std::memory_order_acquire);
    if (used > limit || sum(words, now) + bytes > limit - used) {
      if (words == read(control)) return std::nullopt;
      continue;
    }
    std::uint64_t word = words[now % kPendingWords];
    const std::uint64_t there = word >> kUnitBits == now ? word & kUnits : 0;
    if (there + units > kUnits) return std::nullopt;
    if (words != read(control)) continue;
    if (control.pending[now % kPendingWords].compare_exchange_weak(word, now << kUnitBits | (there + units),
                                                                   std::memory_order_acq_rel))
      return Reservation(control, now, units);
  }
}

Reservation::~Reservation() {
  if (control_ == nullptr) return;
  SharedWord& shared = control_->pending[tick_ % kPendingWords];
  std::uint64_t word = shared.load(std::memory_order_relaxed);
  while (word >> kUnitBits == tick_) {  // else it took too long, and counts no more
    const std::uint64_t left = (word & kUnits) - std::min(word & kUnits, units_);
    if (shared.compare_exchange_weak(word, tick_ << kUnitBits | left, std::memory_order_acq_rel)) return;
  }
}

void Reservation::settle(std::uint64_t bytes) {
  control_->used_bytes.fetch_add(bytes, std::memory_order_release);
  const Reservation done(std::move(*this));
}

std::uint64_t reserved_bytes(const ControlHeader& control) {
  return sum(read(control), tick_now());
}

}  // namespace tlc::store
