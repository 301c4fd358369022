// SPDX-License-Identifier: MIT
// The flow through the C API: put and get, the compile lock, guards, failures, memory.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cache_support.hpp"

using namespace tlc::test;  // NOLINT

namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

void test_put_and_get(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto key = make_key(make_request("a", "1").get());
  assert_int_equal(get(cache.get(), key.get()), TLC_MISS);
  tlc_artifact* artifact = nullptr;
  assert_int_equal(tlc_cache_put(cache.get(), key.get(), make_bundle("one").get(), &artifact, nullptr), TLC_OK);
  tlc_artifact_info info{};
  info.struct_size = TLC_SIZEOF(tlc_artifact_info, tier);
  assert_int_equal(tlc_artifact_get_info(artifact, &info, nullptr), TLC_OK);
  assert_int_equal(info.tier, TLC_TIER_STORE);
  assert_int_equal(info.member_count, 1);
  tlc_artifact_release(artifact);
  std::string content;
  assert_int_equal(get(cache.get(), key.get(), &content), TLC_OK);
  assert_string_equal(content.c_str(), "one");
  assert_int_equal(tlc_cache_put(cache.get(), key.get(), make_bundle("two").get(), &artifact, nullptr), TLC_EXISTED);
  size_t size = 0;
  assert_memory_equal(tlc_artifact_data(artifact, 0, &size), "one", 3);
  Err error;
  tlc_artifact* replaced = nullptr;
  assert_int_equal(tlc_cache_replace(cache.get(), key.get(), nullptr, make_bundle("two").get(), &replaced, &error),
                   TLC_CONFLICT);
  assert_int_equal(tlc_cache_replace(cache.get(), key.get(), artifact, make_bundle("two").get(), &replaced, &error),
                   TLC_OK);
  assert_memory_equal(tlc_artifact_data(replaced, 0, &size), "two", 3);
  assert_memory_equal(tlc_artifact_data(artifact, 0, &size), "one", 3);
  tlc_artifact_release(artifact);
  tlc_artifact_release(replaced);
}

void test_amend_keeps_the_rest(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto key = make_key(make_request("a", "1").get());
  tlc_artifact* first = nullptr;
  assert_int_equal(tlc_cache_put(cache.get(), key.get(), make_bundle("one").get(), &first, nullptr), TLC_OK);
  tlc_bundle* more = nullptr;
  tlc_bundle_create(&more, nullptr);
  tlc_bundle_add(more, str("late"), TLC_MEMBER_JSON, "{}", 2, 0, nullptr);
  tlc_artifact* second = nullptr;
  assert_int_equal(tlc_cache_amend(cache.get(), key.get(), first, more, &second, nullptr), TLC_OK);
  assert_int_equal(tlc_artifact_member_count(second), 2);
  assert_int_equal(tlc_cache_amend(cache.get(), key.get(), first, more, nullptr, nullptr), TLC_CONFLICT);
  tlc_bundle_destroy(more);
  tlc_artifact_release(first);
  tlc_artifact_release(second);
}

void test_bad_bundles(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto key = make_key(make_request("a", "1").get());
  tlc_bundle* bundle = nullptr;
  tlc_bundle_create(&bundle, nullptr);
  Err error;
  assert_int_equal(tlc_cache_put(cache.get(), key.get(), bundle, nullptr, &error), TLC_E_INVALID);
  assert_non_null(strstr(error.message, "member"));
  for (std::string_view name : {std::string_view(""), std::string_view("a/b"), std::string_view(".."),
                                std::string_view("."), std::string_view("a\0b", 3), std::string_view("\xff")})
    assert_int_equal(tlc_bundle_add(bundle, str(name), 0, "x", 1, 0, &error), TLC_E_INVALID);
  assert_int_equal(tlc_bundle_add(bundle, str(std::string(256, 'n')), 0, "x", 1, 0, &error), TLC_E_INVALID);
  assert_int_equal(tlc_bundle_add(bundle, str("same"), 0, "x", 1, 0, &error), TLC_OK);
  assert_int_equal(tlc_bundle_add(bundle, str("same"), 0, "x", 1, 0, &error), TLC_E_INVALID);
  tlc_bundle_destroy(bundle);
}

struct Counting {
  int calls = 0;
  tlc_status answer = TLC_OK;
  std::string content = "made";
};

