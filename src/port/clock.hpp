// SPDX-License-Identifier: MIT
// Clocks and deadlines. Deadlines use the monotonic clock; only what is written to disk uses the
// wall clock, which may jump.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>
#include <limits>

namespace tlc::port {

namespace detail {
inline constinit std::atomic<std::int64_t> wall_offset_ns{0};

inline std::int64_t read_clock_ns(clockid_t id) {
  timespec ts{};
  ::clock_gettime(id, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

inline std::uint64_t shifted(std::int64_t ns) {
  const std::int64_t now = ns + wall_offset_ns.load(std::memory_order_relaxed);
  return now > 0 ? static_cast<std::uint64_t>(now) : 0;
}
}  // namespace detail

[[nodiscard]] inline std::uint64_t monotonic_ns() {
  return static_cast<std::uint64_t>(detail::read_clock_ns(CLOCK_MONOTONIC));
}

/// Nanoseconds since 1970.
[[nodiscard]] inline std::uint64_t wall_ns() {
  return detail::shifted(detail::read_clock_ns(CLOCK_REALTIME));
}

/// Minutes since 1970, from the tick of the kernel: no more than a few nanoseconds.
[[nodiscard]] inline std::uint32_t coarse_minutes() {
  const std::uint64_t ns = detail::shifted(detail::read_clock_ns(CLOCK_REALTIME_COARSE));
  return static_cast<std::uint32_t>(ns / 60'000'000'000U);
}

/// Tests of clocks that jump: wall_ns and coarse_minutes answer this much later (or earlier).
inline void set_wall_offset_for_test(std::int64_t ns) {
  detail::wall_offset_ns.store(ns, std::memory_order_relaxed);
}

/// A moment on the monotonic clock after which a wait gives up.
struct Deadline {
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t at_ns = kNever;

  [[nodiscard]] static Deadline after_ms(std::uint64_t ms) {
    const std::uint64_t now = monotonic_ns();
    if (ms > (kNever - 1 - now) / 1'000'000U) return never();
    return Deadline{now + ms * 1'000'000U};
  }
  [[nodiscard]] static constexpr Deadline never() { return Deadline{kNever}; }
  [[nodiscard]] static constexpr Deadline already() { return Deadline{0}; }

  [[nodiscard]] bool passed() const { return remaining_ns() == 0; }
  /// kNever for a deadline that never comes.
  [[nodiscard]] std::uint64_t remaining_ns() const {
    if (at_ns == kNever) return kNever;
    if (at_ns == 0) return 0;
    const std::uint64_t now = monotonic_ns();
    return at_ns > now ? at_ns - now : 0;
  }
};

}  // namespace tlc::port
