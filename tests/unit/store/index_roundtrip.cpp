// SPDX-License-Identifier: MIT
// What goes into the index comes out of it, by key and in order, mapped and with pread, as it grows
// and shrinks.
#include "tlc_test.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "index_support.hpp"
#include "store/index/page_source.hpp"

namespace {

using namespace tlc::test;

bool holds(const IndexReader& reader, std::uint64_t number, std::uint64_t version) {
  const Digest key = make_key(number);
  IndexRecord record;
  return reader.get(key, record) == Lookup::hit && tlc::store::intact(record, key) && record.sequence == version;
}

bool lacks(const IndexReader& reader, std::uint64_t number) {
  IndexRecord record;
  return reader.get(make_key(number), record) == Lookup::miss;
}

void new_index_is_empty(void**) {
  Index index;
  for (const bool use_pread : {false, true}) {
    const IndexReader reader = index.reader(use_pread);
    assert_true(lacks(reader, 1));
    assert_u64(reader.entries(), 0U);
    bool visited = false;
    assert_true(reader.for_each([&](const Digest&, const IndexRecord&) { return visited = true; }) == Lookup::hit);
    assert_false(visited);
  }
  assert_true(index.validate().valid);
}

void put_replace_remove(void**) {
  Index index;
  const IndexReader reader = index.reader();
  const Digest key = make_key(7);
  need(index.writer->begin());
  assert_true(need(index.writer->put(key, make_record(key, 1))));
  assert_false(need(index.writer->put(key, make_record(key, 2))));
  IndexRecord seen;
  assert_true(need(index.writer->get(key, seen)) == Lookup::hit);
  assert_u64(seen.sequence, 2U);
  assert_true(lacks(reader, 7));  // not before the commit
  need(index.writer->commit());
  assert_true(holds(reader, 7, 2));

  need(index.writer->begin());
  assert_true(need(index.writer->remove(key)));
  assert_false(need(index.writer->remove(key)));
  assert_true(need(index.writer->get(key, seen)) == Lookup::miss);
  index.writer->abort();
  assert_true(holds(reader, 7, 2));  // the removal was taken back

  index.remove(7, 8);
  assert_true(lacks(reader, 7));
  assert_u64(reader.entries(), 0U);
}

void two_hundred_thousand(void**) {
  constexpr std::uint64_t kCount = 200000;
  Index index;
  const IndexReader mapped = index.reader();  // opened while the file was small
  const IndexReader by_pread = index.reader(true);
  for (std::uint64_t from = 0; from < kCount; from += 1000) index.put(from, from + 1000, from);
  for (std::uint64_t number = 0; number < kCount; ++number) {
    assert_true(holds(mapped, number, number / 1000 * 1000));
    if (number % 100 == 0) assert_true(holds(by_pread, number, number / 1000 * 1000));
  }
  for (std::uint64_t number = kCount; number < kCount + 1000; ++number) {
    assert_true(lacks(mapped, number));
  }
  assert_u64(mapped.entries(), kCount);
  assert_true(mapped.used_bytes() > kCount * 168 && mapped.used_bytes() < kCount * 500);

  for (const IndexReader* reader : {&mapped, &by_pread}) {
    std::uint64_t visited = 0;
    Digest previous;
    bool ascending = true;
    bool sound = true;
    assert_true(reader->for_each([&](const Digest& key, const IndexRecord& record) {
      ascending = ascending && (visited == 0 || previous < key);
      sound = sound && tlc::store::intact(record, key);
      previous = key;
      ++visited;
      return true;
    }) == Lookup::hit);
    assert_u64(visited, kCount);
    assert_true(ascending && sound);
  }

  for (std::uint64_t from = 0; from < kCount; from += 2000) index.remove(from, from + 1000);
  for (std::uint64_t number = 0; number < kCount; ++number) {
    assert_true(number / 1000 % 2 == 0 ? lacks(mapped, number) : holds(mapped, number, number / 1000 * 1000));
  }
  const auto report = index.validate();
  assert_true_msg(report.valid, "%s", report.error);
  assert_u64(report.entries, kCount / 2);
}

void visit_can_stop(void**) {
  Index index;
  index.put(0, 500, 1);
  std::uint64_t visited = 0;
  assert_true(index.reader().for_each([&](const Digest&, const IndexRecord&) { return ++visited < 123; }) ==
              Lookup::hit);
  assert_u64(visited, 123U);
}

// While a writer replaces everything over and over, a visit sees every key once, each with a sound
// record.
void visit_beside_a_writer(void**) {
  constexpr std::uint64_t kCount = 3000;
  Index index;
  index.put(0, kCount, 1);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t version = 2; !stop; ++version) {
      for (std::uint64_t from = 0; from < kCount && !stop; from += 100) {
        index.put(from, from + 100, version);
      }
    }
  });
  const IndexReader reader = index.reader();
  unsigned complete = 0;
  bool sound = true;
  for (unsigned round = 0; round < 50; ++round) {
    std::uint64_t visited = 0;
    Digest previous;
    const Lookup end = reader.for_each([&](const Digest& key, const IndexRecord& record) {
      sound = sound && tlc::store::intact(record, key) && (visited == 0 || previous < key);
      previous = key;
      ++visited;
      return true;
    });
    complete += end == Lookup::hit && visited == kCount ? 1U : 0U;
  }
  stop = true;
  writer.join();
  assert_true(sound);
  assert_u64(complete, 50U);
}