tlc_status compile(const tlc_request*, const tlc_key*, tlc_bundle* bundle, tlc_log* log, tlc_error* error, void* data) {
  auto* counting = static_cast<Counting*>(data);
  ++counting->calls;
  tlc_log_append(log, str("said\n"));
  if (counting->answer != TLC_OK) return tlc_host()->fail(error, counting->answer, 0, 42, str("no such instruction"));
  return tlc_bundle_add(bundle, str("code"), 0, counting->content.data(), counting->content.size(), 0, error);
}

tlc_status get_or_compile(tlc_cache* cache, tlc_request* request, Counting& counting, std::uint64_t flags, Err& error,
                          std::string* content = nullptr) {
  tlc_compile_options options;
  tlc_compile_options_init(&options);
  options.compile = compile;
  options.user_data = &counting;
  options.flags = flags;
  tlc_artifact* artifact = nullptr;
  tlc_blob* log = nullptr;
  const tlc_status status = tlc_cache_get_or_compile(cache, request, &options, &artifact, &log, &error);
  const std::string said = text_of(log);
  if (status == TLC_OK && content != nullptr) {
    size_t size = 0;
    const void* data = tlc_artifact_data(artifact, 0, &size);
    content->assign(static_cast<const char*>(data), size);
  }
  tlc_artifact_release(artifact);
  return status;
}

void test_get_or_compile(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto request = make_request("a", "1");
  Counting counting;
  Err error;
  assert_int_equal(get_or_compile(cache.get(), request.get(), counting, TLC_COMPILE_NEVER, error), TLC_MISS);
  assert_int_equal(counting.calls, 0);
  for (int i = 0; i < 3; ++i) assert_int_equal(get_or_compile(cache.get(), request.get(), counting, 0, error), TLC_OK);
  assert_int_equal(counting.calls, 1);
  assert_int_equal(get_or_compile(cache.get(), request.get(), counting, TLC_COMPILE_NEVER, error), TLC_OK);
}

void test_failures_are_kept_on_request(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto request = make_request("a", "1");
  Counting counting;
  counting.answer = TLC_E_COMPILE;
  Err error;
  assert_int_equal(get_or_compile(cache.get(), request.get(), counting, 0, error), TLC_E_COMPILE);
  assert_string_equal(error.message, "no such instruction");
  assert_int_equal(error.backend_code, 42);
  assert_int_equal(get_or_compile(cache.get(), request.get(), counting, TLC_COMPILE_KEEP_FAILURE, error),
                   TLC_E_COMPILE);
  assert_int_equal(counting.calls, 2);
  assert_int_equal(get_or_compile(cache.get(), request.get(), counting, TLC_COMPILE_KEEP_FAILURE, error),
                   TLC_E_COMPILE);
  assert_int_equal(counting.calls, 2);
  assert_string_equal(error.message, "no such instruction");
  counting.answer = TLC_OK;  // who does not ask for kept failures compiles, and what is made takes the place
  assert_int_equal(get_or_compile(cache.get(), request.get(), counting, 0, error), TLC_OK);
  assert_int_equal(counting.calls, 3);
  assert_int_equal(get_or_compile(cache.get(), request.get(), counting, TLC_COMPILE_KEEP_FAILURE, error), TLC_OK);
}

void test_required_members(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto request = make_request("a", "1");
  tlc_request_require_member(request.get(), str("code"), nullptr);
  Counting counting;
  Err error;
  assert_int_equal(get_or_compile(cache.get(), request.get(), counting, 0, error), TLC_OK);
  const auto more = make_request("a", "1");
  tlc_request_require_member(more.get(), str("metadata"), nullptr);
  assert_int_equal(get_or_compile(cache.get(), more.get(), counting, 0, error), TLC_E_COMPILE);
  assert_non_null(strstr(error.message, "metadata"));
}

