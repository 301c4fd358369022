// SPDX-License-Identifier: MIT
// A put of 16 KiB at default durability, until another process can read it: when the call returns, it can. Beside a
// bare index commit without sync plus a pwrite of the payload, and SQLite. A second process checks that it can indeed.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "peers.hpp"
#include "support.hpp"

namespace {

constexpr std::size_t kSize = 16 << 10;
constexpr std::size_t kIndexRecord = 96;  // what our index holds for an entry, about

/// Another process, started by exec, gets the key from the store that was just put.
bool seen_by_another(const char* self, const std::string& folder, std::uint64_t number) {
  const std::string text = std::to_string(number);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(self, self, "--child", folder.c_str(), text.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0;
}

int child(const char* folder, const char* number) {
  const bench::Cache cache = bench::open_cache(folder);
  const bench::Key key = bench::make_key(std::strtoull(number, nullptr, 10));
  tlc_artifact* artifact = nullptr;
  const tlc_status got = tlc_cache_get(cache.get(), key.get(), &artifact, nullptr);
  tlc_artifact_release(artifact);
  return got == TLC_OK ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--child") return child(argv[2], argv[3]);
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  const std::size_t rounds = quick ? 200 : 2000;
  const bench::ScratchFolder folder;
  const std::string store = folder.path() + "/tlcache";
  const bench::Cache cache = bench::open_cache(store);
  bench::Lmdb index(folder.path() + "/lmdb");
  bench::Sqlite sqlite(folder.path() + "/sqlite", 4096);
  const int payloads = ::open((folder.path() + "/payloads").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  bench::require(payloads >= 0, "cannot make the payload file");
  const std::string member = bench::bytes(kSize, 3);
  const std::string record = bench::bytes(kIndexRecord, 4);

  std::vector<double> times[3];
  for (std::size_t i = 0; i < rounds; ++i) {
    const bench::Key key = bench::make_key(i);
    const std::string_view digest = bench::digest_of(key);
    const std::function<void()> ways[] = {
        [&] { bench::put(cache.get(), key.get(), member); },
        [&] {
          bench::require(::pwrite(payloads, member.data(), kSize, static_cast<off_t>(i * kSize)) == ssize_t{kSize},
                         "pwrite");
          index.put(digest, record);
        },
        [&] { sqlite.put(digest, member); }};
    for (std::size_t turn = 0; turn < 3; ++turn) {
      const std::size_t which = (i + turn) % 3;  // so that each comes after each
      const std::uint64_t start = bench::now_ns();
      ways[which]();
      const auto took = static_cast<double>(bench::now_ns() - start);
      if (i >= rounds / 10) times[which].push_back(took);  // before that it warms up
    }
  }
  ::close(payloads);
  bench::put(cache.get(), bench::make_key(rounds).get(), member);
  bench::require(seen_by_another(argv[0], store, rounds), "another process cannot read what was put");
  bench::report(
      "put/16K",
      {{"ours", bench::median(times[0])}, {"bare", bench::median(times[1])}, {"sqlite", bench::median(times[2])}});
  return 0;
}
