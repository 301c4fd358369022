// SPDX-License-Identifier: MIT
// A request keeps its values, makes the key a builder would, and says why there is none (hazard
// 20).
#include "tlc_test.hpp"

#include <string>

#include "key/request.hpp"
#include "key_support.hpp"

using namespace tlc;
using namespace tlc::key;
using namespace tlc::key::test;

namespace {

constexpr const char* kTarget = "cpu:x86_64";

Request base_request() {
  Request r;
  assert_true(r.set_namespace("test/1").ok());
  r.set_flag_no_toolchain();
  return r;
}

void test_key_is_the_builders(void**) {
  Request r = base_request();
  const std::string source(5000, 's');
  assert_true(r.add_text("source", source).ok());
  assert_true(r.begin_list("options").ok());
  assert_true(r.add_text({}, "-O2").ok());
  assert_true(r.begin_map({}).ok());
  assert_true(r.add_int("n", -1).ok());
  assert_true(r.add_uint("big", UINT64_MAX).ok());
  assert_true(r.end().ok());
  assert_true(r.end().ok());
  assert_true(r.add_bool("debug", true).ok());
  assert_true(r.add_f64("scale", 0.25, kDigestOnly).ok());
  assert_true(r.add_null("nothing").ok());
  assert_true(r.add_bytes("raw", Bytes{1, 2}).ok());
  assert_true(r.add_digest("d", trust::Digest{}).ok());
  const auto key = r.make_key(kTarget, "cc");
  assert_true(key.ok());
  assert_same_key(*key, make([&](Builder& b) {
    b.add_text("source", source);
    b.begin_list("options");
    b.add_text({}, "-O2");
    b.begin_map({});
    b.add_uint("big", UINT64_MAX);
    b.add_int("n", -1);
    b.end();
    b.end();
    b.add_bool("debug", true);
    b.add_f64("scale", 0.25, kDigestOnly);
    b.add_null("nothing");
    b.add_bytes("raw", Bytes{1, 2});
    b.add_digest("d", trust::Digest{});
  }));
  assert_same_key(*key, *r.make_key(kTarget, "cc"));
}

void test_values_come_back(void**) {
  Request r = base_request();
  const std::string borrowed(1000, 'b');
  assert_true(r.add_text("source", borrowed, kBorrowed).ok());
  assert_true(r.add_int("n", -5).ok());
  assert_true(r.begin_map("define").ok());
  assert_true(r.add_text("N", "4").ok());
  assert_true(r.end().ok());
  assert_ptr_equal(r.find("source")->str().data(), borrowed.data());
  assert_true(r.find("n")->negative);
  assert_true(static_cast<std::int64_t>(r.find("n")->integer) == -5);
  assert_int_equal(r.find("define")->items.size(), 1);
  assert_true(r.find("define")->items[0].first == "N");
  assert_true(r.find("define")->items[0].second.str() == "4");
  assert_null(r.find("absent"));
  const Request copy = r;  // NOLINT(performance-unnecessary-copy-initialization): the copy is tested
  assert_same_key(*copy.make_key(kTarget, "cc"), *r.make_key(kTarget, "cc"));
}

void test_label_and_members_stay_outside(void**) {
  Request a = base_request();
  Request b = base_request();
  assert_true(b.set_label("my kernel").ok());
  assert_true(b.require_member("kernel.cubin").ok());
  assert_true(b.require_member("kernel.cubin").ok());
  assert_true(b.set_target("cuda:native").ok());
  assert_same_key(*a.make_key(kTarget, "cc"), *b.make_key(kTarget, "cc"));
  assert_string_equal(b.label().c_str(), "my kernel");
  assert_int_equal(b.required_members().size(), 1);
  assert_false(b.require_member("").ok());
}

void test_toolchain_rules(void**) {
  const Bytes identity{1, 2, 3};
  const Bytes other{4};
  Request none;
  assert_true(none.set_namespace("test/1").ok());
  const auto missing = none.make_key(kTarget, "cc");
  assert_false(missing.ok());
  assert_int_equal(missing.error().status, TLC_E_UNCACHEABLE);
  assert_contains(missing.error().message, "toolchain");
  const auto identified = none.make_key(kTarget, "cc", identity);
  assert_true(identified.ok());
  assert_other_key(*identified, *none.make_key(kTarget, "cc", other));
  assert_int_equal(none.make_key(kTarget, "cc", Bytes{}).error().status, TLC_E_UNCACHEABLE);

  Request declared = none;
  assert_true(declared.set_toolchain(identity).ok());
  assert_same_key(*declared.make_key(kTarget, "cc"), *identified);
  const auto both = declared.make_key(kTarget, "cc", other);
  assert_true(both.ok());
  assert_other_key(*both, *identified);
  assert_other_key(*both, *none.make_key(kTarget, "cc", other));

  declared.set_flag_no_toolchain();
  assert_int_equal(declared.make_key(kTarget, "cc").error().status, TLC_E_INVALID);
}

void test_unresolved_is_uncacheable(void**) {
  const Request r = base_request();
  for (const char* text : {"cuda:auto", "cpu:native", "cpu:x86_64:native"}) {
    assert_int_equal(r.make_key(text, "cc").error().status, TLC_E_UNCACHEABLE);
  }
  assert_true(r.make_key(kTarget, "cc").ok());
  assert_other_key(*r.make_key(kTarget, "cc"), *r.make_key(kTarget, "cc", {}, "aarch64-linux"));
}

void test_errors_come_at_once_and_stick(void**) {
  Request r = base_request();
  const auto bad = r.add_text("source", "\xFF");
  assert_false(bad.ok());
  assert_contains(bad.error().message, "\"source\"");
  assert_contains(r.add_int("n", 1).error().message, "\"source\"");
  assert_contains(r.set_engine("cc").error().message, "\"source\"");
  assert_contains(r.make_key(kTarget, "cc").error().message, "\"source\"");

  Request open = base_request();
  assert_true(open.begin_list("l").ok());
  assert_contains(open.make_key(kTarget, "cc").error().message, "still open");
  Request names = base_request();
  assert_contains(names.add_null("tlc.x").error().message, "reserved");
  Request deep = base_request();
  for (int i = 0; i < 16; ++i) assert_true(deep.begin_list(i == 0 ? "l" : "").ok());
  assert_contains(deep.begin_list({}).error().message, "deeper");
  Request twice = base_request();
  assert_true(twice.add_null("f").ok());
  assert_true(twice.add_null("f").ok());
  assert_contains(twice.make_key(kTarget, "cc").error().message, "\"f\" is given twice");
  Request unnamed;
  unnamed.set_flag_no_toolchain();
  assert_contains(unnamed.make_key(kTarget, "cc").error().message, "namespace");
  Request end_only = base_request();
  assert_false(end_only.end().ok());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_key_is_the_builders),
      cmocka_unit_test(test_values_come_back),
      cmocka_unit_test(test_label_and_members_stay_outside),
      cmocka_unit_test(test_toolchain_rules),
      cmocka_unit_test(test_unresolved_is_uncacheable),
      cmocka_unit_test(test_errors_come_at_once_and_stick),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