void test_begin_and_publish(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto key = make_key(make_request("a", "1").get());
  tlc_artifact* artifact = nullptr;
  tlc_lock* lock = nullptr;
  assert_int_equal(tlc_cache_begin(cache.get(), key.get(), TLC_WAIT_NONE, nullptr, &artifact, &lock, nullptr),
                   TLC_LOCKED);
  tlc_lock* second = nullptr;
  tlc_status from_thread = -1;
  std::thread([&] {
    tlc_artifact* none = nullptr;
    from_thread = tlc_cache_begin(cache.get(), key.get(), 20, nullptr, &none, &second, nullptr);
  }).join();
  assert_int_equal(from_thread, TLC_TIMEOUT);
  // The thread that holds it would wait for itself.
  assert_int_equal(tlc_cache_begin(cache.get(), key.get(), TLC_WAIT_DEFAULT, nullptr, &artifact, &second, nullptr),
                   TLC_TIMEOUT);
  assert_int_equal(tlc_lock_publish(lock, make_bundle("one").get(), nullptr, nullptr), TLC_OK);
  assert_int_equal(tlc_cache_begin(cache.get(), key.get(), TLC_WAIT_NONE, nullptr, &artifact, &lock, nullptr), TLC_OK);
  // It counts as a compile, which took as long as the lock was held: the 20 ms that the other thread waited, at least.
  tlc_stats stats{};
  stats.struct_size = TLC_SIZEOF(tlc_stats, disk_bytes);
  assert_int_equal(tlc_cache_get_stats(cache.get(), str("test"), &stats, nullptr), TLC_OK);
  assert_u64(stats.compiles, 1);
  assert_true(stats.compile_us >= 20'000);
  tlc_artifact_info info{};
  info.struct_size = TLC_SIZEOF(tlc_artifact_info, tier);
  assert_int_equal(tlc_artifact_get_info(artifact, &info, nullptr), TLC_OK);
  assert_u64(info.compile_us, stats.compile_us);
  tlc_artifact_release(artifact);
}

// Two caches on one folder share its store, and the open files of its locks.
void test_two_caches_on_one_folder(void**) {
  const Scratch scratch;
  const auto first = open_cache(scratch.path());
  const auto second = open_cache(scratch.path());
  const auto key = make_key(make_request("a", "1").get());
  tlc_artifact* artifact = nullptr;
  tlc_lock* lock = nullptr;
  assert_int_equal(tlc_cache_begin(first.get(), key.get(), TLC_WAIT_NONE, nullptr, &artifact, &lock, nullptr),
                   TLC_LOCKED);
  tlc_status waited = -1;
  tlc_lock* other = nullptr;
  std::thread([&] {
    tlc_artifact* none = nullptr;
    waited = tlc_cache_begin(second.get(), key.get(), 20, nullptr, &none, &other, nullptr);
  }).join();
  assert_int_equal(waited, TLC_TIMEOUT);
  std::thread waiter(
      [&] { waited = tlc_cache_begin(second.get(), key.get(), 20000, nullptr, &artifact, &other, nullptr); });
  assert_int_equal(tlc_lock_publish(lock, make_bundle("one").get(), nullptr, nullptr), TLC_OK);
  waiter.join();
  assert_int_equal(waited, TLC_OK);
  tlc_artifact_release(artifact);
}

void test_a_leaders_failure_reaches_its_waiters(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto key = make_key(make_request("a", "1").get());
  tlc_artifact* artifact = nullptr;
  tlc_lock* lock = nullptr;
  assert_int_equal(tlc_cache_begin(cache.get(), key.get(), 0, nullptr, &artifact, &lock, nullptr), TLC_LOCKED);
  tlc_status waited = 0;
  Err error;
  std::thread waiter([&] {
    tlc_artifact* none = nullptr;
    tlc_lock* own = nullptr;
    waited = tlc_cache_begin(cache.get(), key.get(), 20000, nullptr, &none, &own, &error);
    tlc_lock_abandon(own);
  });
  ::usleep(100000);
  tlc_lock_fail(lock, TLC_E_COMPILE, str("it does not compile"));
  waiter.join();
  // Had it not waited yet, it is the next leader.
  if (waited != TLC_LOCKED) {
    assert_int_equal(waited, TLC_E_COMPILE);
    assert_string_equal(error.message, "it does not compile");
  }
}

// Whose caller gave up has not failed: one of those who wait compiles.
void test_a_cancelled_leader_makes_another(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto key = make_key(make_request("a", "1").get());
  tlc_artifact* artifact = nullptr;
  tlc_lock* lock = nullptr;
  assert_int_equal(tlc_cache_begin(cache.get(), key.get(), 0, nullptr, &artifact, &lock, nullptr), TLC_LOCKED);
  tlc_status waited = 0;
  std::thread waiter([&] {
    tlc_artifact* none = nullptr;
    tlc_lock* own = nullptr;
    waited = tlc_cache_begin(cache.get(), key.get(), 20000, nullptr, &none, &own, nullptr);
    tlc_lock_abandon(own);
  });
  ::usleep(300000);
  tlc_lock_fail(lock, TLC_E_CANCELLED, str("its caller gave up"));
  waiter.join();
  assert_int_equal(waited, TLC_LOCKED);
}

void test_a_wait_can_be_cancelled(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto key = make_key(make_request("a", "1").get());
  tlc_artifact* artifact = nullptr;
  tlc_lock* lock = nullptr;
  assert_int_equal(tlc_cache_begin(cache.get(), key.get(), 0, nullptr, &artifact, &lock, nullptr), TLC_LOCKED);
  tlc_cancel* cancel = nullptr;
  assert_int_equal(tlc_cancel_create(&cancel, nullptr), TLC_OK);
  tlc_status waited = 0;
  std::thread waiter([&] {
    tlc_artifact* none = nullptr;
    tlc_lock* own = nullptr;
    waited = tlc_cache_begin(cache.get(), key.get(), TLC_WAIT_DEFAULT, cancel, &none, &own, nullptr);
  });
  tlc_cancel_trigger(cancel);
  waiter.join();
  assert_int_equal(waited, TLC_E_CANCELLED);
  tlc_cancel_release(cancel);
  tlc_lock_abandon(lock);
  assert_int_equal(tlc_cache_begin(cache.get(), key.get(), 0, nullptr, &artifact, &lock, nullptr), TLC_LOCKED);
  tlc_lock_abandon(lock);
}

void test_guards(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path("store"));
  const auto key = make_key(make_request("a", "1").get());
  const std::string header = scratch.path("h.h");
  const std::string shadow = scratch.path("shadow.h");
  write(header, "1");
  const auto publish = [&](const char* content) {
    const auto bundle = make_bundle(content);
    assert_int_equal(tlc_bundle_add_guard(bundle.get(), str(header), nullptr, nullptr), TLC_OK);
    assert_int_equal(tlc_bundle_add_absent(bundle.get(), str(shadow), nullptr), TLC_OK);
    return tlc_cache_put(cache.get(), key.get(), bundle.get(), nullptr, nullptr);
  };
  assert_int_equal(publish("one"), TLC_OK);
  std::string content;
  assert_int_equal(get(cache.get(), key.get(), &content), TLC_OK);
  write(header, "2");
  assert_int_equal(get(cache.get(), key.get()), TLC_MISS);
  assert_int_equal(publish("two"), TLC_OK);
  assert_int_equal(get(cache.get(), key.get(), &content), TLC_OK);
  assert_string_equal(content.c_str(), "two");
  write(header, "1");  // as it was: the older variant again
  assert_int_equal(get(cache.get(), key.get(), &content), TLC_OK);
  assert_string_equal(content.c_str(), "one");
  write(shadow, "");
  assert_int_equal(get(cache.get(), key.get()), TLC_MISS);
  ::unlink(shadow.c_str());
  assert_int_equal(get(cache.get(), key.get()), TLC_OK);
  // A put without guards finds what a link leads to, and takes the place of one that leads nowhere.
  tlc_artifact* found = nullptr;
  assert_int_equal(tlc_cache_put(cache.get(), key.get(), make_bundle("plain").get(), &found, nullptr), TLC_EXISTED);
  std::size_t size = 0;
  assert_memory_equal(tlc_artifact_data(found, 0, &size), "one", 3);
  tlc_artifact_release(found);
  ::unlink(header.c_str());
  assert_int_equal(get(cache.get(), key.get()), TLC_MISS);
  assert_int_equal(tlc_cache_put(cache.get(), key.get(), make_bundle("plain").get(), nullptr, nullptr), TLC_OK);
  assert_int_equal(get(cache.get(), key.get(), &content), TLC_OK);
  assert_string_equal(content.c_str(), "plain");
}

