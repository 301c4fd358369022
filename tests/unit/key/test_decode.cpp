// SPDX-License-Identifier: MIT
// Key::decode takes what a Builder wrote and nothing else; describe() makes it readable.
#include "tlc_test.hpp"

#include <cmath>
#include <string>

#include "key/describe.hpp"
#include "key_support.hpp"

using namespace tlc;
using namespace tlc::key;
using namespace tlc::key::test;

namespace {

Key sample() {
  return make([](Builder& b) {
    b.add_text("source", std::string(70, 'x'));
    b.add_int("n", -300);
    b.add_f64("scale", 0.5);
    b.add_bytes("raw", Bytes{0, 255});
    b.add_bool("debug", true);
    b.add_null("nothing");
    b.begin_list("options");
    b.add_text({}, "-O\"3\"\x1b");
    b.begin_map({});
    b.add_f64("nan", NAN);
    b.end();
    b.end();
    b.add_text("token", "s", kDigestOnly);
  });
}

void test_round_trip(void**) {
  const auto key = sample();
  const auto decoded = Key::decode(key.encoding());
  assert_true(decoded.ok());
  assert_same_key(key, *decoded);
  assert_true(decoded->name_space() == "test/1");
  assert_true(decoded->library_text(kFieldEngine) == "cc");
  assert_true(decoded->library_text("tlc.absent").empty());
}

// One field that a builder would not write so, after a namespace that sorts before or after it.
Bytes with(const std::string& name, const Bytes& value) {
  const Bytes ns = [] {
    const std::string field = std::string("\x0Dtlc.namespace\x04\x01\x00n", 18);
    return Bytes(field.begin(), field.end());
  }();
  Bytes field{static_cast<std::uint8_t>(name.size())};
  field.insert(field.end(), name.begin(), name.end());
  field.insert(field.end(), value.begin(), value.end());
  Bytes out = name < "tlc.namespace" ? field : ns;
  const Bytes& second = name < "tlc.namespace" ? ns : field;
  out.insert(out.end(), second.begin(), second.end());
  return out;
}

void refused(const Bytes& encoding, const char* words) {
  const auto key = Key::decode(encoding);
  assert_true_msg(!key.ok(), "accepted, expected: %s", words);
  assert_int_equal(key.error().status, TLC_E_CORRUPT);
  assert_contains(key.error().message, words);
}

Bytes hashed(std::uint8_t type, std::uint8_t length) {
  Bytes out{static_cast<std::uint8_t>(0x80 | type), length, 0, 0, 0, 0, 0, 0, 0};
  out.resize(out.size() + 32);
  return out;
}

void test_other_spellings_are_refused(void**) {
  assert_true(Key::decode(with("f", {0})).ok());
  refused({}, "no namespace");
  refused({1, 'a', 0}, "no namespace");
  refused(with("f", {9}), "cannot be read");
  refused(with("f", {0x40}), "cannot be read");
  refused(with("f", {1, 2}), "neither 0 nor 1");
  refused(with("f", {2, 1, 0}), "not minimal");
  refused(with("f", {2, 2, 0, 1}), "not minimal");
  refused(with("f", {2, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1}), "cannot be read");
  refused(with("f", {2, 0x20}), "cannot be read");
  refused(with("f", {2, 0x18, 0x80, 0, 0, 0, 0, 0, 0, 0}), "below -2^63");
  assert_true(Key::decode(with("f", {2, 0x18, 0x7F, 0, 0, 0, 0, 0, 0, 0})).ok());
  refused(with("f", {3, 1, 0, 0, 0, 0, 0, 0xF8, 0x7F}), "NaN");
  refused(with("f", {3, 0, 0, 0, 0, 0, 0, 0xF8, 0xFF}), "NaN");
  assert_true(Key::decode(with("f", {3, 0, 0, 0, 0, 0, 0, 0xF0, 0xFF})).ok());
  refused(with("f", {4, 1, 0, 0xFF}), "UTF-8");
  Bytes long_text{4, 65, 0};
  long_text.resize(68, 'a');
  refused(with("f", long_text), "not hashed");
  refused(with("\xFF", {0}), "UTF-8");
  refused(with("zz", {0, 1, 'a', 0}), "not sorted");
  refused(with("zz", {0, 2, 'z', 'z', 0}), "not sorted");
  refused(with("f", {8, 6, 0, 0, 0, 1, 'b', 0, 1, 'a', 0}), "not sorted");
  refused(with("f", {7, 9, 0, 0, 0, 0}), "cannot be read");
  refused(with("zz", {0, 0}), "cannot be read");
  refused(with("zz", {0, 5}), "cannot be read");
}

void test_hashed_values_have_possible_lengths(void**) {
  for (const auto& [type, good, bad] :
       {std::tuple{0, 0, 1}, {1, 1, 0}, {2, 9, 10}, {2, 1, 0}, {3, 8, 4}, {6, 32, 31}}) {
    const auto t = static_cast<std::uint8_t>(type);
    assert_true(Key::decode(with("f", hashed(t, static_cast<std::uint8_t>(good)))).ok());
    refused(with("f", hashed(t, static_cast<std::uint8_t>(bad))), "length");
  }
}

void test_library_fields_are_checked(void**) {
  refused(with("tlc.target", {0}), "no text");
  refused(with("tlc.target", {4, 3, 0, 'b', ',', 'a'}), "canonical");
  refused(with("tlc.target", {4, 4, 0, 'a', 'u', 't', 'o'}), "resolved");
  assert_true(Key::decode(with("tlc.target", {4, 3, 0, 'a', ',', 'b'})).ok());
  refused(with("tlc.engine", {4, 1, 0, ' '}), "no engine");
  refused(with("tlc.guards", {0}), "no digest");
  refused({13, 't', 'l', 'c', '.', 'n', 'a', 'm', 'e', 's', 'p', 'a', 'c', 'e', 4, 1, 0, ' '}, "no namespace");
}

void test_depth_is_bounded(void**) {
  const auto nested = [](std::size_t depth) {
    Bytes value;
    for (std::size_t i = 0; i < depth; ++i) {
      Bytes outer{7, static_cast<std::uint8_t>(value.size() & 255U), static_cast<std::uint8_t>(value.size() >> 8U), 0,
                  0};
      outer.insert(outer.end(), value.begin(), value.end());
      value = outer;
    }
    return with("f", value);
  };
  assert_true(Key::decode(nested(16)).ok());
  refused(nested(17), "too deep");
  refused(nested(700), "too deep");
}

void test_truncation_and_flips_never_pass_for_the_same_key(void**) {
  const auto key = sample();
  const Bytes good(key.encoding().begin(), key.encoding().end());
  for (std::size_t n = 0; n < good.size(); ++n) {
    const auto cut = Key::decode(std::span(good).first(n));
    assert_true(!cut.ok() || !(*cut == key));
  }
  for (std::size_t i = 0; i < good.size() * 8; ++i) {
    Bytes bad = good;
    bad[i / 8] ^= static_cast<std::uint8_t>(1U << (i % 8));
    const auto flipped = Key::decode(bad);
    if (!flipped.ok()) continue;
    assert_false(*flipped == key);
    assert_true(describe(bad).ok());
  }
}

const Field& named(const std::vector<Field>& fields, const std::string& name) {
  for (const auto& field : fields) {
    if (field.name == name) return field;
  }
  fail_msg("no field %s", name.c_str());
  abort();
}

void test_describe(void**) {
  const auto fields = describe(sample().encoding());
  assert_true(fields.ok());
  const auto text = [&](const char* name) { return named(*fields, name).text; };
  assert_string_equal(text("n").c_str(), "-300");
  assert_string_equal(text("scale").c_str(), "0.5");
  assert_string_equal(text("raw").c_str(), "0x00ff");
  assert_string_equal(text("debug").c_str(), "true");
  assert_string_equal(text("nothing").c_str(), "null");
  assert_string_equal(text("options").c_str(), "list of 2");
  assert_string_equal(text("options[0]").c_str(), "\"-O\\\"3\\\"\\x1b\"");
  assert_string_equal(text("options[1].nan").c_str(), "nan");
  assert_string_equal(text("tlc.target").c_str(), "\"cpu:x86_64\"");
  assert_contains(text("source"), "text of 70 bytes, hash ");
  assert_true(named(*fields, "source").hashed);
  assert_u64(named(*fields, "source").length, 70);
  assert_contains(text("token"), "text of 1 byte, hash ");
  assert_false(describe(Bytes{1}).ok());
}

void test_describe_numbers(void**) {
  const auto shown = [](const std::function<void(Builder&)>& fill) {
    return named(*describe(make(fill).encoding()), "f").text;
  };
  assert_string_equal(shown([](Builder& b) { b.add_int("f", INT64_MIN); }).c_str(), "-9223372036854775808");
  assert_string_equal(shown([](Builder& b) { b.add_uint("f", UINT64_MAX); }).c_str(), "18446744073709551615");
  assert_string_equal(shown([](Builder& b) { b.add_f64("f", -0.0); }).c_str(), "-0.0");
  assert_string_equal(shown([](Builder& b) { b.add_f64("f", 3.0); }).c_str(), "3.0");
  assert_string_equal(shown([](Builder& b) { b.add_f64("f", -INFINITY); }).c_str(), "-inf");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_other_spellings_are_refused),
      cmocka_unit_test(test_hashed_values_have_possible_lengths),
      cmocka_unit_test(test_library_fields_are_checked),
      cmocka_unit_test(test_depth_is_bounded),
      cmocka_unit_test(test_truncation_and_flips_never_pass_for_the_same_key),
      cmocka_unit_test(test_describe),
      cmocka_unit_test(test_describe_numbers),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
