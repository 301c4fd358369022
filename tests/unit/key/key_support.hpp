// SPDX-License-Identifier: MIT
// What the tests of keys share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "key/encode.hpp"
#include "key/key.hpp"
#include "tlc_test.hpp"
#include "trust/digest.hpp"

namespace tlc::key::test {

using Bytes = std::vector<std::uint8_t>;

inline void add_base(Builder& builder) {
  builder.set_namespace("test/1");
  builder.set_target("cpu:x86_64");
  builder.set_engine("cc");
  builder.set_no_toolchain();
}

/// The key of the base request and what `fill` adds; it has to succeed.
inline Key make(const std::function<void(Builder&)>& fill) {
  Builder builder;
  add_base(builder);
  fill(builder);
  auto key = builder.finish();
  assert_true_msg(key.ok(), "%s", key.ok() ? "" : key.error().message.c_str());
  return *std::move(key);
}

/// The error of the base request and what `fill` adds; it has to fail.
inline Error refuse(const std::function<void(Builder&)>& fill) {
  Builder builder;
  add_base(builder);
  fill(builder);
  auto key = builder.finish();
  assert_false(key.ok());
  return key.error();
}

inline std::string hex(const Key& key) {
  return trust::to_hex(key.digest());
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

#define assert_contains(text, part) \
  assert_true_msg(tlc::key::test::contains(text, part), "\"%s\" lacks \"%s\"", (text).c_str(), part)
#define assert_same_key(a, b) assert_string_equal(hex(a).c_str(), hex(b).c_str())
#define assert_other_key(a, b) assert_string_not_equal(hex(a).c_str(), hex(b).c_str())

}  // namespace tlc::key::test