void test_links(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto from = make_key(make_request("front", "1").get());
  const auto to = make_key(make_request("content", "1").get());
  assert_int_equal(tlc_cache_put(cache.get(), to.get(), make_bundle("one").get(), nullptr, nullptr), TLC_OK);
  assert_int_equal(tlc_cache_link(cache.get(), from.get(), to.get(), nullptr), TLC_OK);
  assert_int_equal(get(cache.get(), from.get()), TLC_OK);
  assert_int_equal(tlc_cache_link(cache.get(), from.get(), from.get(), nullptr), TLC_E_INVALID);
  assert_int_equal(tlc_cache_remove(cache.get(), to.get(), nullptr), TLC_OK);
  assert_int_equal(get(cache.get(), from.get()), TLC_MISS);
}

void test_closed_lookups(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path());
  const auto request = make_request("a", "1");
  const auto key = make_key(request.get());
  const auto needed = make_key(make_request("needed", "1").get());
  const auto bundle = make_bundle("one");
  assert_int_equal(tlc_bundle_add_requirement(bundle.get(), needed.get(), nullptr), TLC_OK);
  assert_int_equal(tlc_cache_put(cache.get(), key.get(), bundle.get(), nullptr, nullptr), TLC_OK);
  Counting counting;
  Err error;
  const std::uint64_t closed = TLC_COMPILE_CLOSED | TLC_COMPILE_NEVER;
  assert_int_equal(get_or_compile(cache.get(), request.get(), counting, closed, error), TLC_MISS);
  assert_int_equal(tlc_cache_put(cache.get(), needed.get(), make_bundle("n").get(), nullptr, nullptr), TLC_OK);
  assert_int_equal(get_or_compile(cache.get(), request.get(), counting, closed, error), TLC_OK);
}

