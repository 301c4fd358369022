// SPDX-License-Identifier: MIT
// The store in one process: put, get, replace, remove, clear, eviction, rebuild, folders.
#include "store/store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "port/file.hpp"
#include "store_support.hpp"
#include "tlc_test.hpp"

using namespace tlc;         // NOLINT
using namespace tlc::store;  // NOLINT
using test::key_of;
using test::StoreFixture;

namespace {

void test_put_get(void**) {
  StoreFixture store;
  assert_false(store.has(1, 10));
  for (std::size_t size : {0U, 1U, 63U, 64U, 65U, 16384U, 300000U, 5000000U}) {
    assert_int_equal(store.put(size + 1, size).status, TLC_OK);
    assert_true(store.has(size + 1, size));
  }
  assert_int_equal(store.put(1, 0).status, TLC_EXISTED);
  store.close();
  store.open();
  for (std::size_t size : {0U, 1U, 63U, 64U, 65U, 16384U, 300000U, 5000000U}) assert_true(store.has(size + 1, size));
  store.close();
  store.open(true);  // read-only
  assert_true(store.has(5000001, 5000000));
  assert_int_equal(store.put(99, 10).status, TLC_NOT_STORED);
}

void test_too_large(void**) {
  StoreFixture store(16 << 20);
  assert_int_equal(store.put(1, 3 << 20).status, TLC_TOO_LARGE);
  assert_int_equal(store.put(2, 1 << 20).status, TLC_OK);
}

void test_replace_is_conditional(void**) {
  StoreFixture store;
  const PutResult first = store.put(1, 100);
  assert_int_equal(store.put(1, 100, {true, 0}, "test", 2).status, TLC_CONFLICT);
  assert_int_equal(store.put(1, 100, {true, first.sequence + 1}, "test", 2).status, TLC_CONFLICT);
  const Found held = store->get(key_of(1));
  const PutResult second = store.put(1, 200, {true, first.sequence}, "test", 2);
  assert_int_equal(second.status, TLC_OK);
  assert_true(store.has(1, 200, 2));
  assert_u64(held.artifact->header().sequence, first.sequence);  // a handle keeps its generation
  assert_memory_equal(held.artifact->members()[0].data.data(), test::bytes_of(1, 100).data(), 100);
  assert_int_equal(store.put(3, 10, {true, 0}).status, TLC_OK);  // absent, as expected
}

void test_remove(void**) {
  StoreFixture store;
  const PutResult put = store.put(1, 100);
  assert_int_equal(*store->remove(key_of(1), put.sequence + 1, RemovalReason::removed), TLC_MISS);
  assert_true(store.has(1, 100));
  assert_int_equal(*store->remove(key_of(1), 0, RemovalReason::removed), TLC_OK);
  assert_false(store.has(1, 100));
  assert_int_equal(*store->remove(key_of(1), 0, RemovalReason::removed), TLC_MISS);
  assert_int_equal(static_cast<int>(store->removal_of(key_of(1))->reason), static_cast<int>(RemovalReason::removed));
  assert_int_equal(store.put(1, 50).status, TLC_OK);
  assert_true(store.has(1, 50));
}

void test_clear(void**) {
  StoreFixture store;
  for (std::uint64_t i = 1; i <= 300; ++i)
    assert_int_equal(store.put(i, 1000, {}, i % 3 == 0 ? "a" : "b").status, TLC_OK);
  assert_u64(*store->clear("a"), 100);
  assert_false(store.has(3, 1000));
  assert_true(store.has(1, 1000));
  assert_u64(*store->clear(""), 200);
  assert_false(store.has(1, 1000));
  assert_true(list_segments(port::open_at(AT_FDCWD, store.path("segments").c_str(), O_RDONLY)->get())->empty());
  assert_int_equal(store.put(1, 10).status, TLC_OK);
  assert_true(store.has(1, 10));
}

void test_limit_holds(void**) {
  StoreFixture store(16 << 20);
  ArtifactRef pinned;
  for (std::uint64_t i = 1; i <= 400; ++i) {
    const PutResult put = store.put(i, 400000);
    assert_true_msg(put.status == TLC_OK, "%s", put.reason.c_str());
    if (i == 1) pinned = std::move(store->get(key_of(1)).artifact);
    if (i % 50 == 0) assert_true(store->stats().disk_bytes <= (std::uint64_t{16} << 20) * 9 / 8 + (1 << 20));
  }
  assert_true(store.has(400, 400000));
  assert_false(store.has(2, 400000));  // the oldest went; the first is served on, since it is held here
  assert_memory_equal(pinned->members()[0].data.data(), test::bytes_of(1, 400000).data(), 400000);
  assert_int_equal(static_cast<int>(store->removal_of(key_of(1))->reason), static_cast<int>(RemovalReason::evicted));
  assert_true(store->stats().unlinked > 0);
}

void rebuild_fully(StoreFixture& store) {
  for (int i = 0; i < 100 && !store->rebuild_some(50'000'000); ++i) {
  }
}

void test_a_lost_index_is_rebuilt(void**) {
  StoreFixture store;
  for (std::uint64_t i = 1; i <= 500; ++i)
    assert_int_equal(store.put(i, 500, {}, i <= 100 ? "gone" : "kept").status, TLC_OK);
  const PutResult old = store.put(600, 100);
  assert_int_equal(store.put(600, 100, {true, old.sequence}, "test", 601).status, TLC_OK);
  assert_int_equal(*store->remove(key_of(500), 0, RemovalReason::removed), TLC_OK);
  assert_u64(*store->clear("gone"), 100);
  const std::string path = store.path("");
  store.close();
  std::filesystem::remove_all(path + "index-1");
  store.open();
  assert_int_equal(store.put(1000, 10).status, TLC_OK);  // the first write makes the index anew
  rebuild_fully(store);
  for (std::uint64_t i = 1; i <= 500; ++i) assert_int_equal(store.has(i, 500), i > 100 && i < 500);
  assert_true(store.has(600, 100, 601));
  assert_true(store.has(1000, 10));
}

// A rebuild may index a record between its append and its own index transaction: a put must not take itself for
// another's.
void test_puts_during_a_rebuild(void**) {
  for (int round = 0; round < 20; ++round) {
    StoreFixture store;
    for (std::uint64_t i = 1; i <= 50; ++i) assert_int_equal(store.put(i, 200).status, TLC_OK);
    std::atomic<bool> stop{false};
    store->control().header()->rebuild_segment.store(0);
    store->control().header()->rebuild.store(1);
    std::thread rebuilder([&] {
      while (!stop.load()) {
        store->control().header()->rebuild_segment.store(0);
        store->control().header()->rebuild.store(1);
        (void)store->rebuild_some(1'000'000);
      }
    });
    std::vector<tlc_status> statuses;
    for (std::uint64_t i = 100; i < 300; ++i) statuses.push_back(store.put(i, 200).status);
    stop = true;
    rebuilder.join();
    for (const tlc_status status : statuses) assert_int_equal(status, TLC_OK);
  }
}

void flip(const std::string& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ 0x40));
}

