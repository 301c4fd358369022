// SPDX-License-Identifier: MIT
// Why a key misses, among 10,000 entries: each cause told apart and named.
#include <fstream>
#include <nlohmann/json.hpp>

#include "cache_support.hpp"

using namespace tlc::test;  // NOLINT
using Json = nlohmann::json;

namespace {

constexpr int kEntries = 10000;

Own<tlc_request> request_of(int tile, const char* opt, const char* dtype = "f16") {
  tlc_request* request = nullptr;
  assert_int_equal(tlc_request_create(str("explain"), &request, nullptr), TLC_OK);
  tlc_request_set_no_toolchain(request, nullptr);
  tlc_request_add_int(request, str("tile"), tile, 0, nullptr);
  tlc_request_add_text(request, str("dtype"), str(dtype), 0, nullptr);
  tlc_request_begin_list(request, str("options"), 0, nullptr);
  tlc_request_add_text(request, str(""), str("-g"), 0, nullptr);
  tlc_request_add_text(request, str(""), str(opt), 0, nullptr);
  tlc_request_end(request, nullptr);
  return Own<tlc_request>(request);
}

Json explain(tlc_cache* cache, const tlc_key* key) {
  tlc_blob* json = nullptr;
  Err error;
  assert_true_msg(tlc_cache_explain(cache, key, &json, &error) == TLC_OK, "%s", error.message);
  return Json::parse(text_of(json));
}

void test_among_ten_thousand(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path("store"));
  const auto bundle = make_bundle("code");
  for (int i = 0; i < kEntries; ++i) {
    const auto key = make_key(request_of(i, "-O2").get());
    assert_int_equal(tlc_cache_put(cache.get(), key.get(), bundle.get(), nullptr, nullptr), TLC_OK);
  }

  const Json hit = explain(cache.get(), make_key(request_of(77, "-O2").get()).get());
  assert_true(hit["outcome"] == "hit");
  assert_int_equal(hit["nearest"]["differences"].size(), 1);
  assert_true(hit["nearest"]["differences"][0]["path"] == "tile");
  assert_true(hit["nearest"]["digest"] != hit["digest"]);

  const Json option = explain(cache.get(), make_key(request_of(77, "-O3").get()).get());
  assert_true(option["outcome"] == "never");
  assert_int_equal(option["scanned"].get<int>(), kEntries);
  assert_int_equal(option["nearest"]["differences"].size(), 1);
  assert_true(option["nearest"]["differences"][0]["path"] == "options[1]");
  assert_true(option["nearest"]["differences"][0]["was"] == "\"-O2\"");
  assert_true(option["nearest"]["differences"][0]["now"] == "\"-O3\"");

  const Json two = explain(cache.get(), make_key(request_of(88, "-O3", "f32").get()).get());
  assert_int_equal(two["nearest"]["differences"].size(), 2);
  assert_true(two["nearest"]["differences"][0]["path"] == "dtype");

  const auto evicted_key = make_key(request_of(5, "-O2").get());
  assert_int_equal(tlc_cache_remove(cache.get(), evicted_key.get(), nullptr), TLC_OK);
  assert_true(explain(cache.get(), evicted_key.get())["outcome"] == "removed");

  const std::string header = scratch.path("kernel.h");
  std::ofstream(header) << "1";
  const auto guarded = make_key(request_of(-1, "-O2").get());
  const auto with_header = make_bundle("code");
  tlc_bundle_add_guard(with_header.get(), str(header), nullptr, nullptr);
  assert_int_equal(tlc_cache_put(cache.get(), guarded.get(), with_header.get(), nullptr, nullptr), TLC_OK);
  assert_true(explain(cache.get(), guarded.get())["outcome"] == "hit");
  std::ofstream(header) << "2";
  const Json changed = explain(cache.get(), guarded.get());
  assert_true(changed["outcome"] == "guard");
  assert_int_equal(changed["guards"].size(), 1);
  assert_true(changed["guards"][0]["path"] == header);
  assert_true(changed["guards"][0]["kind"] == "changed");
  ::unlink(header.c_str());
  assert_true(explain(cache.get(), guarded.get())["guards"][0]["kind"] == "missing");

  const auto stranger = make_key(make_request("x", "1", "elsewhere").get());
  const Json never = explain(cache.get(), stranger.get());
  assert_true(never["outcome"] == "never");
  assert_true(never["nearest"].is_null());
}

void test_evicted(void**) {
  const Scratch scratch;
  const auto cache = open_cache(scratch.path(), 0, 8 << 20);
  const std::string content(200000, 'x');
  for (int i = 0; i < 100; ++i) {
    const auto key = make_key(request_of(i, "-O2").get());
    assert_int_equal(tlc_cache_put(cache.get(), key.get(), make_bundle(content).get(), nullptr, nullptr), TLC_OK);
  }
  const Json first = explain(cache.get(), make_key(request_of(0, "-O2").get()).get());
  assert_true(first["outcome"] == "evicted");
  assert_false(first["when_s"].is_null());
  assert_true(explain(cache.get(), make_key(request_of(99, "-O2").get()).get())["outcome"] == "hit");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_among_ten_thousand),
      cmocka_unit_test(test_evicted),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
