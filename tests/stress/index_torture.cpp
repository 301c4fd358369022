// SPDX-License-Identifier: MIT
// The torture of the index: writers that are killed at any moment, readers in every surroundings
// the store allows.
//
// Part 1: one script of transactions, killed at each numbered point of it in turn. After each death
//   the file must be valid and hold a state between two commits, and the next writer must go on.
// Part 2: writers under the write lock, killed from outside and by themselves at random points.
//   Readers: two that are pid 1 of their own PID namespaces, one and its forked child on the
//   inherited mapping, two on a read-only bind mount, one of them with pread. A supervisor validates
//   the live file. What the system does not permit is reported as skipped.
//
// A record tells its version; versions come from one counter. `last` holds what is known committed
// of each key, so a reader that returns an older state, or none, is caught. A tenth of the keys is
// never removed.
//
//   index_torture [--seconds N] [--keys N] [--writers N] [--seed N] [--mutation NAME]
//
// --mutation weakens one rule: no-final-check, accept-two, no-prepublish. Then the program succeeds
// only if that was noticed.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <map>

#include "index_torture_points.hpp"
#include "index_torture_reader.hpp"
#include "index_torture_shared.hpp"
#include "index_torture_writer.hpp"

namespace {

using namespace tlc::test;
using namespace tlc::test::torture;

std::uint64_t now_ms() {
  return tlc::port::monotonic_ns() / 1000000;
}

class Supervisor {
 public:
  Supervisor() : place_(scratch_.path(), true), random_{options.seed * 1000 + 99}, next_seed_(options.seed << 32) {
    auto writer = place_.open_writer();
    for (std::uint64_t key = 0; key < options.keys;) {
      need(writer.begin());
      for (unsigned n = 0; n < 500 && key < options.keys; ++n, ++key) {
        const std::uint64_t version = ++shared->version;
        need(writer.put(make_key(key), make_record(make_key(key), version)));
        shared->last[key] = state_of(version, true);
      }
      need(writer.commit());
    }
  }

  void run() {
    for (unsigned role = 0; role < kReaders; ++role) {
      if (role == 3) continue;  // the forked child of role 2
      readers_.push_back(spawn([&](std::uint64_t seed) { reader_main(scratch_.path(), role, seed); }));
    }
    for (std::uint64_t n = 0; n < options.writers; ++n) writers_.push_back(spawn_writer());
    const std::uint64_t end = now_ms() + options.seconds * 1000;
    std::uint64_t next_kill = now_ms();
    std::uint64_t next_validation = now_ms() + 2000;
    while (now_ms() < end && shared->writer_error < 20) {
      kp::nap(4000000);
      reap();
      if (now_ms() >= next_kill) {
        kill(writers_[random_.below(writers_.size())], SIGKILL);
        next_kill = now_ms() + random_.below(120);
      }
      if (now_ms() >= next_validation) {
        validate();
        next_validation = now_ms() + 3000;
      }
    }
    shared->stop = 1;
    int status = 0;
    for (const pid_t writer : writers_) waitpid(writer, &status, 0);
    for (const pid_t reader : readers_) {
      waitpid(reader, &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail(shared->visit, "a reader ended badly", 0);
    }
    kp::nap(100000000);  // the forked reader, which dies with its parent, is no child of ours
    validate();
  }

 private:
  template <class Main>
  pid_t spawn(Main&& main) {
    const std::uint64_t seed = ++next_seed_;
    const pid_t child = fork();
    if (child == 0) {
      main(seed);
      _exit(3);
    }
    return child;
  }
  pid_t spawn_writer() {
    return spawn([&](std::uint64_t seed) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      TortureWriter(scratch_.path(), seed).run();
    });
  }

  void reap() {
    for (pid_t& writer : writers_) {
      int status = 0;
      if (waitpid(writer, &status, WNOHANG) != writer) continue;
      shared->killed++;
      if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail(shared->writer_error, "a writer ended by itself", 0);
      writer = spawn_writer();
    }
  }

  void validate() {
    place_.take();
    shared->validations++;
    if (!place_.validate()) fail(shared->invalid, "the live file is not valid", 0);
    place_.give();
  }

  ScratchFolder scratch_;
  Place place_;
  Random random_;
  std::uint64_t next_seed_;
  std::vector<pid_t> writers_, readers_;
};

std::uint64_t report() {
  std::printf("%llu transactions, %llu writers killed (%llu transactions left over), %llu validations\n",
              (ull)shared->transactions, (ull)shared->killed, (ull)shared->resumed, (ull)shared->validations);
  std::printf("%llu gets (%llu by pread), %llu walks (at most %llu for one get), %llu busy, %llu visits\n",
              (ull)shared->gets, (ull)shared->pread_gets, (ull)shared->walks, (ull)shared->most_walks,
              (ull)shared->busy, (ull)shared->visits);
  const std::pair<const char*, const Counter*> failures[] = {{"corrupt", &shared->corrupt},
                                                             {"checksum", &shared->checksum},
                                                             {"older", &shared->older},
                                                             {"not monotonic", &shared->not_monotonic},
                                                             {"permanent missing", &shared->permanent_missing},
                                                             {"missing", &shared->missing},
                                                             {"stale", &shared->stale},
                                                             {"lost", &shared->lost},
                                                             {"torn", &shared->torn},
                                                             {"invalid", &shared->invalid},
                                                             {"writer error", &shared->writer_error},
                                                             {"visit", &shared->visit}};
  std::uint64_t sum = 0;
  std::printf("failures:");
  for (const auto& [name, counter] : failures) {
    if (*counter > 0) std::printf(" %s %llu,", name, (ull)*counter);
    sum += *counter;
  }
  std::printf(" %llu in all; %llu parts skipped\n", (ull)sum, (ull)shared->skipped);
  return sum;
}

bool parse(int argc, char** argv) {
  const std::map<std::string, std::uint64_t*> numbers = {{"--seconds", &options.seconds},
                                                         {"--keys", &options.keys},
                                                         {"--writers", &options.writers},
                                                         {"--seed", &options.seed}};
  const std::map<std::string, Mutation> mutations = {{"no-final-check", Mutation::no_final_check},
                                                     {"accept-two", Mutation::accept_two},
                                                     {"no-prepublish", Mutation::no_prepublish}};
  for (int at = 1; at < argc; at += 2) {
    const auto number = numbers.find(argv[at]);
    if (at + 1 >= argc) return false;
    if (number != numbers.end()) {
      *number->second = std::strtoull(argv[at + 1], nullptr, 10);
    } else if (std::string(argv[at]) == "--mutation" && mutations.count(argv[at + 1]) > 0) {
      options.mutation = mutations.at(argv[at + 1]);
    } else {
      return false;
    }
  }
  return options.keys >= 20 && options.keys <= kMostKeys && options.writers > 0;
}

}  // namespace

int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape): no memory ends the test
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (!parse(argc, argv)) {
    std::fprintf(stderr,
                 "usage: index_torture [--seconds N] [--keys 20..%llu] [--writers N] [--seed N]"
                 " [--mutation no-final-check|accept-two|no-prepublish]\n",
                 (ull)kMostKeys);
    return 2;
  }
  void* room = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) give_up("mmap");
  shared = new (room) Shared{};
  const std::uint64_t points = options.mutation == Mutation::none ? killed_at_every_point() : 1;
  std::printf("killed at each of %llu points\n", (ull)points);
  Supervisor().run();
  const std::uint64_t failures = report();
  if (options.mutation != Mutation::none) return failures > 0 ? 0 : 1;
  return failures == 0 && points > 0 ? 0 : 1;
}