void test_a_damaged_payload_costs_itself(void**) {
  StoreFixture store;
  std::vector<PutResult> puts;
  for (std::uint64_t i = 1; i <= 20; ++i) puts.push_back(store.put(i, 5000));
  const std::string segment = store.path("segments/") + segment_name(puts[9].place.segment);
  store.close();
  flip(segment, puts[9].place.offset + kHeaderSize + 1000);
  store.open();
  for (std::uint64_t i = 1; i <= 20; ++i) {
    const Found found = store->get(key_of(i));
    assert_int_equal(static_cast<int>(found.outcome), static_cast<int>(i == 10 ? Outcome::rejected : Outcome::hit));
  }
  Result<VerifyReport> report = store->verify(false, {});
  assert_u64(report->damaged.size(), 1);
  assert_string_equal(report->damaged[0].label.c_str(), "a label");
  assert_int_equal(store.put(10, 5000).status, TLC_OK);  // what is rejected is replaced
  assert_true(store.has(10, 5000));
  assert_u64(store->verify(false, {})->damaged.size(), 0);
}

void test_verify_repairs(void**) {
  StoreFixture store;
  const PutResult put = store.put(1, 5000);
  store.put(2, 5000);
  const std::string segment = store.path("segments/") + segment_name(put.place.segment);
  store.close();
  flip(segment, put.place.offset + 40);
  store.open();
  Result<VerifyReport> report = store->verify(true, {});
  assert_true(report.ok());
  assert_u64(report->damaged.size(), 1);
  assert_true(report->damaged[0].repaired);
  assert_int_equal(static_cast<int>(store->get(key_of(1)).outcome), static_cast<int>(Outcome::miss));
  assert_true(store.has(2, 5000));
}

