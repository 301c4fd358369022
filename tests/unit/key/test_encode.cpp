// SPDX-License-Identifier: MIT
// What makes two keys equal or different (hazard 16), and what the builder refuses (hazard 20).
#include "tlc_test.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "key_support.hpp"
#include "trust/hash.hpp"

using namespace tlc;
using namespace tlc::key;
using namespace tlc::key::test;

namespace {

void full(Builder& b, const std::string& source, std::int64_t n, bool debug) {
  b.add_text("source", source);
  b.add_int("n", n);
  b.add_bool("debug", debug);
}

void test_each_field_alone_changes_the_digest(void**) {
  std::set<std::string> seen;
  const auto fresh = [&](const Key& key) { assert_true(seen.insert(hex(key)).second); };
  fresh(make([](Builder& b) { full(b, "k", 1, false); }));
  fresh(make([](Builder& b) { full(b, "k ", 1, false); }));
  fresh(make([](Builder& b) { full(b, "k", 2, false); }));
  fresh(make([](Builder& b) { full(b, "k", 1, true); }));
  fresh(make([](Builder& b) {
    full(b, "k", 1, false);
    b.set_host("x86_64-linux-gnu");
  }));
  const auto with = [](const char* ns, const char* target, const char* engine, Bytes toolchain) {
    Builder b;
    b.set_namespace(ns);
    b.set_target(target);
    b.set_engine(engine);
    if (!toolchain.empty()) b.set_toolchain(toolchain);
    full(b, "k", 1, false);
    return *b.finish();
  };
  fresh(with("test/1", "cpu:x86_64", "cc", {}));
  fresh(with("test/1", "cpu:x86_64", "cc", {1}));
  fresh(with("test/1", "cpu:x86_64", "cc", {2}));
  fresh(with("test/2", "cpu:x86_64", "cc", {1}));
  fresh(with("test/1", "cpu:aarch64", "cc", {1}));
  fresh(with("test/1", "cpu:x86_64", "cxx", {1}));
}

void test_types_and_emptiness_differ(void**) {
  std::set<std::string> seen;
  const auto fresh = [&](const std::function<void(Builder&)>& fill) {
    assert_true(seen.insert(hex(make(fill))).second);
  };
  fresh([](Builder&) {});
  fresh([](Builder& b) { b.add_null("f"); });
  fresh([](Builder& b) { b.add_text("f", ""); });
  fresh([](Builder& b) { b.add_bytes("f", {}); });
  fresh([](Builder& b) { b.begin_list("f"), b.end(); });
  fresh([](Builder& b) { b.begin_map("f"), b.end(); });
  fresh([](Builder& b) { b.add_bool("f", false); });
  fresh([](Builder& b) { b.add_int("f", 0); });
  fresh([](Builder& b) { b.add_f64("f", 0.0); });
  fresh([](Builder& b) { b.add_f64("f", -0.0); });
  fresh([](Builder& b) { b.add_text("f", "0"); });
  fresh([](Builder& b) { b.add_digest("f", trust::Digest{}); });
  fresh([](Builder& b) { b.add_bytes("f", trust::Digest{}.bytes); });
  fresh([](Builder& b) { b.add_int("f", 0, kDigestOnly); });
  fresh([](Builder& b) { b.begin_list("f"), b.add_null({}), b.end(); });
}

void test_numbers(void**) {
  const auto one = make([](Builder& b) { b.add_int("f", 1); });
  assert_same_key(one, make([](Builder& b) { b.add_uint("f", 1); }));
  assert_other_key(one, make([](Builder& b) { b.add_f64("f", 1.0); }));
  assert_other_key(make([](Builder& b) { b.add_int("f", -1); }), make([](Builder& b) { b.add_uint("f", UINT64_MAX); }));
  assert_other_key(make([](Builder& b) { b.add_int("f", INT64_MIN); }),
                   make([](Builder& b) { b.add_uint("f", 1ULL << 63U); }));
  const auto nan = make([](Builder& b) { b.add_f64("f", std::nan("")); });
  assert_same_key(nan, make([](Builder& b) { b.add_f64("f", -std::nan("7")); }));
  assert_same_key(nan, make([](Builder& b) { b.add_f64("f", std::numeric_limits<float>::quiet_NaN()); }));
}

void test_order_of_fields_and_entries_does_not_matter(void**) {
  const std::vector<std::string> names = {"zeta", "a", "m", "aa", "tlc", "tlcz", "\xC3\xA9"};
  const auto in_order = make([&](Builder& b) {
    for (std::size_t i = 0; i < names.size(); ++i) b.add_uint(names[i], i);
    b.begin_map("map");
    for (std::size_t i = 0; i < names.size(); ++i) b.add_uint(names[i], i);
    b.end();
  });
  for (std::size_t shift = 1; shift < names.size(); ++shift) {
    assert_same_key(in_order, make([&](Builder& b) {
                      b.begin_map("map");
                      for (std::size_t k = names.size(); k-- > 0;) {
                        const std::size_t i = (k + shift) % names.size();
                        b.add_uint(names[i], i);
                      }
                      b.end();
                      for (std::size_t k = 0; k < names.size(); ++k) {
                        const std::size_t i = (k + shift) % names.size();
                        b.add_uint(names[i], i);
                      }
                    }));
  }
}

void test_order_where_names_begin_alike(void**) {
  // More fields than are sorted in place, equal in their first 8 bytes, some of them with zero
  // bytes.
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("prefix-prefix-" + std::to_string(i));
  names.emplace_back("a");
  names.emplace_back("a\0", 2);
  names.emplace_back("a\0\0", 3);
  const auto forward = make([&](Builder& b) {
    for (const auto& name : names) b.add_text(name, name);
  });
  assert_same_key(forward, make([&](Builder& b) {
                    for (std::size_t i = names.size(); i-- > 0;) b.add_text(names[i], names[i]);
                  }));
  assert_true(Key::decode(forward.encoding()).ok());
}

Key options(const std::vector<std::string>& texts) {
  return make([&](Builder& b) {
    b.begin_list("options");
    for (const auto& text : texts) b.add_text({}, text);
    b.end();
  });
}

void test_concatenation_does_not_collide(void**) {
  assert_other_key(options({"-a", "b"}), options({"-ab"}));
  assert_other_key(options({"-a", "b"}), options({"-a b"}));
  assert_other_key(options({"-a", "b"}), options({"b", "-a"}));
  assert_other_key(options({"", "-a"}), options({"-a", ""}));
  assert_other_key(options({}), options({""}));
  assert_other_key(make([](Builder& b) { b.add_text("a", "bc"), b.add_text("d", ""); }),
                   make([](Builder& b) { b.add_text("ab", "c"), b.add_text("d", ""); }));
}

void test_a_value_cannot_pose_as_its_own_hash(void**) {
  const std::string text(100, 'x');
  const trust::Digest hash = trust::blake2b(text.data(), text.size());
  const auto hashed = make([&](Builder& b) { b.add_text("f", text); });
  assert_other_key(hashed, make([&](Builder& b) { b.add_digest("f", hash); }));
  assert_other_key(hashed, make([&](Builder& b) { b.add_bytes("f", hash.bytes); }));
}

void test_long_values_keep_the_encoding_small(void**) {
  const std::string source(300000, 's');
  const auto key = make([&](Builder& b) { b.add_text("source", source); });
  assert_true(key.encoding().size() < 256);
  const auto list = make([&](Builder& b) {
    b.begin_list("many");
    for (int i = 0; i < 10000; ++i) b.add_int({}, i);
    b.end();
  });
  assert_true(list.encoding().size() < 256);
}

void test_digest_only_hides_the_value(void**) {
  const auto key = make([](Builder& b) { b.add_text("token", "hunter2", kDigestOnly); });
  const std::string bytes(key.encoding().begin(), key.encoding().end());
  assert_false(contains(bytes, "hunter2"));
  assert_true(contains(bytes, "token"));
}

void test_refusals_name_the_field(void**) {
  assert_contains(refuse([](Builder& b) { b.add_int("dup", 1), b.add_int("dup", 1); }).message,
                  "\"dup\" is given twice");
  assert_contains(refuse([](Builder& b) {
                    b.begin_map("define");
                    b.add_int("N", 1), b.add_int("A", 1), b.add_int("N", 2);
                    b.end();
                  }).message,
                  "\"define.N\" is given twice");
  assert_contains(refuse([](Builder& b) { b.add_text("name", "\xFF"); }).message, "\"name\"");
  assert_contains(refuse([](Builder& b) { b.add_int("tlc.mine", 1); }).message, "\"tlc.mine\"");
  assert_contains(refuse([](Builder& b) { b.add_int("", 1); }).message, "0 bytes");
  assert_contains(refuse([](Builder& b) { b.begin_list("l"), b.add_int("x", 1); }).message, "has a name");
  assert_contains(refuse([](Builder& b) { b.begin_list("open"); }).message, "\"open\"");
  assert_contains(refuse([](Builder& b) { b.end(); }).message, "end without");
  assert_contains(refuse([](Builder& b) { b.set_engine("cc"); }).message, "given twice");
  assert_contains(refuse([](Builder& b) { b.begin_map("m"), b.set_host("h"); }).message, "tlc.host");
  assert_contains(refuse([](Builder& b) { b.begin_map("m"), b.set_toolchain(Bytes{1}, Bytes{2}); }).message,
                  "tlc.toolchain");
}

void test_the_first_error_sticks(void**) {
  Builder b;
  add_base(b);
  assert_true(b.add_int("a", 1));
  assert_null(b.error());
  assert_false(b.add_text("bad", "\xC0\x80"));
  assert_false(b.add_int("b", 1));
  assert_false(b.add_int("b", 1));
  assert_contains(b.error()->message, "\"bad\"");
  assert_contains(b.finish().error().message, "\"bad\"");
}

void test_a_refused_request_leaves_others_alone(void**) {  // hazard 20
  const auto before = options({"-O2"});
  const auto error = refuse([](Builder& b) { b.add_text("f", "\xFF"); });
  assert_int_equal(error.status, TLC_E_INVALID);
  Builder unresolved;
  unresolved.set_namespace("n");
  unresolved.set_target("cuda:native");
  assert_int_equal(unresolved.finish().error().status, TLC_E_UNCACHEABLE);
  assert_same_key(before, options({"-O2"}));
}

void test_size_is_bounded(void**) {
  const auto many = [](std::size_t count) {
    return [count](Builder& b) {
      b.begin_list("big");
      for (std::size_t i = 0; i < count; ++i) b.add_text({}, std::string(61, 'a'));
      b.end();
    };
  };
  make(many(16384));  // 1 MiB to the byte, and hashed
  const auto error = refuse(many(16385));
  assert_int_equal(error.status, TLC_E_INVALID);
  assert_contains(error.message, "\"big\"");
  assert_contains(error.message, "1 MiB");
  assert_contains(refuse([](Builder& b) {
                    for (int i = 0; i < 20000; ++i) {
                      b.add_text("field" + std::to_string(i), std::string(60, 'b'));
                    }
                  }).message,
                  "the key is over 1 MiB");
}

void test_the_library_may_use_its_names(void**) {
  Builder b(Origin::library);
  b.set_namespace("tlc.memo");
  assert_true(b.add_int("tlc.x", 1));
  auto key = b.finish();
  assert_true(key.ok());
  assert_true(key->name_space() == "tlc.memo");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_each_field_alone_changes_the_digest),
      cmocka_unit_test(test_types_and_emptiness_differ),
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_order_of_fields_and_entries_does_not_matter),
      cmocka_unit_test(test_order_where_names_begin_alike),
      cmocka_unit_test(test_concatenation_does_not_collide),
      cmocka_unit_test(test_a_value_cannot_pose_as_its_own_hash),
      cmocka_unit_test(test_long_values_keep_the_encoding_small),
      cmocka_unit_test(test_digest_only_hides_the_value),
      cmocka_unit_test(test_refusals_name_the_field),
      cmocka_unit_test(test_the_first_error_sticks),
      cmocka_unit_test(test_a_refused_request_leaves_others_alone),
      cmocka_unit_test(test_size_is_bounded),
      cmocka_unit_test(test_the_library_may_use_its_names),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
