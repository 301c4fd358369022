// SPDX-License-Identifier: MIT
// For hit_cost.py: puts an entry and gets it as often as it is told. What two runs with different counts differ by is
// what the gets cost.
#include "support.hpp"

int main(int argc, char** argv) {
  const std::uint64_t gets = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const bench::ScratchFolder folder;
  const bench::Cache cache = bench::open_cache(folder.path() + "/tlcache");
  const bench::Key key = bench::make_key(1);
  bench::put(cache.get(), key.get(), bench::bytes(16 << 10, 1));
  for (std::uint64_t i = 0; i <= gets; ++i) {
    tlc_artifact* artifact = nullptr;
    bench::require(tlc_cache_get(cache.get(), key.get(), &artifact, nullptr) == TLC_OK, "a get missed");
    bench::use(reinterpret_cast<std::uintptr_t>(tlc_artifact_data(artifact, 0, nullptr)));
    tlc_artifact_release(artifact);
  }
  return 0;
}