void test_memory_and_disabled(void**) {
  const auto request = make_request("a", "1");
  Err error;
  Counting counting;
  const auto memory = open_cache("", TLC_OPEN_MEMORY);
  for (int i = 0; i < 3; ++i) assert_int_equal(get_or_compile(memory.get(), request.get(), counting, 0, error), TLC_OK);
  assert_int_equal(counting.calls, 1);
  // A folder that cannot be: it works from memory, and says why.
  const auto nowhere = open_cache("/proc/nothing/here");
  for (int i = 0; i < 3; ++i)
    assert_int_equal(get_or_compile(nowhere.get(), request.get(), counting, 0, error), TLC_OK);
  assert_int_equal(counting.calls, 2);
  tlc_blob* json = nullptr;
  assert_int_equal(tlc_cache_describe(nowhere.get(), &json, nullptr), TLC_OK);
  assert_non_null(strstr(tlc_blob_data(json, nullptr), "TLC_DIR"));
  tlc_blob_release(json);
  tlc_cache_options options;
  tlc_cache_options_init(&options);
  options.directory = str("/proc/nothing/here");
  options.flags = TLC_OPEN_STRICT | TLC_OPEN_NO_ENV;
  tlc_cache* cache = nullptr;
  assert_true(tlc_cache_open(&options, &cache, &error) < 0);
  assert_null(cache);
}

void test_an_artifact_outlives_its_cache(void**) {
  const Scratch scratch;
  auto cache = open_cache(scratch.path());
  const auto key = make_key(make_request("a", "1").get());
  tlc_artifact* artifact = nullptr;
  assert_int_equal(tlc_cache_put(cache.get(), key.get(), make_bundle("one").get(), &artifact, nullptr), TLC_OK);
  cache.reset();
  std::filesystem::remove_all(scratch.path());
  size_t size = 0;
  assert_memory_equal(tlc_artifact_data(artifact, 0, &size), "one", 3);
  char copy[3];
  assert_int_equal(tlc_artifact_read(artifact, 0, copy, sizeof copy, nullptr), TLC_OK);
  assert_int_equal(tlc_artifact_read(artifact, 0, copy, 2, nullptr), TLC_E_INVALID);
  assert_int_equal(tlc_artifact_read(artifact, 1, copy, 3, nullptr), TLC_E_INVALID);
  tlc_artifact_release(artifact);
}

void test_a_store_that_was_deleted(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path("store"));
  const auto key = make_key(make_request("a", "1").get());
  const auto other = make_key(make_request("a", "2").get());
  assert_int_equal(tlc_cache_put(cache.get(), key.get(), make_bundle("one").get(), nullptr, nullptr), TLC_OK);
  std::filesystem::remove_all(scratch.path("store"));
  assert_int_equal(tlc_cache_put(cache.get(), other.get(), make_bundle("two").get(), nullptr, nullptr), TLC_OK);
  const auto fresh = open_cache(scratch.path("store"));
  assert_int_equal(get(fresh.get(), other.get()), TLC_OK);
  assert_int_equal(get(fresh.get(), key.get()), TLC_MISS);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_put_and_get),
      cmocka_unit_test(test_amend_keeps_the_rest),
      cmocka_unit_test(test_bad_bundles),
      cmocka_unit_test(test_get_or_compile),
      cmocka_unit_test(test_failures_are_kept_on_request),
      cmocka_unit_test(test_required_members),
      cmocka_unit_test(test_begin_and_publish),
      cmocka_unit_test(test_two_caches_on_one_folder),
      cmocka_unit_test(test_a_leaders_failure_reaches_its_waiters),
      cmocka_unit_test(test_a_cancelled_leader_makes_another),
      cmocka_unit_test(test_a_wait_can_be_cancelled),
      cmocka_unit_test(test_guards),
      cmocka_unit_test(test_links),
      cmocka_unit_test(test_closed_lookups),
      cmocka_unit_test(test_memory_and_disabled),
      cmocka_unit_test(test_an_artifact_outlives_its_cache),
      cmocka_unit_test(test_a_store_that_was_deleted),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
