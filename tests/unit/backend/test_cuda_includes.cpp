// SPDX-License-Identifier: MIT
// Which headers a text may include, and which files and empty places that makes guards of.
#include "tlc_test.hpp"

#include <string>

#include "cuda_support.hpp"
#include "scratch.hpp"
#include "support/failure.hpp"
#include "support/include_scan.hpp"
#include "support/includes.hpp"

using namespace tlc::test;
using namespace tlcb;

using Headers = std::vector<std::pair<std::string, std::string>>;

namespace {

/// The names found, each in its quotes.
std::string found(std::string_view text) {
  std::string out;
  for (const HeaderName& name : scan_includes(text).headers) {
    out += (out.empty() ? "" : " ") + (name.quoted ? "\"" + name.name + "\"" : "<" + name.name + ">");
  }
  return out;
}

void includes_of_every_spelling_are_found(void**) {
  assert_string_equal(found("#include <a.h>\n").c_str(), "<a.h>");
  assert_string_equal(found("  #  include\t\"a b.h\"  // why\n").c_str(), "\"a b.h\"");
  assert_string_equal(found("%:include <a.h>").c_str(), "<a.h>");
  assert_string_equal(found("#include<a//b.h>").c_str(), "<a//b.h>");
  assert_string_equal(found("#include /* here */ <a.h>").c_str(), "<a.h>");
  assert_string_equal(found("/* x */ # /* y */ include \"a.h\"").c_str(), "\"a.h\"");
  assert_string_equal(found("#inc\\\nlude <a.h>").c_str(), "<a.h>");
  assert_string_equal(found("#include \\  \n <a.h>\r\n#include <b.h>\r\n").c_str(), "<a.h> <b.h>");
  assert_string_equal(found("#if 0\n#include <a.h>\n#endif").c_str(), "<a.h>");
  assert_string_equal(found("#include_next <a.h>\n#import \"b.h\"\n#embed \"c.bin\"").c_str(),
                      "<a.h> \"b.h\" \"c.bin\"");
  // What looks like the start of a comment or of text hides nothing.
  assert_string_equal(found("const char* a = \"/*\";\n#include <a.h>\n").c_str(), "<a.h>");
  assert_string_equal(found("int a = 1'000'000; /* ' */\n#include <a.h>\n").c_str(), "<a.h>");
  assert_string_equal(found("auto t = R\"x(\n/* \" )\" )x\";\n # /**/ include <a.h>\n").c_str(), "<a.h>");
  assert_string_equal(found("char c = '\"';\n#/**/include <a.h>\n").c_str(), "<a.h>");
  assert_string_equal(found("// don't\n#/**/include <a.h>\n").c_str(), "<a.h>");
  // More than is read is safe.
  assert_string_equal(found("/*\n#include <a.h>\n*/").c_str(), "<a.h>");
  assert_string_equal(found("auto t = R\"(\n#include <a.h>\n)\";").c_str(), "<a.h>");
  assert_string_equal(found("int include; x = \"#include <no.h>\"; // #include <no.h>").c_str(), "");
}

void questions_are_found(void**) {
  assert_string_equal(found("#if __has_include(<a.h>) && __has_include(\"b.h\")").c_str(), "<a.h> \"b.h\"");
  assert_string_equal(found("#elif defined(X) && HAS(<a/b.h>)").c_str(), "<a/b.h>");
  assert_string_equal(found("#if A < 3 && B > (4)").c_str(), "");
  assert_string_equal(found("#define HAS_A __has_include(<a.h>)").c_str(), "<a.h>");
  assert_true(scan_includes("#if __has_include(NAME)").computed.count("NAME") == 1);
  assert_true(scan_includes("#define HAS(X) __has_include(X)").computed.empty());
}

void odd_texts_do_no_harm(void**) {
  for (const char* text : {"",
                           "#",
                           "%",
                           "%:",
                           "#include",
                           "#include <",
                           "#include \"",
                           "/*",
                           "//",
                           "\\",
                           "\\\n",
                           "'",
                           "\"",
                           "R\"",
                           "R\"(",
                           "R\"x(",
                           "#define",
                           "#define (",
                           "#if",
                           "#if <",
                           "__has_include",
                           "#if __has_include(",
                           "#include <>",
                           "#include \"\"",
                           "#\\\n\\\n",
                           "#include <a\n>"}) {
    assert_string_equal(found(text).c_str(), "");
  }
}

GuardSet guards(const std::string& source, const std::vector<std::string>& folders, const Headers& headers = {},
                const std::vector<std::string>& defines = {}, bool beside = true) {
  IncludeSources sources;
  sources.source = source;
  sources.headers = &headers;
  sources.folders = folders;
  sources.defines = defines;
  sources.beside = beside;
  return find_includes(sources);
}

void files_and_their_shadows_are_guarded(void**) {
  const Scratch scratch;
  write_file(scratch.path("one/other.h"), "");
  write_file(scratch.path("two/sub/a.h"), "#include \"near.h\"\n#include <far.h>\n");
  write_file(scratch.path("two/sub/near.h"), "#pragma once\n#include \"near.h\"\n");
  write_file(scratch.path("three/far.h"), "");
  write_file(scratch.path("three/near.h"), "");
  const std::vector<std::string> folders = {scratch.path("one"), scratch.path("two"), scratch.path("three"),
                                            scratch.path("none")};
  const GuardSet all = guards("#include <sub/a.h>\n#include <never.h>", folders);
  assert_true((all.present() == std::set<std::string>{scratch.path("three/far.h"), scratch.path("two/sub/a.h"),
                                                      scratch.path("two/sub/near.h")}));
  for (const char* place :
       {"one/sub", "one/far.h", "two/far.h", "one/never.h", "two/never.h", "three/never.h", "none"}) {
    assert_true_msg(all.absent().count(scratch.path(place)) == 1, "%s", place);
  }
  assert_u64(all.absent().size(), 7);
  // With -no-source-include nothing is looked for beside a file.
  const GuardSet apart = guards("#include <sub/a.h>", folders, {}, {}, false);
  assert_true(apart.present().count(scratch.path("three/near.h")) == 1);
  assert_true(apart.present().count(scratch.path("two/sub/near.h")) == 0);
  // By its absolute path.
  const GuardSet absolute =
      guards("#include \"" + scratch.path("three/far.h") + "\"\n#include <" + scratch.path("x.h") + ">", {});
  assert_true(absolute.present().count(scratch.path("three/far.h")) == 1);
  assert_true(absolute.absent().count(scratch.path("x.h")) == 1);
}

void headers_from_memory_come_first(void**) {
  const Scratch scratch;
  write_file(scratch.path("a.h"), "");
  write_file(scratch.path("b.h"), "");
  const GuardSet set = guards("#include \"a.h\"", {scratch.path()}, {{"a.h", "#include \"b.h\"\n"}}, {}, false);
  assert_true((set.present() == std::set<std::string>{scratch.path("b.h")}));
  assert_true(set.absent().empty());
}

void next_ones_are_all_guarded(void**) {
  const Scratch scratch;
  write_file(scratch.path("1/a.h"), "#include_next <a.h>\n");
  write_file(scratch.path("2/a.h"), "");
  write_file(scratch.path("3/a.h"), "");
  const GuardSet set = guards("#include <a.h>", {scratch.path("1"), scratch.path("2"), scratch.path("3")});
  assert_u64(set.present().size(), 3);
}

void macros_that_name_headers_are_followed(void**) {
  const Scratch scratch;
  write_file(scratch.path("a.h"), "#define LATE <b.h>\n");
  write_file(scratch.path("b.h"), "");
  write_file(scratch.path("c.h"), "");
  const std::vector<std::string> here = {scratch.path()};
  const auto has = [&](const GuardSet& set, const char* name) { return set.present().count(scratch.path(name)) == 1; };
  assert_true(has(guards("#define A \"a.h\"\n#define B A\n#include B", here), "a.h"));
  assert_true(has(guards("#include NAME", here, {}, {"NAME=\"c.h\""}), "c.h"));
  assert_true(has(guards("#include <a.h>\n#include LATE", here), "b.h"));
  // Both, since conditions are not read.
  const GuardSet both = guards("#ifdef X\n#define H <a.h>\n#else\n#define H <c.h>\n#endif\n#include H", here);
  assert_true(has(both, "a.h") && has(both, "c.h"));
  // A macro of no definition includes nothing.
  assert_true(guards("#ifdef USER\n#include USER\n#endif", here).present().empty());
  for (const char* hidden : {"#define S(x) #x\n#include S(a.h)", "#define H(x) <x>\n#include H(a.h)",
                             "#define D sub\n#define H <D/a.h>\n#include H", "#define H P(a)\n#include H",
                             "#define H \"a.h\" x\n#include H", "#define H P(a)\n#if __has_include(H)\n#endif"}) {
    try {
      (void)guards(hidden, here);
      fail_msg("%s", hidden);
    } catch (const Failure& failure) {
      assert_int_equal(failure.status(), TLC_E_UNCACHEABLE);
    }
  }
}

void pre_included_headers_are_never_of_the_working_directory(void**) {
  const Scratch scratch;
  write_file(scratch.path("a.h"), "#include \"b.h\"\n");
  write_file(scratch.path("b.h"), "");
  const Headers headers = {{"m.h", ""}};
  IncludeSources sources;
  sources.headers = &headers;
  sources.folders = {scratch.path()};
  sources.pre_includes = {scratch.path("a.h"), "m.h"};
  assert_true((find_includes(sources).present() == std::set<std::string>{scratch.path("a.h"), scratch.path("b.h")}));
  sources.pre_includes = {"a.h"};
  try {
    (void)find_includes(sources);
    fail_msg("a relative name was taken");
  } catch (const Failure& failure) {
    assert_int_equal(failure.status(), TLC_E_INVALID);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(includes_of_every_spelling_are_found),
      cmocka_unit_test(questions_are_found),
      cmocka_unit_test(odd_texts_do_no_harm),
      cmocka_unit_test(files_and_their_shadows_are_guarded),
      cmocka_unit_test(headers_from_memory_come_first),
      cmocka_unit_test(next_ones_are_all_guarded),
      cmocka_unit_test(macros_that_name_headers_are_followed),
      cmocka_unit_test(pre_included_headers_are_never_of_the_working_directory),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
