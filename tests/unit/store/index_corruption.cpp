// SPDX-License-Identifier: MIT
// 2000 damaged copies of an index. Look-ups and visits in each, mapped and with pread: no crash, no
// hang, and no record that passes its checksum but was never put. Then the writer: what its
// validator lets through, liblmdb works on without a crash, for 120 transactions and until all is
// removed.
//
// A first argument changes the number of files, a second the seed.
#include "tlc_test.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>

#include "index_image.hpp"

namespace {

using namespace tlc::test;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kKeys = 3000;
constexpr std::uint64_t kVersions = 400;
unsigned files = 2000;
std::uint64_t seed = 1;

struct Base {
  Image image;
  std::vector<std::uint64_t> structural;  // branches and the free list: what liblmdb trusts most
  std::vector<std::uint64_t> leaves;
  std::uint64_t txnid;
};

Base make_base() {
  Index index;
  Random random{7};
  index.put(0, kKeys, 1);
  index.remove(0, kKeys / 2);
  for (std::uint64_t version = 2; version < kVersions; ++version) {
    const std::uint64_t from = random.below(kKeys);
    if (random.one_in(3)) {
      index.remove(from, from + random.below(12));
    } else {
      index.put(from, from + random.below(12), version);
    }
  }
  index.writer.reset();
  auto bytes = read_all(index.data().get());
  Image image(std::move(bytes));
  const auto last = image.meta(image.newest()).last_page;
  image.bytes.resize((last + 1) * Image::page_size());  // damage what is in use, not the room ahead
  const std::uint64_t txnid = image.meta(image.newest()).txnid;
  const auto main = image.tree(true);
  const auto free_list = image.tree(false);
  std::vector<std::uint64_t> structural = main.branches;
  for (const auto* part : {&free_list.branches, &free_list.leaves, &free_list.overflow}) {
    structural.insert(structural.end(), part->begin(), part->end());
  }
  return {std::move(image), std::move(structural), main.leaves, txnid};
}

std::uint64_t some_page(const Base& base, Random& random) {
  const std::uint64_t dice = random.below(10);
  if (dice < 5) return base.structural[random.below(base.structural.size())];
  if (dice < 8) return base.leaves[random.below(base.leaves.size())];
  return random.below(base.image.pages());
}

/// One of nine kinds of damage.
void damage(const Base& base, Image& copy, Random& random) {
  const std::size_t size = Image::page_size();
  const auto flip = [&](std::size_t at) { copy.bytes[at] ^= static_cast<std::uint8_t>(1U << random.below(8)); };
  const std::uint64_t a = some_page(base, random);
  const std::uint64_t b = some_page(base, random);
  switch (random.below(9)) {
    case 0:  // bits anywhere
      for (std::uint64_t n = 1 + random.below(64); n > 0; --n) flip(random.below(copy.bytes.size()));
      break;
    case 1:  // bits in headers and node tables
      for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
        flip(some_page(base, random) * size + random.below(random.one_in(2) ? 16 : size / 16));
      }
      break;
    case 2:  // bits in the metas
      for (std::uint64_t n = 1 + random.below(3); n > 0; --n) flip(random.below(2) * size + random.below(152));
      break;
    case 3:
      std::memset(copy.page(a), 0, size);
      break;
    case 4:  // truncated, at a page or in one
      copy.bytes.resize(random.one_in(2) ? random.below(copy.bytes.size()) : random.below(copy.pages()) * size);
      break;
    case 5:  // garbage, behind a good header or with it
      for (std::size_t at = random.one_in(2) ? 16 : 0; at < size; ++at) {
        copy.page(a)[at] = static_cast<std::uint8_t>(random());
      }
      break;
    case 6:
      std::swap_ranges(copy.page(a) + 8 * random.below(2), copy.page(a) + size, copy.page(b));
      break;
    case 7:
      std::memcpy(copy.page(a) + 8, base.image.bytes.data() + b * size + 8, size - 8);
      break;
    default: {  // one 16-bit field
      const std::uint64_t values[] = {random(), size, random.below(64) * 2};
      store_word<std::uint16_t>(copy.page(a) + 2 * random.below(random.one_in(2) ? 8 : size / 64),
                                static_cast<std::uint16_t>(values[random.below(3)]));
    }
  }
}

struct Findings {
  std::uint64_t hits = 0, misses = 0, refused = 0, bad_records = 0, false_records = 0;
  std::uint64_t passed = 0, unchanged = 0, crashed = 0, failed = 0;
  Clock::duration slowest{};
};

/// A record that passes its checksum must be one that was put for this key.
bool was_put(const Digest& key, const IndexRecord& record) {
  if (record.sequence == 0 || record.sequence >= kVersions) return false;
  const IndexRecord expected = make_record(key, record.sequence);
  return std::memcmp(&expected, &record, sizeof record) == 0;
}

