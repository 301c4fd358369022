// SPDX-License-Identifier: MIT
// Known answers: BLAKE2b from Python's hashlib over the bytes (i * 7 + 3) mod 251; XXH3 from the
// published test vectors.
#include "tlc_test.hpp"

#include <string.h>

#include <set>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "trust/digest.hpp"
#include "trust/hash.hpp"
#include "trust/xxh3.hpp"

using namespace tlc::trust;

namespace {

struct Known {
  std::size_t len;
  const char* hex;
};

constexpr Known kPlain[] = {
    {0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
    {1, "e88bd757ad5b9bedf372d8d3f0cf6c962a469db61a265f6418e1ffed86da29ec"},
    {3, "9facd640130c81e7f318a8d5c660bc1b0f5d03861ffbd4cc1358e0e904593c28"},
    {127, "7eb3d4fe699cedc52282a1c091627822fe7790ef178af8269c0261d367931246"},
    {128, "6afdad1409d770bce274b62a69123c97c86ffb40ce9708f3ff9ae4cbba8ba080"},
    {129, "69e98b10112e4b7ae396bfbddaee75cc5fe6a9dc1fffc2b11e7c0fc48de04ae5"},
    {1000, "655483217562ae552fae4c276411ebd441ae1615754212965b82aee8aa76e9d8"},
    {100000, "6b704932a175d8cd18d1efd0b707d636e0044d0414fd154e5ea7c4b2abaeff37"},
};

/// Under the key 00 01 02 ... 1f.
constexpr Known kKeyed[] = {
    {0, "4e51e7a913fc80137da52880fecca175bf81e117d5c68126dc2774033517ea0d"},
    {1, "5500a8ed696e45255a024afc49a57aa45ea21a254c30dcdea61da13552c6c0b1"},
    {128, "a044fc80b0d2fce1464b5d5e2bf9789dc8f44001bad8d2ca33a42280ab6c6abd"},
    {1000, "3f4e3f0bec35ab96292510ac15c0785e015916779ab335c8dd37a962dd3f3a2c"},
};

std::vector<std::uint8_t> pattern(std::size_t len) {
  std::vector<std::uint8_t> bytes(len);
  for (std::size_t i = 0; i < len; ++i) bytes[i] = static_cast<std::uint8_t>((i * 7 + 3) % 251);
  return bytes;
}

void blake2b_gives_the_known_answers(void**) {
  for (const Known& known : kPlain) {
    const auto data = pattern(known.len);
    assert_string_equal(to_hex(blake2b(data.data(), data.size())).c_str(), known.hex);
  }
}

void blake2b_in_pieces_is_the_same(void**) {
  Blake2b hash;  // one object for all: finish starts it over
  for (const Known& known : kPlain) {
    const auto data = pattern(known.len);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{127}, std::size_t{4096}}) {
      hash.update(nullptr, 0);
      for (std::size_t at = 0; at < data.size(); at += piece) {
        hash.update(std::span(data).subspan(at, std::min(piece, data.size() - at)));
      }
      assert_string_equal(to_hex(hash.finish()).c_str(), known.hex);
    }
  }
}

void copies_of_a_hash_go_on_apart(void**) {
  const auto data = pattern(1000);
  Blake2b first;
  first.update(data.data(), 500);
  Blake2b second = first;
  first.update(data.data() + 500, 500);
  second.update(data.data() + 500, 499);
  assert_string_equal(to_hex(first.finish()).c_str(), kPlain[6].hex);
  assert_true(second.finish() == blake2b(data.data(), 999));
}

void the_mac_gives_the_known_answers(void**) {
  MacKey key;
  for (std::size_t i = 0; i < key.bytes.size(); ++i) key.bytes[i] = static_cast<std::uint8_t>(i);
  for (const Known& known : kKeyed) {
    const auto data = pattern(known.len);
    assert_string_equal(to_hex(mac(key, data.data(), data.size())).c_str(), known.hex);
  }
  key.bytes[31] ^= 1;
  assert_string_not_equal(to_hex(mac(key, nullptr, 0)).c_str(), kKeyed[0].hex);
}

