// SPDX-License-Identifier: MIT
#include "tlc_test.hpp"

#include "backend/json.hpp"

using namespace tlc::backend;

namespace {

void text_is_quoted(void**) {
  assert_string_equal(json_quoted("a\"b\\c\nd\x01").c_str(), "\"a\\\"b\\\\c\\nd\\u0001\"");
  assert_string_equal(json_quoted("\xC3\xA9").c_str(), "\"\xC3\xA9\"");
  assert_string_equal(json_quoted("x\xFFy").c_str(), "\"x\xEF\xBF\xBDy\"");
  assert_string_equal(json_quoted("").c_str(), "\"\"");
}

void objects_are_told_from_the_rest(void**) {
  for (const char* good : {"{}", " {\"a\": [1, -2.5e3, true, null, \"\\u00e9\\n\", {}]} ", "{\"\":{\"x\":[]}}"}) {
    assert_true_msg(is_json_object(good), "%s", good);
  }
  for (const char* bad : {"", "[]", "1", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{} {}", "{\"a\":01}",
                          "{\"a\":\"\n\"}", "{\"a\":\"\\x\"}", "{\"a\":\"b}", "{\"a\":tru}", "{\"a\":\"\\",
                          "{\"a\":[1 2]}", "{\"a\":\"\xFF\"}", "{\"a\":-}"}) {
    assert_true_msg(!is_json_object(bad), "%s", bad);
  }
  const std::string deep = "{\"a\":" + std::string(10000, '[') + std::string(10000, ']') + "}";
  assert_false(is_json_object(deep));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(text_is_quoted), cmocka_unit_test(objects_are_told_from_the_rest)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
