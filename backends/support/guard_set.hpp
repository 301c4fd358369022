// SPDX-License-Identifier: MIT
// The files a compile read and the paths where it found nothing, on their way into a bundle.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "support/failure.hpp"
#include "support/host.hpp"

namespace tlcb {

class GuardSet {
 public:
  /// A file that was read, by its absolute path.
  void read(const std::string& path) { present_.insert(path); }
  /// A path where nothing is; kept as the first missing folder on the way to it.
  void nothing_at(const std::string& path);

  /// Digests of the files, then guards into the bundle. If a file was written since shortly before `started`, nothing
  /// is added and its path is returned: what the compile saw of it is not known. Empty: done.
  [[nodiscard]] std::string add_to(Host host, tlc_call* call, tlc_bundle* bundle, std::int64_t started) const;

  [[nodiscard]] const std::set<std::string>& present() const { return present_; }
  [[nodiscard]] const std::set<std::string>& absent() const { return absent_; }

  /// The clock that `started` is of: nanoseconds since 1970.
  [[nodiscard]] static std::int64_t now_ns();
  /// Waits until what has been written just now counts as older than `started`.
  static void wait_a_step();

 private:
  std::set<std::string> present_;
  std::set<std::string> absent_;
};

/// Compiles until nothing of what the compile may read was written meanwhile, three times at most: `compile` fills the
/// set and gives what it made, `keep` takes it when its guards are in the bundle. Throws Failure (TLC_E_UNCACHEABLE).
template <typename Compile, typename Keep>
void compile_undisturbed(Host host, tlc_call* call, tlc_bundle* bundle, Compile&& compile, Keep&& keep) {
  constexpr int kAttempts = 3;
  std::string changing;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) GuardSet::wait_a_step();
    const std::int64_t started = GuardSet::now_ns();
    GuardSet guards;
    auto made = compile(guards);
    changing = guards.add_to(host, call, bundle, started);
    if (changing.empty()) return keep(std::move(made));
  }
  throw Failure(TLC_E_UNCACHEABLE, "a file that the source may include is being written all the time (" + changing +
                                       "); compile again when it is done");
}

}  // namespace tlcb
