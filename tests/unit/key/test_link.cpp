// SPDX-License-Identifier: MIT
#include "tlc_test.hpp"

#include <string>

#include "key/describe.hpp"
#include "key/link.hpp"
#include "key_support.hpp"

using namespace tlc;
using namespace tlc::key;
using namespace tlc::key::test;

namespace {

trust::Digest digest(std::uint8_t fill) {
  trust::Digest d;
  d.bytes.fill(fill);
  return d;
}

Guard present(std::string path, std::uint8_t fill) {
  return {GuardKind::present, std::move(path), digest(fill)};
}

Guard absent(std::string path) {
  return {GuardKind::absent, std::move(path), {}};
}

Link sample() {
  Link link;
  link.add({{present("/usr/include/a.h", 1), absent("inc/a.h")}, digest(9)});
  link.add({{present("\xFF\x01 odd", 2)}, digest(8)});
  link.add({{}, digest(7)});
  return link;
}

void test_round_trip(void**) {
  const auto bytes = sample().encode();
  assert_true(bytes.ok());
  const auto link = Link::decode(*bytes);
  assert_true(link.ok());
  assert_int_equal(link->variants.size(), 3);
  for (std::size_t i = 0; i < 3; ++i) {
    assert_true(link->variants[i].guards == sample().variants[i].guards);
    assert_true(link->variants[i].artifact.bytes == sample().variants[i].artifact.bytes);
  }
  assert_true(*link->encode() == *bytes);
}

void test_newest_first_and_at_most_eight(void**) {
  Link link;
  for (std::uint8_t i = 0; i < 10; ++i) link.add({{present("h", i)}, digest(i)});
  assert_int_equal(link.variants.size(), 8);
  assert_int_equal(link.variants[0].artifact.bytes[0], 9);
  assert_int_equal(link.variants[7].artifact.bytes[0], 2);
  link.add({{present("h", 5)}, digest(50)});
  assert_int_equal(link.variants.size(), 8);
  assert_int_equal(link.variants[0].artifact.bytes[0], 50);
  assert_int_equal(link.variants[7].artifact.bytes[0], 2);
  assert_true(link.encode().ok());
}

void test_truncation_and_flips(void**) {
  const auto good = *sample().encode();
  for (std::size_t n = 0; n < good.size(); ++n) {
    const auto cut = Link::decode(std::span(good).first(n));
    assert_false(cut.ok());
    assert_int_equal(cut.error().status, TLC_E_CORRUPT);
  }
  for (std::size_t i = 0; i < good.size() * 8; ++i) {
    Bytes bad = good;
    bad[i / 8] ^= static_cast<std::uint8_t>(1U << (i % 8));
    const auto flipped = Link::decode(bad);
    if (flipped.ok()) assert_true(*flipped->encode() == bad);
  }
  Bytes trailing = good;
  trailing.push_back(0);
  assert_false(Link::decode(trailing).ok());
}

void test_counts_are_checked_before_memory(void**) {
  const Bytes huge{1, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0};
  assert_contains(Link::decode(huge).error().message, "more guards than fit");
  assert_contains(Link::decode(Bytes{1, 0}).error().message, "1 to 8");
  assert_contains(Link::decode(Bytes{1, 9}).error().message, "1 to 8");
  assert_contains(Link::decode(Bytes{2, 1}).error().message, "version");
  assert_contains(Link::decode(Bytes{1, 1, 1, 0, 0, 0, 2, 1, 0, 'a'}).error().message, "kind");
}

void test_limits(void**) {
  Link link;
  assert_false(link.encode().ok());
  link.add({{absent(std::string(4096, 'p'))}, digest(1)});
  assert_true(Link::decode(*link.encode()).ok());
  for (const std::string& path : {std::string(4097, 'p'), std::string(), std::string("a\0b", 3)}) {
    Link bad;
    bad.add({{absent(path)}, digest(1)});
    assert_false(bad.encode().ok());
  }
  Link many;
  many.add({std::vector<Guard>(65536, absent("x")), digest(1)});
  assert_true(Link::decode(*many.encode()).ok());
  many.variants[0].guards.push_back(absent("x"));
  assert_false(many.encode().ok());
}

void test_content_key(void**) {
  const auto request = make([](Builder& b) { b.add_text("source", "#include <a.h>"); });
  const auto of = [&](const std::vector<Guard>& guards) { return *content_key(request, guards); };
  const auto key = of({present("/x/a.h", 1), absent("/x/b.h")});
  assert_true(key.name_space() == request.name_space());
  assert_true(key.library_text(kFieldTarget) == request.library_text(kFieldTarget));
  assert_other_key(key, request);
  // A header edited, removed, added, shadowed or in another order is another artifact.
  assert_other_key(key, of({present("/x/a.h", 2), absent("/x/b.h")}));
  assert_other_key(key, of({absent("/x/a.h"), absent("/x/b.h")}));
  assert_other_key(key, of({present("/x/a.h", 1), present("/x/b.h", 3)}));
  assert_other_key(key, of({absent("/x/b.h"), present("/x/a.h", 1)}));
  assert_other_key(key, of({present("/x/a.h", 1)}));
  assert_other_key(of({}), request);
  // The same content below another folder is the same artifact.
  assert_same_key(key, of({present("/elsewhere/y/a.h", 1), absent("b.h")}));
  // Another request is another artifact.
  const auto other = make([](Builder& b) { b.add_text("source", "#include <A.h>"); });
  assert_other_key(key, *content_key(other, {present("/x/a.h", 1), absent("/x/b.h")}));
  assert_false(content_key(key, {}).ok());
}

void test_content_key_sorts_its_field_in(void**) {
  for (const char* name : {"a", "tlc", "tlcz", "zz"}) {
    const auto request = make([&](Builder& b) { b.add_null(name); });
    const auto key = content_key(request, {present("h", 1)});
    assert_true_msg(key.ok(), "%s", name);
    assert_int_equal(describe(key->encoding())->size(), describe(request.encoding())->size() + 1);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_newest_first_and_at_most_eight),
      cmocka_unit_test(test_truncation_and_flips),
      cmocka_unit_test(test_counts_are_checked_before_memory),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_content_key),
      cmocka_unit_test(test_content_key_sorts_its_field_in),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
