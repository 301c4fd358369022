// SPDX-License-Identifier: MIT
// The first get in a fresh process: a child is started for each measurement and measures inside itself, from its first
// line to the bytes. Ours: open, get, verify. Bare LMDB: open, get, copy. SQLite: open, prepare, step, copy.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "peers.hpp"
#include "support.hpp"

extern char** environ;

namespace {

constexpr std::size_t kEntries = 1000;
constexpr std::size_t kWanted = 500;

std::uint64_t ours(const std::string& folder) {
  const bench::Key key = bench::make_key(kWanted);
  const std::uint64_t start = bench::now_ns();
  const bench::Cache cache = bench::open_cache(folder + "/tlcache");
  tlc_artifact* artifact = nullptr;
  bench::require(tlc_cache_get(cache.get(), key.get(), &artifact, nullptr) == TLC_OK, "a get missed");
  std::size_t size = 0;
  bench::use(reinterpret_cast<std::uintptr_t>(tlc_artifact_data(artifact, 0, &size)));
  const std::uint64_t took = bench::now_ns() - start;
  tlc_artifact_release(artifact);
  return took;
}

std::uint64_t bare_lmdb(const std::string& folder) {
  const bench::Key key = bench::make_key(kWanted);
  const std::string_view digest = bench::digest_of(key);
  const std::uint64_t start = bench::now_ns();
  MDB_env* environment = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi tree = 0;
  MDB_val name{digest.size(), const_cast<char*>(digest.data())};
  MDB_val value{};
  const bool good = mdb_env_create(&environment) == 0 && mdb_env_set_mapsize(environment, std::size_t{4} << 30) == 0 &&
                    mdb_env_open(environment, (folder + "/lmdb").c_str(), MDB_NOSYNC, 0600) == 0 &&
                    mdb_txn_begin(environment, nullptr, MDB_RDONLY, &transaction) == 0 &&
                    mdb_dbi_open(transaction, nullptr, 0, &tree) == 0 && mdb_get(transaction, tree, &name, &value) == 0;
  bench::require(good, "a look-up in LMDB failed");
  const std::string copy(static_cast<const char*>(value.mv_data), value.mv_size);
  bench::use(static_cast<unsigned char>(copy[copy.size() / 2]));
  const std::uint64_t took = bench::now_ns() - start;
  mdb_txn_abort(transaction);
  mdb_env_close(environment);
  return took;
}

std::uint64_t sqlite(const std::string& folder) {
  const bench::Key key = bench::make_key(kWanted);
  const std::string_view digest = bench::digest_of(key);
  const std::uint64_t start = bench::now_ns();
  sqlite3* database = nullptr;
  sqlite3_stmt* select = nullptr;
  const bool good =
      sqlite3_open((folder + "/sqlite").c_str(), &database) == SQLITE_OK &&
      sqlite3_exec(database, "PRAGMA mmap_size=4294967296", nullptr, nullptr, nullptr) == SQLITE_OK &&
      sqlite3_prepare_v2(database, "SELECT value FROM entry WHERE key=?", -1, &select, nullptr) == SQLITE_OK &&
      sqlite3_bind_blob(select, 1, digest.data(), static_cast<int>(digest.size()), SQLITE_STATIC) == SQLITE_OK &&
      sqlite3_step(select) == SQLITE_ROW;
  bench::require(good, "a look-up in SQLite failed");
  const std::string copy(static_cast<const char*>(sqlite3_column_blob(select, 0)),
                         static_cast<std::size_t>(sqlite3_column_bytes(select, 0)));
  bench::use(static_cast<unsigned char>(copy[copy.size() / 2]));
  const std::uint64_t took = bench::now_ns() - start;
  sqlite3_finalize(select);
  sqlite3_close(database);
  return took;
}

std::uint64_t measure(const std::string& way, const std::string& folder) {
  if (way == "ours") return ours(folder);
  if (way == "lmdb") return bare_lmdb(folder);
  return sqlite(folder);
}

/// What a child of this program printed.
double in_child(const char* self, const char* way, const std::string& folder) {
  int ends[2];
  bench::require(::pipe(ends) == 0, "pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  const char* arguments[] = {self, "--child", way, folder.c_str(), nullptr};
  pid_t child = 0;
  bench::require(::posix_spawn(&child, self, &actions, nullptr, const_cast<char**>(arguments), environ) == 0,
                 "posix_spawn");
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  char text[64] = {};
  std::size_t got = 0;
  for (ssize_t n = 0; (n = ::read(ends[0], text + got, sizeof text - 1 - got)) > 0;) got += static_cast<std::size_t>(n);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  bench::require(status == 0 && got > 0, "a child failed");
  return std::strtod(text, nullptr);
}

void fill(const std::string& folder, std::size_t size) {
  const bench::Cache cache = bench::open_cache(folder + "/tlcache");
  bench::Lmdb lmdb(folder + "/lmdb");
  bench::Sqlite sqlite(folder + "/sqlite", 4096);
  for (std::size_t i = 0; i < kEntries; ++i) {
    const bench::Key key = bench::make_key(i);
    const std::string value = bench::bytes(size, i + 1);
    bench::put(cache.get(), key.get(), value);
    lmdb.put(bench::digest_of(key), value);
    sqlite.put(bench::digest_of(key), value);
  }
  sqlite.checkpoint();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--child") {
    std::printf("%llu", static_cast<unsigned long long>(measure(argv[2], argv[3])));
    return 0;
  }
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  for (const std::size_t size : {std::size_t{16} << 10, std::size_t{64} << 10}) {
    const bench::ScratchFolder folder;
    fill(folder.path(), size);
    const char* ways[] = {"ours", "lmdb", "sqlite"};
    std::vector<double> times[3];
    for (int round = 0; round < (quick ? 21 : 201); ++round)
      for (std::size_t i = 0; i < 3; ++i) times[i].push_back(in_child(argv[0], ways[i], folder.path()));
    bench::report(
        "first_get/" + std::to_string(size >> 10) + "K",
        {{"ours", bench::median(times[0])}, {"lmdb", bench::median(times[1])}, {"sqlite", bench::median(times[2])}});
  }
  return 0;
}
