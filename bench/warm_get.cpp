// SPDX-License-Identifier: MIT
// A warm get, from a key that is built to the pointer to a member and back: process table and index, beside bare LMDB,
// SQLite and files. Alone, and with eight readers and a writer. Then eight threads on one key.
//
// An artifact that the process knows is found in its table, unless the store's change counter grew: then the index is
// asked again whether it is still current. To measure that, the counter is raised here before each pass over the keys,
// through the store's control file, so that every get of the pass goes through the index.
#include <barrier>
#include <chrono>
#include <thread>

#include "change_counter.hpp"
#include "peers.hpp"
#include "support.hpp"

namespace {

using bench::Bytes;

constexpr auto kWriterPause = std::chrono::milliseconds(5);
constexpr std::uint64_t kWriterKey = 1'000'000;

struct PointerOnly {
  void operator()(Bytes bytes) const { bench::use(reinterpret_cast<std::uintptr_t>(bytes.data())); }
};
struct ReadAll {
  void operator()(Bytes bytes) const { bench::use(bench::sum_of(bytes.data(), bytes.size())); }
};

template <typename See>
void get(tlc_cache* cache, const tlc_key* key, const See& see) {
  tlc_artifact* artifact = nullptr;
  if (tlc_cache_get(cache, key, &artifact, nullptr) != TLC_OK) bench::fail("a get missed");
  std::size_t size = 0;
  const void* data = tlc_artifact_data(artifact, 0, &size);
  see(Bytes(static_cast<const char*>(data), size));
  tlc_artifact_release(artifact);
}

/// The same entries in every store.
struct World {
  World(std::size_t count, std::size_t size)
      : cache(bench::open_cache(folder.path() + "/tlcache")),
        changes(folder.path() + "/tlcache"),
        lmdb(folder.path() + "/lmdb"),
        files(folder.path() + "/files"),
        member(bench::bytes(size, 1)),
        order(bench::shuffled(count, 2)) {
    for (const int page : {4096, 16384}) sqlites.push_back({sqlite_path(page), page});
    std::vector<std::unique_ptr<bench::Sqlite>> open;
    for (const auto& [path, page] : sqlites) open.push_back(std::make_unique<bench::Sqlite>(path, page));
    for (std::size_t i = 0; i < count; ++i) {
      keys.push_back(bench::make_key(i));
      const std::string value = bench::bytes(size, i + 1);
      bench::put(cache.get(), keys[i].get(), value);
      lmdb.put(bench::digest_of(keys[i]), value);
      files.put(bench::digest_of(keys[i]), value);
      for (auto& each : open) each->put(bench::digest_of(keys[i]), value);
      paths.push_back(files.path_of(bench::digest_of(keys[i])));
    }
    for (auto& each : open) each->checkpoint();
    writer_key = bench::make_key(kWriterKey);
  }
  [[nodiscard]] std::string sqlite_path(int page) const { return folder.path() + "/sqlite-" + std::to_string(page); }

