// SPDX-License-Identifier: MIT
// A put of 16 KiB at default durability, until another process can read it. Beside a bare index commit without sync
// plus a pwrite of the payload, and SQLite. For each there is a second process, started by exec, that asks for the
// entry again and again, and takes the time when it has read it (ours: verified it).
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "peers.hpp"
#include "shared_page.hpp"
#include "support.hpp"

extern char** environ;

namespace {

constexpr std::size_t kSize = 16 << 10;
constexpr std::size_t kIndexRecord = 128;  // what our index holds for an entry
constexpr std::array<const char*, 3> kWays{"ours", "bare", "sqlite"};

/// Between the writer and one reader.
struct Board {
  std::atomic<std::uint64_t> wanted{0};   // number of the entry to wait for, from 1; all ones: end
  std::atomic<std::uint64_t> ready{0};    // the reader has its key and begins to ask
  std::atomic<std::uint64_t> seen{0};     // the reader has it
  std::atomic<std::uint64_t> seen_ns{0};  // since when
};
constexpr std::uint64_t kEnd = ~std::uint64_t{0};
using BoardPage = bench::SharedPage<Board>;

std::string board_path(const std::string& folder, std::string_view way) {
  return folder + "/board-" + std::string(way);
}

/// Asks for the entries of the board until it is told to end. `has(key)`: whether the entry is there.
int watch(const BoardPage& board, const std::function<bool(const bench::Key&)>& has) {
  for (std::uint64_t last = 0;;) {
    const std::uint64_t wanted = board->wanted.load();
    if (wanted == kEnd) return 0;
    if (wanted == last) continue;
    last = wanted;
    const bench::Key key = bench::make_key(wanted);
    board->ready.store(wanted);
    while (!has(key)) {
    }
    board->seen_ns.store(bench::now_ns());
    board->seen.store(wanted);
  }
}

int watch_ours(const std::string& folder, const BoardPage& board) {
  const bench::Cache cache = bench::open_cache(folder + "/tlcache");
  return watch(board, [&](const bench::Key& key) {
    tlc_artifact* artifact = nullptr;
    const tlc_status got = tlc_cache_get(cache.get(), key.get(), &artifact, nullptr);
    if (got == TLC_OK) bench::use(reinterpret_cast<std::uintptr_t>(tlc_artifact_data(artifact, 0, nullptr)));
    tlc_artifact_release(artifact);
    return got == TLC_OK;
  });
}

int watch_bare(const std::string& folder, const BoardPage& board) {
  bench::Lmdb index(folder + "/lmdb");
  bench::Lmdb::Reader reader(index);
  const int payloads = ::open((folder + "/payloads").c_str(), O_RDONLY | O_CLOEXEC);
  std::string into(kSize, 0);
  return watch(board, [&](const bench::Key& key) {
    if (!reader.has(bench::digest_of(key))) return false;
    const auto at = static_cast<off_t>(board->wanted.load() * kSize);
    return ::pread(payloads, into.data(), kSize, at) == ssize_t{kSize};
  });
}

int watch_sqlite(const std::string& folder, const BoardPage& board) {
  bench::Sqlite sqlite(folder + "/sqlite", 4096);
  return watch(board, [&](const bench::Key& key) { return sqlite.has(bench::digest_of(key)); });
}

int child(const std::string& folder, const std::string& way) {
  const BoardPage board(board_path(folder, way));
  if (way == "ours") return watch_ours(folder, board);
  return way == "bare" ? watch_bare(folder, board) : watch_sqlite(folder, board);
}

/// A reader in another process. It runs at full speed only while an entry is awaited.
class Watcher {
 public:
  Watcher(const char* self, const std::string& folder, const char* way) : board_(board_path(folder, way)) {
    board_->wanted.store(0);
    const char* arguments[] = {self, "--child", folder.c_str(), way, nullptr};
    bench::require(::posix_spawn(&child_, self, nullptr, nullptr, const_cast<char**>(arguments), environ) == 0,
                   "posix_spawn");
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() {
    board_->wanted.store(kEnd);
    int status = 0;
    ::waitpid(child_, &status, 0);
  }
  void await(std::uint64_t number) {
    board_->wanted.store(number);
    while (board_->ready.load() != number) bench::require(::waitpid(child_, nullptr, WNOHANG) == 0, "a reader ended");
  }
  /// When the reader had the entry.
  [[nodiscard]] std::uint64_t seen(std::uint64_t number) const {
    while (board_->seen.load() != number) {
    }
    return board_->seen_ns.load();
  }

 private:
  BoardPage board_;
  pid_t child_ = 0;
};

struct World {
  bench::ScratchFolder folder;
  bench::Cache cache = bench::open_cache(folder.path() + "/tlcache");
  bench::Lmdb index{folder.path() + "/lmdb"};
  bench::Sqlite sqlite{folder.path() + "/sqlite", 4096};
  int payloads = ::open((folder.path() + "/payloads").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  std::string member = bench::bytes(kSize, 3);
  std::string record = bench::bytes(kIndexRecord, 4);

  void put(std::size_t way, const bench::Key& key, std::uint64_t number) {
    if (way == 0) return bench::put(cache.get(), key.get(), member);
    if (way == 2) return sqlite.put(bench::digest_of(key), member);
    bench::require(::pwrite(payloads, member.data(), kSize, static_cast<off_t>(number * kSize)) == ssize_t{kSize},
                   "pwrite");
    index.put(bench::digest_of(key), record);
  }
};

void report(const std::string& name, const std::vector<double> (&times)[3]) {
  std::vector<std::pair<std::string, double>> values;
  for (std::size_t way = 0; way < kWays.size(); ++way) values.emplace_back(kWays[way], bench::median(times[way]));
  bench::report(name, values);
}

/// What the writer's call takes while nobody reads.
void calls(World& world, std::uint64_t first, std::size_t rounds) {
  std::vector<double> times[3];
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const bench::Key key = bench::make_key(first + i);
    for (std::size_t turn = 0; turn < kWays.size(); ++turn) {
      const std::size_t way = (i + turn) % kWays.size();  // so that each comes after each
      const std::uint64_t start = bench::now_ns();
      world.put(way, key, first + i);
      const auto took = static_cast<double>(bench::now_ns() - start);
      if (i >= rounds / 10) times[way].push_back(took);  // before that it warms up
    }
  }
  report("put/16K", times);
}

/// Until a reader in another process has it. One way after the other: each has its reader beside it, and no other.
void until_seen(World& world, const char* self, std::uint64_t first, std::size_t rounds) {
  std::vector<double> times[3];
  constexpr std::size_t kTurns = 5;
  for (std::size_t turn = 0; turn < kTurns; ++turn)
    for (std::size_t way = 0; way < kWays.size(); ++way) {
      Watcher watcher(self, world.folder.path(), kWays[way]);
      for (std::uint64_t i = 0; i < rounds / kTurns; ++i) {
        const std::uint64_t number = first++;
        const bench::Key key = bench::make_key(number);
        watcher.await(number);
        const std::uint64_t start = bench::now_ns();
        world.put(way, key, number);
        times[way].push_back(static_cast<double>(watcher.seen(number) - start));
      }
    }
  report("put_seen/16K", times);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--child") return child(argv[2], argv[3]);
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  const std::size_t rounds = quick ? 200 : 2000;
  World world;
  bench::require(world.payloads >= 0, "cannot make the payload file");
  calls(world, 1, rounds);
  until_seen(world, argv[0], 1 + rounds, rounds);
  ::close(world.payloads);
  return 0;
}
