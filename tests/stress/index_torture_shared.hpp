// SPDX-License-Identifier: MIT
// What the processes of the index torture share: options, counters, what is known committed, and
// the folder they work in.
#pragma once

#include <sys/mman.h>

#include <atomic>

#include "index_torture_kill.hpp"
#include "port/clock.hpp"
#include "port/lock.hpp"
#include "store/index/page_source.hpp"
#include "store/index/snapshot.hpp"

namespace tlc::test::torture {

namespace kp = tlc::test::kill_point;
using tlc::store::PageSource;
using tlc::store::ReadStep;
using Counter = std::atomic<std::uint64_t>;
using ull = unsigned long long;

enum class Mutation { none, no_final_check, accept_two, no_prepublish };

constexpr std::uint64_t kMostKeys = 32768;
constexpr std::uint64_t kLargestTransaction = 64;
constexpr unsigned kReaders = 6;

struct Options {
  std::uint64_t seconds = 10, keys = 600, writers = 4, seed = 1;
  Mutation mutation = Mutation::none;
};
inline Options options;

/// A version and whether the key is there at it.
constexpr std::uint64_t state_of(std::uint64_t version, bool present) {
  return version << 1 | (present ? 1U : 0U);
}

struct Intent {
  std::uint64_t key, state;
};

struct Shared {  // between all processes
  Counter stop, version;
  Counter last[kMostKeys];     // state known committed
  Counter pending[kMostKeys];  // a running transaction touches it
  Counter intents;             // of the running transaction, or of one whose writer died
  Intent intent[kLargestTransaction];
  Counter transactions, killed, resumed, validations, gets, pread_gets, visits, walks, most_walks, busy, skipped;
  // Failures:
  Counter corrupt, checksum, older, not_monotonic, permanent_missing, missing, stale, lost, torn, invalid, writer_error,
      visit;
};
inline Shared* shared = nullptr;

inline bool permanent(std::uint64_t key) {
  return key < options.keys / 10;
}

/// A folder with data.mdb, write.lock and control, as a store has them.
struct Place {
  std::string path;
  tlc::port::Fd folder, lock;
  IndexControl* control = nullptr;

  explicit Place(std::string where, bool writable) : path(std::move(where)) {
    folder = need(tlc::port::open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY));
    const int flags = writable ? O_RDWR | O_CREAT : O_RDONLY;
    const auto file = need(tlc::port::open_at(folder.get(), "control", flags, 0600));
    if (writable && ftruncate(file.get(), 4096) != 0) give_up("ftruncate");
    void* room = mmap(nullptr, 4096, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.get(), 0);
    if (room == MAP_FAILED) give_up("mmap of control");
    control = static_cast<IndexControl*>(room);
    if (writable) lock = need(tlc::port::open_at(folder.get(), "write.lock", flags, 0600));
  }
  void take() const {
    const auto deadline = tlc::port::Deadline::after_ms(120000);
    if (!need(tlc::port::lock_until(lock.get(), 0, 1, tlc::port::LockMode::exclusive, deadline))) give_up("write lock");
  }
  void give() const { need(tlc::port::unlock(lock.get(), 0, 1)); }
  [[nodiscard]] tlc::port::Fd data() const {
    return need(tlc::port::open_at(folder.get(), tlc::store::kDataFileName, O_RDONLY));
  }
  IndexWriter open_writer() const {
    take();
    auto writer = IndexWriter::open(folder.get(), path, control, kMapSize);
    give();
    return need(std::move(writer));
  }
  bool validate() const {
    const auto report = need(tlc::store::validate(data().get(), kMapSize, control, true));
    if (!report.valid) std::fprintf(stderr, "validator: %s, page %llu\n", report.error, (ull)report.error_page);
    return report.valid;
  }
};

inline void fail(Counter& counter, const char* what, std::uint64_t key) {
  if (counter++ < 3) std::fprintf(stderr, "FAILED: %s, key %llu\n", what, (ull)key);
}

}  // namespace tlc::test::torture