void note(Findings& findings, const Digest& key, const IndexRecord& record) {
  if (!tlc::store::intact(record, key)) {
    ++findings.bad_records;
  } else if (!was_put(key, record)) {
    ++findings.false_records;
  } else {
    ++findings.hits;
  }
}

void look_up(const ScratchFolder& folder, IndexControl* control, unsigned round, Random& random, Findings& findings) {
  auto file = need(tlc::port::open_at(folder.fd(), "data.mdb", O_RDONLY));
  const IndexReader reader =
      need(IndexReader::open(std::move(file), round % 2 == 0 ? control : nullptr, kMapSize, round / 2 % 2 == 0));
  for (unsigned get = 0; get < 24; ++get) {
    const Digest key = make_key(random.below(kKeys));
    IndexRecord record;
    const auto start = Clock::now();
    const Lookup answer = reader.get(key, record);
    findings.slowest = std::max(findings.slowest, Clock::now() - start);
    if (answer == Lookup::hit) {
      note(findings, key, record);
    } else {
      ++(answer == Lookup::miss ? findings.misses : findings.refused);
    }
  }
  Digest previous;
  std::uint64_t visited = 0;
  (void)reader.for_each([&](const Digest& key, const IndexRecord& record) {
    if (visited++ > 0) assert_true(previous < key);
    previous = key;
    if (tlc::store::intact(record, key) && !was_put(key, record)) ++findings.false_records;
    return true;
  });
  (void)reader.entries();
  (void)reader.used_bytes();
}

/// In a child: 0 if the writer opened the file and all went well, 1 if it refused it, 2 if
/// something was wrong later.
int write_on(const ScratchFolder& folder, IndexControl* control, std::uint64_t round) {
  auto opened = IndexWriter::open(folder.fd(), folder.path(), control, kMapSize);
  if (!opened.ok()) return 1;
  IndexWriter& writer = *opened;
  Random random{round};
  for (unsigned transaction = 0; transaction < 122; ++transaction) {
    if (!writer.begin().ok()) return 2;
    const bool remove_all = transaction >= 120;  // first every second key, then all
    const std::uint64_t count = remove_all ? kKeys + 100 : 12;
    for (std::uint64_t n = 0; n < count; n += transaction == 120 ? 2 : 1) {
      const Digest key = make_key(remove_all ? n : random.below(kKeys + 100));
      const bool put = !remove_all && random.one_in(2);
      if (put ? !writer.put(key, make_record(key, 9)).ok() : !writer.remove(key).ok()) return 2;
    }
    if (!writer.commit().ok()) return 2;
  }
  auto file = tlc::port::open_at(folder.fd(), "data.mdb", O_RDONLY);
  if (!file.ok()) return 2;
  auto report = tlc::store::validate(file->get(), kMapSize, control);
  return report.ok() && report->valid ? 0 : 2;  // (a key with a flipped bit stays: no one knows it)
}

void damaged_files_do_no_harm(void**) {
  const Base base = make_base();
  const ScratchFolder folder;
  SharedControl control;
  Random random{seed};
  Findings findings;
  for (unsigned round = 0; round < files; ++round) {
    Image copy = base.image;
    damage(base, copy, random);
    const auto file = write_all(folder.file("data.mdb"), copy.bytes);
    control->txnid = base.txnid;
    look_up(folder, control.get(), round, random, findings);
    const auto report = need(tlc::store::validate(file.get(), kMapSize, control.get()));
    if (!report.valid) continue;
    ++findings.passed;
    findings.unchanged += copy.bytes == base.image.bytes ? 1U : 0U;
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(write_on(folder, control.get(), round));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
      ++findings.crashed;
      print_error("file %u: signal %d in the writer\n", round, WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
      ++findings.failed;
      print_error("file %u: the writer ended with %d\n", round, WEXITSTATUS(status));
    }
  }
  const auto slowest_us = std::chrono::duration_cast<std::chrono::microseconds>(findings.slowest).count();
  print_message(
      "%u files: %llu hits, %llu misses, %llu refused, %llu caught by the checksum; slowest get "
      "%lld us; %llu passed the validator (%llu unchanged)\n",
      files, (unsigned long long)findings.hits, (unsigned long long)findings.misses,
      (unsigned long long)findings.refused, (unsigned long long)findings.bad_records, (long long)slowest_us,
      (unsigned long long)findings.passed, (unsigned long long)findings.unchanged);
  assert_u64(findings.false_records, 0U);
  assert_u64(findings.crashed, 0U);
  assert_u64(findings.failed, 0U);
  assert_true(findings.slowest < std::chrono::seconds(2));  // a loop without end would take the test's time limit
  assert_true(findings.refused > 0 && findings.bad_records > 0 && findings.passed > findings.unchanged);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) files = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  if (argc > 2) seed = std::strtoull(argv[2], nullptr, 10);
  const struct CMUnitTest tests[] = {cmocka_unit_test(damaged_files_do_no_harm)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