void many_threads_one_reader(void**) {
  Index index;
  index.put(0, 5000, 9);
  const IndexReader reader = index.reader();
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      Random random{thread};
      for (unsigned get = 0; get < 20000; ++get) {
        if (!holds(reader, random.below(5000), 9)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  assert_u64(wrong.load(), 0U);
}

// A full map refuses to store, says so, still removes, and stores again after that.
// The map is of so many pages that those over the limit are enough for three transactions of 100 records each in
// another leaf, as the store's own map is for its batches.
void full_map_refuses_clearly(void**) {
  const std::size_t page_size = tlc::store::native_index_page_size();
  Index index(1024 * page_size);
  std::uint64_t stored = 0;
  tlc::Error refused;
  while (refused.message.empty()) {
    need(index.writer->begin());
    for (unsigned put = 0; put < 100 && refused.message.empty(); ++put) {
      const Digest key = make_key(stored);
      auto result = index.writer->put(key, make_record(key, 1));
      if (result.ok()) {
        ++stored;
      } else {
        refused = result.error();
      }
    }
    need(index.writer->commit());  // what was put before the refusal is kept
    assert_true(stored < 25 * page_size);
  }
  assert_int_equal(refused.status, TLC_NOT_STORED);
  assert_non_null(strstr(refused.message.c_str(), "full"));
  assert_true(index.writer->nearly_full());
  assert_u64(index.reader().entries(), stored);

  for (std::uint64_t from = 0; from + 50 < stored / 2; from += 50) index.remove(from, from + 50);
  assert_false(index.writer->nearly_full());
  index.put(5000000, 5000100, 2);
  assert_true(holds(index.reader(), 5000050, 2));
  assert_true(index.validate().valid);
}

// Full and emptied again and again in small steps: free pages are used, the file stays within its
// map.
void turnover_in_a_small_map(void**) {
  Index index(std::max(std::size_t{2} << 20, 256 * tlc::store::native_index_page_size()));
  constexpr std::uint64_t kLive = 2400;
  for (std::uint64_t from = 0; from < 30 * kLive; from += 40) {
    index.put(from, from + 40, from);
    if (from >= kLive) index.remove(from - kLive, from - kLive + 40);
  }
  const auto report = index.validate();
  assert_true_msg(report.valid, "%s", report.error);
  assert_u64(report.entries, kLive);
}

// Files with the pages of other kernels, in each size that there is; as the tests under faults.page_* see them, but
// also with sanitizers.
void pages_of_other_kernels(void**) {
  constexpr std::uint64_t kCount = 20000;
  for (const std::size_t page_size : {4096U, 8192U, 16384U, 32768U}) {
    Index index;
    index.start_with_pages(page_size);
    for (std::uint64_t from = 0; from < kCount; from += 500) index.put(from, from + 500, from);
    for (std::uint64_t from = 0; from < kCount; from += 1000) index.remove(from, from + 500);
    for (const bool use_pread : {false, true}) {
      const IndexReader reader =
          need(IndexReader::open(index.data(), index.control.get(), index.map_size, use_pread, page_size));
      for (std::uint64_t number = 0; number < kCount; number += 7) {
        assert_true(number / 500 % 2 == 0 ? lacks(reader, number) : holds(reader, number, number / 500 * 500));
      }
      std::uint64_t visited = 0;
      assert_true(reader.for_each([&](const Digest& key, const IndexRecord& record) {
        visited += tlc::store::intact(record, key) ? 1 : 0;
        return true;
      }) == Lookup::hit);
      assert_u64(visited, kCount / 2);
      assert_u64(reader.used_bytes() % page_size, 0U);
    }
    const tlc::port::Fd file = index.data();
    const auto report = need(tlc::store::validate(file.get(), index.map_size, index.control.get(), true, page_size));
    assert_true_msg(report.valid, "%s", report.error);
    assert_u64(report.entries, kCount / 2);
    // Read as if its pages were of another size it is no index of ours.
    const std::size_t other = page_size == 4096 ? 16384 : 4096;
    assert_false(need(tlc::store::validate(file.get(), index.map_size, index.control.get(), true, other)).valid);
    const IndexReader misled = need(IndexReader::open(index.data(), index.control.get(), index.map_size, false, other));
    IndexRecord record;
    assert_true(misled.get(make_key(501), record) == Lookup::corrupt);
  }
}

}  // namespace

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(new_index_is_empty),       cmocka_unit_test(put_replace_remove),
      cmocka_unit_test(two_hundred_thousand),     cmocka_unit_test(visit_can_stop),
      cmocka_unit_test(visit_beside_a_writer),    cmocka_unit_test(many_threads_one_reader),
      cmocka_unit_test(full_map_refuses_clearly), cmocka_unit_test(turnover_in_a_small_map),
      cmocka_unit_test(pages_of_other_kernels),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
