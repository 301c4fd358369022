// SPDX-License-Identifier: MIT
#include "support/guard_set.hpp"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "support/failure.hpp"

namespace tlcb {
namespace {

/// File times may lag behind the clock by a tick of the kernel's.
constexpr std::int64_t kClockStep = 20'000'000;

bool exists(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0;
}

std::int64_t ns(const timespec& t) {
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

bool older_than(const std::string& path, std::int64_t started) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && std::max(ns(st.st_mtim), ns(st.st_ctim)) < started - kClockStep;
}

}  // namespace

std::int64_t GuardSet::now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return ns(now);
}

void GuardSet::wait_a_step() {
  std::this_thread::sleep_for(std::chrono::nanoseconds(2 * kClockStep));
}

void GuardSet::nothing_at(const std::string& path) {
  std::string missing = path;
  const auto above = [](const std::string& below) { return below.substr(0, below.rfind('/')); };
  for (std::string folder = above(path); !folder.empty() && !exists(folder); folder = above(folder)) missing = folder;
  absent_.insert(std::move(missing));
}

std::string GuardSet::add_to(Host host, tlc_call* call, tlc_bundle* bundle, std::int64_t started) const {
  using Digest = std::array<std::uint8_t, TLC_DIGEST_SIZE>;
  std::vector<std::pair<const std::string*, Digest>> digests;
  for (const std::string& path : present_) {
    Digest digest{};
    HostError error;
    error.check(host->file_digest(call, text(path), digest.data(), error.out()));
    digests.emplace_back(&path, digest);
  }
  for (const std::string& path : present_) {
    if (!older_than(path, started)) return path;
  }
  for (const auto& [path, digest] : digests) {
    HostError error;
    error.check(host->bundle_add_guard(bundle, text(*path), digest.data(), error.out()));
  }
  for (const std::string& path : absent_) {
    HostError error;
    error.check(host->bundle_add_absent(bundle, text(path), error.out()));
  }
  return {};
}

}  // namespace tlcb
