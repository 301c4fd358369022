// SPDX-License-Identifier: MIT
// For hit_cost.py and python_peers.py: 512 entries, and as many gets of one way as it is told. What two runs with
// different counts differ by is what the gets cost. Prints the nanoseconds of one.
//
//   hit_probe table|index|lmdb|put COUNT
#include <string_view>

#include "change_counter.hpp"
#include "peers.hpp"
#include "support.hpp"

namespace {

constexpr std::size_t kEntries = 512;

void get(tlc_cache* cache, const tlc_key* key) {
  tlc_artifact* artifact = nullptr;
  bench::require(tlc_cache_get(cache, key, &artifact, nullptr) == TLC_OK, "a get missed");
  bench::use(reinterpret_cast<std::uintptr_t>(tlc_artifact_data(artifact, 0, nullptr)));
  tlc_artifact_release(artifact);
}

}  // namespace

int main(int argc, char** argv) {
  bench::require(argc == 3, "usage: hit_probe table|index|lmdb|put COUNT");
  const std::string_view way = argv[1];
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const bench::ScratchFolder folder;
  const bench::Cache cache = bench::open_cache(folder.path() + "/tlcache");
  bench::Lmdb lmdb(folder.path() + "/lmdb");
  const std::string member = bench::bytes(16 << 10, 1);
  std::vector<bench::Key> keys;
  for (std::size_t i = 0; i < kEntries; ++i) {
    keys.push_back(bench::make_key(i));
    bench::put(cache.get(), keys[i].get(), member);
    lmdb.put(bench::digest_of(keys[i]), member);
    get(cache.get(), keys[i].get());
  }
  bench::ChangeCounter changes(folder.path() + "/tlcache");
  bench::Lmdb::Reader reader(lmdb);
  const std::uint64_t start = bench::now_ns();
  for (std::uint64_t i = 0; i < count; ++i) {
    const bench::Key& key = keys[i * 37 % kEntries];
    if (way == "index") changes.raise();
    if (way == "lmdb")
      reader.get(bench::digest_of(key),
                 [](bench::Bytes bytes) { bench::use(reinterpret_cast<std::uintptr_t>(bytes.data())); });
    else if (way == "put")
      bench::put(cache.get(), bench::make_key(kEntries + i).get(), member);
    else
      get(cache.get(), key.get());
  }
  const auto took = static_cast<double>(bench::now_ns() - start);
  std::printf("%.1f\n", took / static_cast<double>(std::max<std::uint64_t>(count, 1)));
  return 0;
}