void threads_may_hash_first_at_the_same_time(void**) {
  std::vector<Digest> digests(8);
  std::vector<std::thread> threads;
  threads.reserve(digests.size());
  for (Digest& digest : digests) threads.emplace_back([&] { digest = blake2b("abc", 3); });
  for (auto& thread : threads) thread.join();
  for (const Digest& digest : digests) {
    assert_string_equal(to_hex(digest).c_str(), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  }
}

void xxh3_gives_the_known_answers(void**) {
  assert_true(xxh3_64("", 0) == 0x2d06800538d394c2U);
  assert_true(xxh3_64("abc", 3) == 0x78af5f94892f3950U);
  assert_true(xxh3_64("abc", 3, 1) != xxh3_64("abc", 3));
  assert_true((xxh3_128("", 0) == Hash128{0x6001c324468d497fU, 0x99aa06d3014798d8U}));
  assert_true((xxh3_128("abc", 3) == Hash128{0x78af5f94892f3950U, 0x06b05ab6733a6185U}));
}

// The code for newer processors against the one for all.
void xxh3_is_the_same_on_every_processor(void**) {
  std::vector<std::uint8_t> data(300'000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i * 31 + (i >> 7U));
  const auto same = [&](std::size_t len) {
    std::uint64_t fast[2];
    std::uint64_t plain[2];
    xxh3_code().hash128(data.data() + 1, len, fast);
    kXxh3Baseline.hash128(data.data() + 1, len, plain);
    return fast[0] == plain[0] && fast[1] == plain[1] &&
           xxh3_code().hash64(data.data(), len, 5) == kXxh3Baseline.hash64(data.data(), len, 5);
  };
  for (std::size_t len = 0; len < 1200; ++len) assert_true_msg(same(len), "%zu bytes", len);
  for (const std::size_t len : {4096U, 65536U, 299'999U}) assert_true_msg(same(len), "%zu bytes", len);
}

void xxh3_in_pieces_is_the_same(void**) {
  Xxh128 hash;
  for (const std::size_t len : {std::size_t{0}, std::size_t{5}, std::size_t{240}, std::size_t{9999}}) {
    const auto data = pattern(len);
    for (std::size_t at = 0; at < len; at += 77) {
      hash.update(data.data() + at, std::min<std::size_t>(77, len - at));
    }
    assert_true(hash.finish() == xxh3_128(data.data(), len));
  }
}

void hex_goes_both_ways_and_refuses_the_rest(void**) {
  const Digest digest = blake2b("x", 1);
  std::string hex = to_hex(digest);
  assert_true(digest_from_hex(hex) == digest);
  for (char& c : hex) c = static_cast<char>(toupper(c));
  assert_true(digest_from_hex(hex) == digest);
  assert_false(digest_from_hex(hex.substr(1)).has_value());
  assert_false(digest_from_hex(hex + "0").has_value());
  assert_false(digest_from_hex("").has_value());
  for (const char bad : {'g', 'G', ' ', '\0', '/', ':', '@', '`', '\xc3'}) {
    hex[63] = bad;
    assert_false(digest_from_hex(hex).has_value());
  }
}

void digests_order_by_bytes_and_fill_sets(void**) {
  Digest low;
  Digest high;
  high.bytes[0] = 0x80;
  low.bytes[31] = 0xff;
  assert_true(low < high);
  std::unordered_set<Digest, DigestHash> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(blake2b(&i, sizeof i));
  assert_u64(seen.size(), 1000);
  const int known = 500;
  assert_true(seen.contains(blake2b(&known, sizeof known)));
}

void comparing_and_wiping(void**) {
  auto a = pattern(100);
  auto b = a;
  assert_true(equal_constant_time(a.data(), b.data(), a.size()));
  b[99] ^= 1;
  assert_false(equal_constant_time(a.data(), b.data(), a.size()));
  assert_true(equal_constant_time(a.data(), b.data(), 99));
  wipe(a.data(), 99);
  for (std::size_t i = 0; i < 99; ++i) assert_int_equal(a[i], 0);
  assert_int_equal(a[99], pattern(100)[99]);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(threads_may_hash_first_at_the_same_time),
      cmocka_unit_test(blake2b_gives_the_known_answers),
      cmocka_unit_test(blake2b_in_pieces_is_the_same),
      cmocka_unit_test(copies_of_a_hash_go_on_apart),
      cmocka_unit_test(the_mac_gives_the_known_answers),
      cmocka_unit_test(xxh3_gives_the_known_answers),
      cmocka_unit_test(xxh3_is_the_same_on_every_processor),
      cmocka_unit_test(xxh3_in_pieces_is_the_same),
      cmocka_unit_test(hex_goes_both_ways_and_refuses_the_rest),
      cmocka_unit_test(digests_order_by_bytes_and_fill_sets),
      cmocka_unit_test(comparing_and_wiping),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