void test_folder(void**) {
  StoreFixture store;
  store.put(1, 5000);
  const Found found = store->get(key_of(1));
  Result<std::string> folder = store->folder(*found.artifact);
  assert_true(folder.ok());
  struct stat st {};
  assert_int_equal(::stat((*folder + "/code").c_str(), &st), 0);
  assert_u64(st.st_size, 5000);
  assert_int_equal(::stat(folder->c_str(), &st), 0);
  assert_int_equal(st.st_mode & 0777, 0500);
  assert_true(*store->folder(*found.artifact) == *folder);
  // Somebody removed it: the next is another path, since this one may be loaded.
  (void)port::remove_tree_at(AT_FDCWD, folder->c_str());
  Result<std::string> again = store->folder(*found.artifact);
  assert_true(again.ok());
  assert_true(*again != *folder);
}

void test_a_changed_folder_is_not_used(void**) {
  StoreFixture store;
  store.put(1, 5000);
  const std::string first = *store->folder(*store->get(key_of(1)).artifact);
  store.close();
  ::chmod((first + "/code").c_str(), 0600);
  flip(first + "/code", 100);
  ::chmod((first + "/code").c_str(), 0400);
  store.open();
  Result<std::string> again = store->folder(*store->get(key_of(1)).artifact);
  assert_true(again.ok());
  assert_true(*again != first);
}

void test_counters_are_shared(void**) {
  StoreFixture store;
  store.put(1, 100, {}, "count/a");
  for (int i = 0; i < 5; ++i) assert_true(store.has(1, 100));
  store->count("count/a", Counter::misses, 3);
  store.close();
  store.open();
  bool seen = false;
  for (const NamespaceCounters& one : store->stats().namespaces) {
    if (one.name_space != "count/a") continue;
    seen = true;
    assert_u64(one.values[static_cast<std::size_t>(Counter::hits)], 5);
    assert_u64(one.values[static_cast<std::size_t>(Counter::misses)], 3);
    assert_u64(one.values[static_cast<std::size_t>(Counter::puts)], 1);
  }
  assert_true(seen);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_put_get),
      cmocka_unit_test(test_too_large),
      cmocka_unit_test(test_replace_is_conditional),
      cmocka_unit_test(test_remove),
      cmocka_unit_test(test_clear),
      cmocka_unit_test(test_limit_holds),
      cmocka_unit_test(test_a_lost_index_is_rebuilt),
      cmocka_unit_test(test_puts_during_a_rebuild),
      cmocka_unit_test(test_a_damaged_payload_costs_itself),
      cmocka_unit_test(test_verify_repairs),
      cmocka_unit_test(test_folder),
      cmocka_unit_test(test_a_changed_folder_is_not_used),
      cmocka_unit_test(test_counters_are_shared),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
