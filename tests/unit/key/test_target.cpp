// SPDX-License-Identifier: MIT
#include "tlc_test.hpp"

#include <string>

#include "key/target.hpp"
#include "key_support.hpp"

using namespace tlc;
using namespace tlc::key;
using namespace tlc::key::test;

namespace {

std::string canonical(const std::string& text) {
  auto target = Target::parse(text);
  assert_true_msg(target.ok(), "%s: %s", text.c_str(), target.ok() ? "" : target.error().message.c_str());
  return target->canonical();
}

std::string complaint(const std::string& text) {
  auto target = Target::parse(text);
  assert_true_msg(!target.ok(), "\"%s\" was accepted", text.c_str());
  assert_int_equal(target.error().status, TLC_E_INVALID);
  return target.error().message;
}

void test_parts_of_a_target(void**) {
  auto target = Target::parse("hip:gfx90a:xnack+:sramecc-");
  assert_true(target.ok());
  assert_string_equal(target->kind().c_str(), "hip");
  assert_string_equal(target->arch().c_str(), "gfx90a");
  assert_int_equal(target->features().size(), 2);
  assert_string_equal(target->features()[0].c_str(), "sramecc-");
  assert_string_equal(target->canonical().c_str(), "hip:gfx90a:sramecc-:xnack+");
  assert_true(target->resolved());
  auto bare = Target::parse("cpu");
  assert_true(bare.ok());
  assert_true(bare->arch().empty());
}

void test_spelling_does_not_matter(void**) {
  assert_string_equal(canonical("cuda:sm_90:b:a").c_str(), canonical("cuda:sm_90:a:b").c_str());
  assert_string_equal(canonical("cuda:sm_90,cuda:sm_100").c_str(), "cuda:sm_100,cuda:sm_90");
  assert_string_equal(canonical("opencl:%50o%63l%2f").c_str(), "opencl:%50ocl%2F");
  for (const char* text : {"cpu", "hip:gfx90a:sramecc-:xnack+", "a:%25%3A%2C", "a:b,a:c:d"}) {
    assert_string_equal(canonical(canonical(text)).c_str(), text);
  }
}

void test_errors_say_what_and_where(void**) {
  assert_contains(complaint(""), "empty");
  assert_contains(complaint("cuda:"), "empty arch at byte 5");
  assert_contains(complaint("cuda::x"), "empty arch at byte 5");
  assert_contains(complaint("cuda:sm_90:"), "empty feature at byte 11");
  assert_contains(complaint("cuda:sm_90,"), "empty kind at byte 11");
  assert_contains(complaint("opencl:Pocl"), "at byte 7");
  assert_contains(complaint("opencl:Pocl"), "write it as %50");
  assert_contains(complaint("a b"), "write it as %20");
  assert_contains(complaint("cpu:%4"), "two hexadecimal digits at byte 4");
  assert_contains(complaint("cpu:%"), "two hexadecimal digits at byte 4");
  assert_contains(complaint("cpu:%g0"), "two hexadecimal digits at byte 4");
  assert_contains(complaint("cpu:%00"), "zero byte");
  assert_contains(complaint("hip:gfx90a:xnack+:xnack+"), "feature xnack+ twice");
  assert_contains(complaint("hip:gfx90a:%41:x:%41"), "feature %41 twice");
  assert_contains(complaint("cpu,cpu"), "lists \"cpu\" twice");
  assert_contains(complaint("a:b:c:d,a:b:d:c"), "lists \"a:b:c:d\" twice");
  assert_contains(complaint(std::string(5000, 'a')), "over 4096 bytes");
}

void test_many_words_are_bounded(void**) {
  std::string features = "k:a";
  for (int i = 0; i < 64; ++i) features += ":f" + std::to_string(i);
  assert_true(Target::parse(features).ok());
  assert_contains(complaint(features + ":g"), "over 64 features");
  std::string parts = "k:a0";
  for (int i = 1; i < 64; ++i) parts += ",k:a" + std::to_string(i);
  assert_true(Target::parse(parts).ok());
  assert_contains(complaint(parts + ",k:b"), "over 64 parts");
}

void test_auto_and_native_are_unresolved_anywhere(void**) {
  for (const char* text :
       {"auto", "cuda:auto", "cpu:native", "cpu:x86_64:native", "a:b,a:auto", "a:%61uto", "cpu:x86_64:a:auto:b"}) {
    auto target = Target::parse(text);
    assert_true(target.ok());
    assert_false(target->resolved());
    Builder builder;
    builder.set_namespace("n");
    builder.set_target(text);
    auto key = builder.finish();
    assert_false(key.ok());
    assert_int_equal(key.error().status, TLC_E_UNCACHEABLE);
  }
  for (const char* text : {"cpu:native2", "cuda:auto_", "cpu:x86_64:-native", "cpu:%41uto"}) {
    assert_true(Target::parse(text)->resolved());
  }
}

void test_arch_families_stay_apart(void**) {  // hazard 19
  const std::vector<std::string> texts = {
      "cuda:sm_90",        "cuda:sm_90a",           "cuda:sm_100",     "cuda:sm_100a", "cuda:sm_100f",
      "hip:gfx90a:xnack+", "hip:gfx90a:xnack-",     "hip:gfx90a",      "hip:gfx906",   "hip:gfx908",
      "cpu:x86_64",        "cpu:aarch64",           "cuda:compute_90", "cuda",         "cpu",
      "cuda:sm_90:a",      "cuda:sm_90,cuda:sm_90a"};
  std::vector<std::string> digests;
  for (const auto& text : texts) {
    Builder builder;
    builder.set_namespace("n");
    builder.set_target(text);
    const auto key = builder.finish();
    assert_true(key.ok());
    assert_string_equal(std::string(key->library_text(kFieldTarget)).c_str(), text.c_str());
    for (const auto& other : digests) assert_string_not_equal(other.c_str(), hex(*key).c_str());
    digests.push_back(hex(*key));
  }
}

void test_the_short_way_agrees_with_the_parser(void**) {
  for (const char* text : {"cpu", "cuda:sm_90a", "hip:gfx90a:xnack+", "a.b:c+d:e-f_1"}) {
    assert_true(Target::is_plain(text));
    assert_string_equal(canonical(text).c_str(), text);
    assert_true(Target::parse(text)->resolved());
  }
  for (const char* text :
       {"", ":", "a:", ":a", "a::b", "a:b:", "a,b", "a:b:c:d", "A", "a:%41", "auto", "a:native", "a:b:auto", "a b"}) {
    assert_false(Target::is_plain(text));
  }
  assert_false(Target::is_plain(std::string(5000, 'a')));
}

void test_fat_targets(void**) {
  assert_true(Target::parse("cuda:sm_90,cuda:sm_100")->one_kind());
  assert_false(Target::parse("cuda:sm_90,cpu:x86_64")->one_kind());
  assert_int_equal(Target::parse("c,a,b")->parts().size(), 3);
  assert_string_equal(Target::parse("c,a,b")->kind().c_str(), "a");
}

void test_percent_encoding_round_trips(void**) {
  std::string raw;
  for (int c = 1; c < 256; ++c) raw.push_back(static_cast<char>(c));
  const std::string word = target_encode(raw);
  assert_true(target_decode(word) == raw);
  assert_string_equal(Target::parse("k:" + word)->arch().c_str(), word.c_str());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_parts_of_a_target),
      cmocka_unit_test(test_spelling_does_not_matter),
      cmocka_unit_test(test_errors_say_what_and_where),
      cmocka_unit_test(test_many_words_are_bounded),
      cmocka_unit_test(test_auto_and_native_are_unresolved_anywhere),
      cmocka_unit_test(test_arch_families_stay_apart),
      cmocka_unit_test(test_the_short_way_agrees_with_the_parser),
      cmocka_unit_test(test_fat_targets),
      cmocka_unit_test(test_percent_encoding_round_trips),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
