// SPDX-License-Identifier: MIT
// The readers of the index torture, and the surroundings they run in.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>

#include "index_torture_shared.hpp"
#include "store/index/retry.hpp"
#include "store/index/search.hpp"

namespace tlc::test::torture {

/// Sleeps now and then in the middle of a read; weakens the rules for the mutations; counts walks.
struct TortureHooks {
  Random random;
  std::uint64_t walks = 0;

  void at(ReadStep) {
    const std::uint64_t throw_of = random.below(4096);
    if (throw_of < 24) {
      const timespec time{0, static_cast<long>(random.below(throw_of < 2 ? 5000000 : 300000))};
      nanosleep(&time, nullptr);
    } else if (throw_of < 32) {
      sched_yield();
    }
  }
  bool accept_meta(std::uint64_t before, std::uint64_t now) {
    ++walks;
    return before == now;
  }
  static bool accept_pages(std::uint64_t before, std::uint64_t now) {
    if (options.mutation == Mutation::no_final_check) return true;
    return now - before <= (options.mutation == Mutation::accept_two ? 2U : 1U);
  }
};

class TortureReader {
 public:
  TortureReader(const std::string& path, std::uint64_t seed, bool use_pread)
      : place_(path, false),
        pages_(need(PageSource::open(place_.data(), kMapSize, use_pread))),
        reader_(need(IndexReader::open(place_.data(), place_.control, kMapSize, use_pread))),
        use_pread_(use_pread),
        random_{seed},
        hooks_{{seed * 31}} {}

  /// For a forked child: other random numbers on the same mapping.
  void reseed() {
    random_.state ^= 0x5555;
    hooks_.random.state ^= 0x5555;
  }

  [[noreturn]] void run() {
    std::vector<std::uint64_t> seen(options.keys);
    for (std::uint64_t round = 1; shared->stop == 0; ++round) {
      one_get(seen);
      if (round % 20000 == 0) visit();
    }
    _exit(0);
  }

 private:
  void one_get(std::vector<std::uint64_t>& seen) {
    const std::uint64_t number = random_.below(random_.one_in(3) ? options.keys / 10 : options.keys);
    const Digest key = make_key(number);
    const bool pending = shared->pending[number] != 0;
    const std::uint64_t last = shared->last[number];
    IndexRecord record;
    hooks_.walks = 0;
    const Lookup answer = tlc::store::read_snapshot(pages_, place_.control, hooks_, [&](const tlc::store::Meta& meta) {
      return tlc::store::find(pages_, meta, key, record, hooks_);
    });
    const bool undisturbed = !pending && shared->last[number] == last && shared->pending[number] == 0;
    count();
    switch (answer) {
      case Lookup::hit:
        judge(number, key, record, last, seen);
        break;
      case Lookup::miss:
        if (permanent(number)) {
          fail(shared->permanent_missing, "a key that is never removed is missing", number);
        } else if ((last & 1) != 0 && undisturbed) {
          fail(shared->missing, "a stored key is missing", number);
        }
        break;
      case Lookup::busy:
        shared->busy++;
        break;
      case Lookup::stale:
        fail(shared->stale, "control and file disagree", number);
        break;
      case Lookup::corrupt:
        fail(shared->corrupt, "the reader calls the index corrupt", number);
        break;
    }
  }

  void judge(std::uint64_t number, const Digest& key, const IndexRecord& record, std::uint64_t last,
             std::vector<std::uint64_t>& seen) {
    const std::uint64_t version = record.sequence;
    if (!tlc::store::intact(record, key)) return fail(shared->checksum, "a record fails its checksum", number);
    // A key known to be removed is there again only with a later version.
    if (version < last >> 1 || state_of(version, false) == last) {
      fail(shared->older, "an older state than the last committed", number);
    }
    if (version < seen[number]) fail(shared->not_monotonic, "an older state than seen before", number);
    seen[number] = std::max(seen[number], version);
  }

  void count() {
    shared->gets++;
    if (use_pread_) shared->pread_gets++;
    shared->walks += hooks_.walks;
    if (hooks_.walks > shared->most_walks) shared->most_walks = hooks_.walks;
  }

  /// Every key that is never removed is met once, in order, whatever writers do meanwhile.
  void visit() {
    std::uint64_t records = 0;
    bool sound = true;
    Digest previous;
    std::uint64_t met = 0;
    const Lookup end = reader_.for_each([&](const Digest& key, const IndexRecord& record) {
      sound = sound && tlc::store::intact(record, key) && (records == 0 || previous < key);
      previous = key;
      ++records;
      for (std::uint64_t number = 0; number < std::min<std::uint64_t>(options.keys / 10, 20); ++number) {
        met += make_key(number) == key ? 1U : 0U;
      }
      return true;
    });
    if (end == Lookup::busy) return;
    shared->visits++;
    if (end != Lookup::hit || !sound || met != std::min<std::uint64_t>(options.keys / 10, 20)) {
      fail(shared->visit, "a visit missed a key, or met a bad one", met);
    }
  }

  Place place_;
  PageSource pages_;
  IndexReader reader_;
  bool use_pread_;
  Random random_;
  TortureHooks hooks_;
};

inline void skipped(const char* what) {
  shared->skipped++;
  std::fprintf(stderr, "skipped: %s (%s)\n", what, std::strerror(errno));
}

/// The folder, on a read-only bind mount of this process's own if the system lets it.
inline std::string read_only_view(const std::string& path) {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
      mount(nullptr, path.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
    skipped("a reader on a read-only bind mount");
  } else if (tlc::port::open_at(AT_FDCWD, (path + "/new").c_str(), O_WRONLY | O_CREAT, 0600).ok()) {
    give_up("the bind mount is not read-only");
  }
  return path;
}

/// Makes the calling process's next child pid 1 of a namespace, and goes on in that child.
inline void enter_pid_namespace() {
  if (unshare(CLONE_NEWPID) != 0) return skipped("a reader in a PID namespace");
  const pid_t inner = fork();
  if (inner != 0) {
    int status = 0;
    waitpid(inner, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getpid() != 1) give_up("not pid 1 in its namespace");
}

[[noreturn]] inline void reader_main(const std::string& path, unsigned role, std::uint64_t seed) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (role < 2) enter_pid_namespace();
  TortureReader reader(role >= 4 ? read_only_view(path) : path, seed, role == 5);
  if (role == 2) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      reader.reseed();
    }
  }
  reader.run();
}

}  // namespace tlc::test::torture
