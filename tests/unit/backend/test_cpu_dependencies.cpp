// SPDX-License-Identifier: MIT
#include "tlc_test.hpp"

#include <string>

#include "support/dependencies.hpp"

using namespace tlcb;
using Texts = std::vector<std::string>;

namespace {

void make_rules_are_read(void**) {
  assert_true((parse_dependencies("k.so: /a/b.h \\\n /c/d.h\\\n\t/e\n") == Texts{"/a/b.h", "/c/d.h", "/e"}));
  assert_true((parse_dependencies("k.so: /a\\ b/c\\#d$$e.h /x\n") == Texts{"/a b/c#d$e.h", "/x"}));
  assert_true((parse_dependencies("k:\\\r\n /a\r\n") == Texts{"/a"}));
  assert_true((parse_dependencies("k: /w\\in /y\\\\\\ z /q\\\\ r\n") == Texts{"/w\\in", "/y\\ z", "/q\\", "r"}));
  assert_true((parse_dependencies("k: /a /a\n/a:\n/b:\n") == Texts{"/a"}));
  assert_true((parse_dependencies("a b: /x\nc: /y /x\n") == Texts{"/x", "/y"}));
  for (const char* odd : {"", "\n", ":", "k:", "\\", "k: \\", "k: $", "$$", "\\\\", "\\\\ "}) {
    assert_true_msg(parse_dependencies(odd).size() <= 1, "%s", odd);
  }
}

void search_lists_are_read(void**) {
  const SearchList list = parse_search_list(
      "junk\nignoring nonexistent directory \"/no/where\"\n#include \"...\" search starts here:\n /q\n"
      "#include <...> search starts here:\n /a b\n /c\nEnd of search list.\n /not\n");
  assert_true((list.missing == Texts{"/no/where"}));
  assert_true((list.quoted == Texts{"/q"}));
  assert_true((list.folders == Texts{"/a b", "/c"}));
  assert_true(parse_search_list("").folders.empty());
}

void questions_about_headers_are_found(void**) {
  assert_true((has_include_names("#if __has_include(<a/b.h>) && __has_include ( \"c.h\" )\n"
                                 "#if __has_include_next(<d>)\n#if defined __has_include\n#if __has_include(X)\n"
                                 "#if __has_include(<broken\n>)\n__has_include") == Texts{"a/b.h", "c.h", "d"}));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(make_rules_are_read), cmocka_unit_test(search_lists_are_read),
                              cmocka_unit_test(questions_about_headers_are_found)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