  bench::ScratchFolder folder;
  bench::Cache cache;
  bench::ChangeCounter changes;
  bench::Lmdb lmdb;
  bench::Files files;
  std::string member;
  std::vector<std::size_t> order;
  std::vector<bench::Key> keys;
  std::vector<std::string> paths;
  std::vector<std::pair<std::string, int>> sqlites;
  bench::Key writer_key;
};

/// One way to read: makes, for a thread, a function that passes once over all keys; and writes one entry.
struct Way {
  std::string name;
  std::function<std::function<void()>()> reader;
  std::function<void()> write;
};

void replace(World& world) {
  tlc_artifact* seen = nullptr;
  (void)tlc_cache_get(world.cache.get(), world.writer_key.get(), &seen, nullptr);
  const bench::Bundle bundle = bench::make_bundle(world.member);
  if (tlc_cache_replace(world.cache.get(), world.writer_key.get(), seen, bundle.get(), nullptr, nullptr) != TLC_OK)
    bench::fail("a replace failed");
  tlc_artifact_release(seen);
}

template <typename See>
std::vector<Way> ways(World& world, const See& see) {
  const auto write_ours = [&world] { replace(world); };
  const auto ours = [&world, see](bool through_index) {
    return [&world, see, through_index]() -> std::function<void()> {
      return [&world, see, through_index] {
        if (through_index) world.changes.raise();
        for (const std::size_t i : world.order) get(world.cache.get(), world.keys[i].get(), see);
      };
    };
  };
  std::vector<Way> all;
  all.push_back({"index", ours(true), write_ours});
  all.push_back({"table", ours(false), write_ours});
  all.push_back({"lmdb",
                 [&world, see] {
                   auto reader = std::make_shared<bench::Lmdb::Reader>(world.lmdb);
                   return [&world, see, reader] {
                     for (const std::size_t i : world.order) reader->get(bench::digest_of(world.keys[i]), see);
                   };
                 },
                 [&world] { world.lmdb.put(bench::digest_of(world.writer_key), world.member); }});
  for (const auto& [path, page] : world.sqlites) {
    auto writer = std::make_shared<bench::Sqlite>(path, page);
    all.push_back({"sqlite_" + std::to_string(page),
                   [&world, see, path = path, page = page] {
                     auto reader = std::make_shared<bench::Sqlite>(path, page);
                     return [&world, see, reader] {
                       for (const std::size_t i : world.order) reader->get(bench::digest_of(world.keys[i]), see);
                     };
                   },
                   [&world, writer] { writer->put(bench::digest_of(world.writer_key), world.member); }});
  }
  const auto write_file = [&world] { world.files.put(bench::digest_of(world.writer_key), world.member); };
  all.push_back({"file_read",
                 [&world, see] {
                   auto buffer = std::make_shared<std::string>();
                   return [&world, see, buffer] {
                     for (const std::size_t i : world.order) see(bench::read_file(world.paths[i], *buffer));
                   };
                 },
                 write_file});
  all.push_back({"file_mmap",
                 [&world, see] {
                   return [&world, see] {
                     for (const std::size_t i : world.order) see(bench::MappedFile(world.paths[i]).bytes());
                   };
                 },
                 write_file});
  return all;
}

void one_reader(World& world, const std::string& name, const std::vector<Way>& ways, int rounds) {
  std::vector<bench::Arm> arms;
  for (const Way& way : ways) arms.push_back({way.name, way.reader(), world.keys.size()});
  const std::vector<double> times = bench::interleave(arms, rounds);
  std::vector<std::pair<std::string, double>> values;
  for (std::size_t i = 0; i < arms.size(); ++i) values.emplace_back(arms[i].name, times[i]);
  bench::report(name, values);
}

/// Nanoseconds of wall clock a get, over all threads, while `threads` readers and perhaps a writer run for `span`.
double together(unsigned threads, std::chrono::milliseconds span, std::size_t gets_a_pass,
                const std::function<std::function<void()>()>& reader, const std::function<void()>& write) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> passes{0};
  std::barrier<> start(static_cast<std::ptrdiff_t>(threads) + 1);
  std::vector<std::jthread> running;
  for (unsigned t = 0; t < threads; ++t)
    running.emplace_back([&] {
      const std::function<void()> pass = reader();
      pass();
      start.arrive_and_wait();
      for (; !stop.load(std::memory_order_relaxed); passes.fetch_add(1, std::memory_order_relaxed)) pass();
    });
  start.arrive_and_wait();
  const std::uint64_t began = bench::now_ns();
  const auto end = std::chrono::steady_clock::now() + span;
  while (std::chrono::steady_clock::now() < end) {
    if (write) write();
    std::this_thread::sleep_for(write ? kWriterPause : std::chrono::milliseconds(1));
  }
  const std::uint64_t done = passes.load();
  const std::uint64_t took = bench::now_ns() - began;
  stop = true;
  return static_cast<double>(took) / static_cast<double>(std::max<std::uint64_t>(done, 1) * gets_a_pass);
}

void many_readers(World& world, const std::string& name, const std::vector<Way>& ways, int rounds) {
  std::vector<std::vector<double>> times(ways.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < ways.size(); ++i)
      times[i].push_back(together(8, std::chrono::milliseconds(200), world.keys.size(), ways[i].reader, ways[i].write));
  std::vector<std::pair<std::string, double>> values;
  for (std::size_t i = 0; i < ways.size(); ++i) values.emplace_back(ways[i].name, bench::median(times[i]));
  bench::report(name, values);
}

void one_key(World& world, int rounds) {
  constexpr std::size_t kGets = 2000;
  const auto reader = [&world]() -> std::function<void()> {
    return [&world] {
      for (std::size_t i = 0; i < kGets; ++i) get(world.cache.get(), world.keys[0].get(), PointerOnly{});
    };
  };
  std::vector<std::pair<std::string, double>> values;
  std::vector<std::vector<double>> times(3);
  const std::vector<unsigned> threads{1, 2, 8};
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < threads.size(); ++i)
      times[i].push_back(together(threads[i], std::chrono::milliseconds(100), kGets, reader, {}));
  for (std::size_t i = 0; i < threads.size(); ++i)
    values.emplace_back("threads_" + std::to_string(threads[i]), bench::median(times[i]));
  values.emplace_back("cores", static_cast<double>(std::thread::hardware_concurrency()));
  bench::report("one_key", values);
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  struct Size {
    const char* name;
    std::size_t bytes, count;
  };
  for (const Size& size : {Size{"16K", 16 << 10, 512}, Size{"256K", 256 << 10, 128}}) {
    World world(size.count, size.bytes);
    const std::vector<Way> pointer = ways(world, PointerOnly{});
    const std::vector<Way> all = ways(world, ReadAll{});
    one_reader(world, std::string("get/") + size.name, pointer, quick ? 15 : 101);
    one_reader(world, std::string("get_read/") + size.name, all, quick ? 7 : 41);
    many_readers(world, std::string("get_8_1/") + size.name, pointer, quick ? 1 : 5);
    many_readers(world, std::string("get_read_8_1/") + size.name, all, quick ? 1 : 5);
    if (size.bytes == 16 << 10) one_key(world, quick ? 3 : 9);
  }
  return 0;
}
