// SPDX-License-Identifier: MIT
#include "tlc_test.hpp"

#include <string>

#include "key/diff.hpp"
#include "key_support.hpp"

using namespace tlc;
using namespace tlc::key;
using namespace tlc::key::test;

namespace {

Key options(const std::vector<std::string>& texts, std::int64_t n = 4) {
  return make([&](Builder& b) {
    b.begin_list("options");
    for (const auto& text : texts) b.add_text({}, text);
    b.end();
    b.begin_map("define");
    b.add_int("N", n);
    b.end();
  });
}

// One line a difference: "+path now", "-path was", "~path was -> now".
std::vector<std::string> lines(const Key& was, const Key& now) {
  std::vector<std::string> out;
  const auto found = diff(was.encoding(), now.encoding());
  assert_true(found.ok());
  for (const auto& d : *found) {
    if (d.kind == Change::added) out.push_back("+" + d.path + " " + d.now);
    if (d.kind == Change::removed) out.push_back("-" + d.path + " " + d.was);
    if (d.kind == Change::changed) out.push_back("~" + d.path + " " + d.was + " -> " + d.now);
  }
  return out;
}

void expect(const Key& was, const Key& now, const std::vector<std::string>& expected) {
  const auto got = lines(was, now);
  std::string all;
  for (const auto& line : got) all += "\n  " + line;
  assert_true_msg(got == expected, "got%s", all.c_str());
  assert_u64(distance(was.encoding(), now.encoding()), expected.size());
  assert_u64(distance(now.encoding(), was.encoding()), expected.size());
}

void test_nothing_differs(void**) {
  expect(options({"-a"}), options({"-a"}), {});
}

void test_elements_of_lists_are_named(void**) {
  const auto was = options({"-a", "-b", "-c"});
  expect(was, options({"-a", "-x", "-b", "-c"}), {"+options[1] \"-x\""});
  expect(was, options({"-x", "-a", "-b", "-c"}), {"+options[0] \"-x\""});
  expect(was, options({"-a", "-b", "-c", "-x"}), {"+options[3] \"-x\""});
  expect(was, options({"-a", "-c"}), {"-options[1] \"-b\""});
  expect(was, options({"-a", "-B", "-c"}), {"~options[1] \"-b\" -> \"-B\""});
  expect(was, options({"-a", "-b", "-c"}, 8), {"~define.N 4 -> 8"});
}

void test_alignment_inside_a_stretch(void**) {
  const auto was = options({"-p", "-a", "-b", "-c", "-q"});
  expect(was, options({"-P", "-a", "-x", "-b", "-c", "-Q"}),
         {"~options[0] \"-p\" -> \"-P\"", "+options[2] \"-x\"", "~options[5] \"-q\" -> \"-Q\""});
}

void test_fields_and_types(void**) {
  const std::string a(100, 'a');
  const std::string b(200, 'b');
  const auto was = make([&](Builder& x) {
    x.add_text("source", a);
    x.add_int("gone", 1);
    x.add_int("type", 1);
  });
  const auto now = make([&](Builder& x) {
    x.add_text("source", b);
    x.add_bool("new", true);
    x.add_text("type", "1");
  });
  const auto got = lines(was, now);
  assert_int_equal(got.size(), 4);
  assert_string_equal(got[0].c_str(), "-gone 1");
  assert_string_equal(got[1].c_str(), "+new true");
  assert_contains(got[2], "~source text of 100 bytes, hash ");
  assert_contains(got[2], " -> text of 200 bytes, hash ");
  assert_string_equal(got[3].c_str(), "~type 1 -> \"1\"");
}

void test_library_fields_are_named(void**) {
  const auto with = [](const char* target) {
    Builder b;
    b.set_namespace("n");
    b.set_target(target);
    return *b.finish();
  };
  expect(with("cuda:sm_90"), with("cuda:sm_90a"), {"~tlc.target \"cuda:sm_90\" -> \"cuda:sm_90a\""});
}

void test_long_lists(void**) {
  const auto list = [](int count, int changed) {
    return make([&](Builder& b) {
      b.begin_list("l");
      for (int i = 0; i < count; ++i) b.add_int({}, i >= changed ? i + 5000 : i);
      b.end();
    });
  };
  assert_int_equal(lines(list(600, 600), list(600, 100)).size(), 500);
  assert_int_equal(lines(list(256, 256), list(256, 0)).size(), 256);
  assert_int_equal(lines(list(600, 600), list(300, 300)).size(), 300);
}

void test_damaged_encodings(void**) {
  const auto key = options({"-a"});
  const Bytes bad{5, 1};
  assert_false(diff(key.encoding(), bad).ok());
  assert_false(diff(bad, key.encoding()).ok());
  assert_true(distance(key.encoding(), bad) == SIZE_MAX);
  assert_true(distance(bad, key.encoding()) == SIZE_MAX);
  Bytes cut(key.encoding().begin(), key.encoding().end());
  while (!cut.empty()) {
    cut.pop_back();
    assert_true(distance(cut, key.encoding()) != 0);
    (void)diff(cut, key.encoding());
  }
}

void test_nearest_of_ten_thousand(void**) {
  const std::vector<std::string> common = {"-O3", "-g", "-march=x", "-DA", "-DB", "-DC", "-I.", "-fPIC"};
  std::vector<Key> stored;
  for (int i = 0; i < 10000; ++i) {
    auto texts = common;
    if (i != 7777) texts.push_back("-extra" + std::to_string(i));
    texts.push_back("-n" + std::to_string(i));
    stored.push_back(options(texts, i));
  }
  auto texts = common;
  texts.push_back("-n7777");
  const auto wanted = options(texts, 1);
  std::size_t best = 0;
  std::size_t least = SIZE_MAX;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::size_t d = distance(wanted.encoding(), stored[i].encoding());
    if (d < least) {
      least = d;
      best = i;
    }
  }
  assert_u64(best, 7777);
  assert_u64(least, 1);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_differs),
      cmocka_unit_test(test_elements_of_lists_are_named),
      cmocka_unit_test(test_alignment_inside_a_stretch),
      cmocka_unit_test(test_fields_and_types),
      cmocka_unit_test(test_library_fields_are_named),
      cmocka_unit_test(test_long_lists),
      cmocka_unit_test(test_damaged_encodings),
      cmocka_unit_test(test_nearest_of_ten_thousand),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
