// SPDX-License-Identifier: MIT
// A million entries: a warm get beside a bare mdb_get on an index of that size, and the open of the store in a fresh
// process beside one with a thousand entries.
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "change_counter.hpp"
#include "peers.hpp"
#include "support.hpp"

namespace {

constexpr std::size_t kMember = 64;
constexpr std::size_t kIndexRecord = 128;
constexpr std::size_t kSample = 100'000;  // entries that are asked for
constexpr std::uint64_t kLimit = std::uint64_t{16} << 30;

bench::Cache open_large(const std::string& folder) {
  return bench::open_cache(folder, kLimit);
}

void fill(const std::string& folder, std::size_t count) {
  const bench::Cache cache = open_large(folder);
  const std::string member = bench::bytes(kMember, 1);
  for (std::size_t i = 0; i < count; ++i) bench::put(cache.get(), bench::make_key(i).get(), member);
}

/// Nanoseconds that opening takes in a process that has done nothing else.
double open_in_child(const std::string& folder) {
  int ends[2];
  bench::require(::pipe(ends) == 0, "pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    const std::uint64_t start = bench::now_ns();
    const bench::Cache cache = open_large(folder);
    const std::uint64_t took = bench::now_ns() - start;
    ::_exit(::write(ends[1], &took, sizeof took) == sizeof took ? 0 : 1);
  }
  std::uint64_t took = 0;
  bench::require(::read(ends[0], &took, sizeof took) == sizeof took, "a child failed");
  ::close(ends[0]);
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  return static_cast<double>(took);
}

void opens(const std::string& small, const std::string& large, int rounds) {
  std::array<std::vector<double>, 2> times;
  for (int round = 0; round < rounds; ++round) {
    times[0].push_back(open_in_child(small));
    times[1].push_back(open_in_child(large));
  }
  bench::report("million_open", {{"thousand", bench::median(times[0])}, {"million", bench::median(times[1])}});
}

void gets(const std::string& folder, const std::string& peer, std::size_t count, int rounds) {
  const bench::Cache cache = open_large(folder);
  bench::ChangeCounter changes(folder);
  bench::Lmdb lmdb(peer);
  const std::string record = bench::bytes(kIndexRecord, 2);
  std::vector<bench::Key> keys;
  const std::vector<std::size_t> order = bench::shuffled(count, 3);
  {
    bench::Lmdb::Batch batch(lmdb);
    for (std::size_t i = 0; i < count; ++i) batch.put(bench::digest_of(bench::make_key(i)), record);
  }
  for (std::size_t i = 0; i < std::min(count, kSample); ++i) keys.push_back(bench::make_key(order[i]));
  const auto pass = [&](bool through_index) {
    if (through_index) changes.raise();
    for (const bench::Key& key : keys) {
      tlc_artifact* artifact = nullptr;
      bench::require(tlc_cache_get(cache.get(), key.get(), &artifact, nullptr) == TLC_OK, "a get missed");
      bench::use(reinterpret_cast<std::uintptr_t>(tlc_artifact_data(artifact, 0, nullptr)));
      tlc_artifact_release(artifact);
    }
  };
  bench::Lmdb::Reader reader(lmdb);
  const std::vector<double> times = bench::interleave(
      {{"index", [&] { pass(true); }, keys.size()},
       {"table", [&] { pass(false); }, keys.size()},
       {"lmdb",
        [&] {
          for (const bench::Key& key : keys)
            reader.get(bench::digest_of(key),
                       [](bench::Bytes bytes) { bench::use(reinterpret_cast<std::uintptr_t>(bytes.data())); });
        },
        keys.size()}},
      rounds);
  bench::report(
      "million_get",
      {{"entries", static_cast<double>(count)}, {"index", times[0]}, {"table", times[1]}, {"lmdb", times[2]}});
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  const std::size_t count = quick ? 20'000 : 1'000'000;
  const bench::ScratchFolder folder;
  const std::string small = folder.path() + "/thousand";
  const std::string large = folder.path() + "/million";
  fill(small, 1000);
  fill(large, count);
  opens(small, large, quick ? 11 : 101);
  gets(large, folder.path() + "/lmdb", count, quick ? 3 : 15);
  return 0;
}
