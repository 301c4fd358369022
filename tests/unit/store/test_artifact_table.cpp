// SPDX-License-Identifier: MIT
// The process table: references counted by many threads come out even, and nothing lives or dies too long.
#include <atomic>
#include <thread>
#include <vector>

#include "store_support.hpp"
#include "tlc_test.hpp"

using namespace tlc;         // NOLINT
using namespace tlc::store;  // NOLINT
using test::key_of;

namespace {

std::unique_ptr<Artifact> make(std::uint64_t seed, std::uint64_t sequence) {
  const std::vector<std::uint8_t> data = test::bytes_of(seed, 256);
  const MemberView member{"m", 0, data};
  RecordContent content;
  content.key = key_of(seed);
  content.members = {&member, 1};
  Result<RecordImage> image = RecordImage::make(content, sequence, 1, nullptr);
  Body body = make_body(image->length());
  std::size_t at = 0;
  const auto pieces = image->pieces();
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    std::copy(pieces[i].begin(), pieces[i].end(), body.get() + at);
    at += pieces[i].size();
  }
  const std::span<const std::uint8_t> bytes(body.get(), image->header().body_length);
  return std::make_unique<Artifact>(image->header(), *parse_meta(image->header(), bytes), bytes, std::move(body),
                                    Tier::memory, nullptr);
}

std::shared_ptr<ArtifactTable> new_table() {
  auto table = ArtifactTable::create();
  table->add_counter();
  return table;
}

void test_find_needs_the_current_change(void**) {
  auto table = new_table();
  ArtifactRef made(table->insert(make(1, 10), 5));
  assert_null(table->find(key_of(1), 6));
  assert_null(table->find(key_of(2), 5));
  ArtifactRef found(table->find(key_of(1), 5));
  assert_ptr_equal(found.get(), made.get());
  const RecordHeader& header = made->header();
  assert_null(table->find_generation(key_of(1), 11, {header.hash_lo, header.hash_hi}, 6));
  ArtifactRef at(table->find_generation(key_of(1), 10, {header.hash_lo, header.hash_hi}, 6));
  assert_ptr_equal(at.get(), made.get());
  assert_ptr_equal(ArtifactRef(table->find(key_of(1), 6)).get(), made.get());
  assert_u64(table->take_hits()[0], 3);
  table->clear();
}

void test_a_newer_generation_takes_the_place(void**) {
  auto table = new_table();
  ArtifactRef old(table->insert(make(1, 10), 1));
  ArtifactRef newer(table->insert(make(1, 11), 1));
  assert_ptr_not_equal(old.get(), newer.get());
  assert_ptr_equal(ArtifactRef(table->find(key_of(1), 1)).get(), newer.get());
  assert_u64(old->header().sequence, 10);
  ArtifactRef same(table->insert(make(1, 11), 1));
  assert_ptr_equal(same.get(), newer.get());
  table->clear();
}

void test_memory_is_counted(void**) {
  auto table = new_table();
  {
    ArtifactRef held(table->insert(make(1, 1), 1));
    ArtifactRef alone(table->adopt(make(2, 2)));
    assert_true(table->memory_bytes() > 500);
    table->drop(key_of(1));
    assert_true(table->memory_bytes() > 500);
  }
  assert_u64(table->memory_bytes(), 0);
  { ArtifactRef unheld(table->insert(make(3, 3), 1)); }
  assert_true(table->memory_bytes() > 0);
  table->drop_if([](const Artifact&) { return true; }, true);
  assert_u64(table->memory_bytes(), 0);
}

// Readers on a few keys, a writer that replaces and drops them, references handed to other threads to release.
void test_many_threads(void**) {
  auto table = new_table();
  constexpr int kReaders = 6;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<Artifact*> handed{nullptr};
  std::vector<std::thread> readers;
  for (int t = 0; t < kReaders; ++t)
    readers.emplace_back([&, t] {
      std::uint64_t n = static_cast<std::uint64_t>(t);
      while (!stop.load()) {
        const std::uint64_t seed = ++n % 4;
        Artifact* artifact = table->find(key_of(seed), 1);
        if (artifact == nullptr) continue;
        if (artifact->members()[0].data[7] != test::bytes_of(seed, 256)[7]) ++wrong;
        if (n % 3 == 0) {
          artifact->retain();
          artifact->release();
        }
        if (Artifact* old = n % 5 == 0 ? handed.exchange(artifact) : artifact) old->release();
      }
    });
  for (std::uint64_t i = 1; i < 3000; ++i) {
    ArtifactRef made(table->insert(make(i % 4, i), 1));
    if (i % 7 == 0) table->drop(key_of(i % 4));
    if (i % 50 == 0) table->drop_if([](const Artifact&) { return true; }, true);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  if (Artifact* last = handed.load()) last->release();
  assert_u64(wrong.load(), 0);
  table->clear();
  assert_u64(table->memory_bytes(), 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_find_needs_the_current_change),
      cmocka_unit_test(test_a_newer_generation_takes_the_place),
      cmocka_unit_test(test_memory_is_counted),
      cmocka_unit_test(test_many_threads),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
