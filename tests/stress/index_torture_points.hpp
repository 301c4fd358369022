// SPDX-License-Identifier: MIT
// Part 1 of the index torture: one script of transactions, killed at each numbered point in turn.
#pragma once

#include <sys/wait.h>

#include "index_torture_shared.hpp"

namespace tlc::test::torture {

inline constexpr std::uint64_t kScriptTransactions = 8;
inline constexpr std::uint64_t kScriptKeys = 150;

/// Transaction n of the script gives every key the version n, in batches that shrink.
inline void script(const Place& place, std::uint64_t first_version) {
  auto writer = place.open_writer();
  kp::arm = kp::Arm::numbered;
  for (std::uint64_t n = 0; n < kScriptTransactions; ++n) {
    place.take();
    kp::pass();
    need(writer.begin());
    kp::pass();
    for (std::uint64_t key = 0; key < kScriptKeys; ++key) {
      if (key % 50 == 0) kp::pass();
      need(writer.put(make_key(key), make_record(make_key(key), first_version + n)));
    }
    kp::pass();
    need(writer.commit());
    kp::pass();
    place.give();
  }
}

/// The one version that all keys have, or 0.
inline std::uint64_t common_version(const Place& place) {
  auto writer = place.open_writer();
  place.take();
  need(writer.begin());
  std::uint64_t common = 0;
  bool same = true;
  for (std::uint64_t key = 0; key < kScriptKeys; ++key) {
    IndexRecord record;
    const bool there =
        need(writer.get(make_key(key), record)) == Lookup::hit && tlc::store::intact(record, make_key(key));
    if (key == 0) common = record.sequence;
    same = same && there && record.sequence == common;
  }
  writer.abort();
  place.give();
  return same ? common : 0;
}

/// Number of points, or 0 after a failure.
inline std::uint64_t killed_at_every_point() {
  const ScratchFolder scratch;
  const Place place(scratch.path(), true);
  std::uint64_t version = 1;
  script(place, version);  // kp::countdown is 0: never hit
  kp::arm = kp::Arm::off;
  version += kScriptTransactions;
  for (std::uint64_t point = 1;; ++point) {
    const pid_t child = fork();
    if (child == 0) {
      kp::countdown = point;
      script(place, version);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const bool finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    const std::uint64_t found = common_version(place);
    if ((!finished && !killed) || !place.validate() || found < version - 1 || found >= version + kScriptTransactions) {
      std::fprintf(stderr, "FAILED: killed at point %llu: status %x, version %llu after %llu\n", (ull)point, status,
                   (ull)found, (ull)version);
      return 0;
    }
    version = found + 1;
    if (finished) return point - 1;
  }
}

}  // namespace tlc::test::torture
