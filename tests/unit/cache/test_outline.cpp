// SPDX-License-Identifier: MIT
// What is stored, without its bytes: what an outline shows, what it counts, and what it does not read.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cache_support.hpp"

using namespace tlc::test;  // NOLINT

namespace {

struct Shown {
  int calls = 0;
  int32_t answer = 0;
  bool has_bytes = false;
  std::string names;
  tlc_artifact_info info{};  // what it points to is gone when the call has returned
  std::string digest;
  uint64_t size = 0;
};

int32_t show(const tlc_artifact_info* info, const tlc_member* members, size_t count, void* user_data) {
  auto& shown = *static_cast<Shown*>(user_data);
  ++shown.calls;
  shown.info = *info;
  shown.digest.assign(reinterpret_cast<const char*>(info->digest), TLC_DIGEST_SIZE);
  shown.names.clear();
  shown.size = 0;
  for (size_t i = 0; i < count; ++i) {
    shown.names.append(members[i].name.data, members[i].name.len).append(" ");
    shown.size += members[i].size;
    shown.has_bytes = shown.has_bytes || members[i].data != nullptr;
  }
  return shown.answer;
}

tlc_status outline(const Own<tlc_cache>& cache, const Own<tlc_key>& key, Shown& shown) {
  return tlc_cache_outline(cache.get(), key.get(), show, &shown, nullptr);
}

uint64_t hits(const Own<tlc_cache>& cache) {
  tlc_stats stats{};
  stats.struct_size = TLC_SIZEOF(tlc_stats, hits);
  assert_int_equal(tlc_cache_get_stats(cache.get(), str("test"), &stats, nullptr), TLC_OK);
  return stats.hits;
}

void put(const Own<tlc_cache>& cache, const Own<tlc_key>& key, const char* content) {
  assert_int_equal(tlc_cache_put(cache.get(), key.get(), make_bundle(content).get(), nullptr, nullptr), TLC_OK);
}

/// Changes the bytes `was` where they lie in the store's segments; says how often they were there.
int damage(const std::string& folder, const std::string& was, const std::string& now) {
  int found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().parent_path().filename() != "segments") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string data((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    for (size_t at = data.find(was); at != std::string::npos; at = data.find(was, at + 1)) {
      std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(at));
      file << now;
      ++found;
    }
  }
  return found;
}

void test_it_shows_members_without_bytes(void**) {
  const Scratch scratch;
  const auto key = make_key(make_request("a", "1").get());
  tlc_artifact_info kept{};
  {
    const auto cache = open_cache(scratch.path());
    Shown shown;
    assert_int_equal(outline(cache, key, shown), TLC_MISS);
    assert_int_equal(shown.calls, 0);
    put(cache, key, "some code");
  }
  const auto cache = open_cache(scratch.path());
  Shown shown;
  assert_int_equal(outline(cache, key, shown), TLC_OK);
  assert_int_equal(shown.calls, 1);
  assert_string_equal(shown.names.c_str(), "code ");
  assert_int_equal(shown.size, 9);
  assert_false(shown.has_bytes);
  tlc_artifact* artifact = nullptr;
  assert_int_equal(tlc_cache_get(cache.get(), key.get(), &artifact, nullptr), TLC_OK);
  kept.struct_size = TLC_SIZEOF(tlc_artifact_info, tier);
  assert_int_equal(tlc_artifact_get_info(artifact, &kept, nullptr), TLC_OK);
  assert_int_equal(shown.info.created_ns, kept.created_ns);
  assert_int_equal(shown.info.generation, kept.generation);
  assert_int_equal(shown.info.size, kept.size);
  tlc_artifact_release(artifact);
}

void test_only_an_outline_that_was_enough_is_a_hit(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto key = make_key(make_request("a", "1").get());
  put(cache, key, "code");
  Shown shown;
  assert_int_equal(outline(cache, key, shown), TLC_OK);
  assert_int_equal(hits(cache), 0);
  shown.answer = 1;
  assert_int_equal(outline(cache, key, shown), TLC_OK);
  assert_int_equal(hits(cache), 1);
  const auto absent = make_key(make_request("a", "2").get());
  assert_int_equal(outline(cache, absent, shown), TLC_MISS);
  tlc_stats stats{};
  stats.struct_size = TLC_SIZEOF(tlc_stats, misses);
  assert_int_equal(tlc_cache_get_stats(cache.get(), str("test"), &stats, nullptr), TLC_OK);
  assert_int_equal(stats.misses, 0);
}

void test_links_are_followed(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto from = make_key(make_request("a", "from").get());
  const auto to = make_key(make_request("a", "to").get());
  Shown shown;
  assert_int_equal(tlc_cache_link(cache.get(), from.get(), to.get(), nullptr), TLC_OK);
  assert_int_equal(outline(cache, from, shown), TLC_MISS);
  put(cache, to, "code");
  assert_int_equal(outline(cache, from, shown), TLC_OK);
  assert_memory_equal(shown.digest.data(), tlc_key_digest(to.get()), TLC_DIGEST_SIZE);
  assert_int_equal(shown.calls, 1);
}

void test_members_are_not_read_and_a_list_that_is_damaged_is_refused(void**) {
  const Scratch scratch;
  const auto key = make_key(make_request("a", "1").get());
  put(open_cache(scratch.path()), key, "the bytes of a member");
  assert_int_equal(damage(scratch.path(), "the bytes of a member", "others"), 1);
  {
    const auto cache = open_cache(scratch.path());
    Shown shown;
    assert_int_equal(outline(cache, key, shown), TLC_OK);  // it says what was stored
    assert_int_equal(get(cache.get(), key.get()), TLC_REJECTED);
  }
  const auto other = make_key(make_request("a", "2").get());
  put(open_cache(scratch.path()), other, "x");
  assert_true(damage(scratch.path(), "code", "kode") > 0);  // the member's name, in the list
  const auto cache = open_cache(scratch.path());
  Shown shown;
  assert_int_equal(outline(cache, other, shown), TLC_REJECTED);
  assert_int_equal(shown.calls, 0);
}

void test_what_is_in_memory_and_what_is_off(void**) {
  const auto memory = open_cache("", TLC_OPEN_MEMORY);
  const auto key = make_key(make_request("a", "1").get());
  Shown shown;
  assert_int_equal(outline(memory, key, shown), TLC_MISS);
  put(memory, key, "code");
  assert_int_equal(outline(memory, key, shown), TLC_OK);
  assert_int_equal(shown.info.tier, TLC_TIER_MEMORY);
  assert_false(shown.has_bytes);
  assert_int_equal(tlc_cache_outline(memory.get(), key.get(), nullptr, nullptr, nullptr), TLC_E_INVALID);
  assert_int_equal(tlc_cache_outline(memory.get(), nullptr, show, nullptr, nullptr), TLC_E_INVALID);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_it_shows_members_without_bytes),
      cmocka_unit_test(test_only_an_outline_that_was_enough_is_a_hit),
      cmocka_unit_test(test_links_are_followed),
      cmocka_unit_test(test_members_are_not_read_and_a_list_that_is_damaged_is_refused),
      cmocka_unit_test(test_what_is_in_memory_and_what_is_off),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
