// SPDX-License-Identifier: MIT
// Targets of kind metal, metallibs, texts and options: what is whole, and what is refused.
#include "tlc_test.hpp"

#include "metal/metallib.hpp"
#include "metal/options.hpp"
#include "metal/runtime.hpp"
#include "metal/source.hpp"
#include "metal/target.hpp"
#include "metal_support.hpp"
#include "support/failure.hpp"

using namespace tlc::test;
using namespace tlcb::metal;

namespace {

std::string problem_of(const std::string& bytes, Depth depth = Depth::content) {
  return check_metallib(bytes, depth).problem;
}

#define assert_problem(bytes, part) \
  assert_true_msg(contains(problem_of(bytes), part), "problem: '%s'", problem_of(bytes).c_str())

/// What a target is refused with; empty where it is read.
std::string complaint(const std::string& target) {
  try {
    (void)parse_target(target);
    return {};
  } catch (const tlcb::Failure& failure) {
    assert_int_equal(failure.status(), TLC_E_INVALID);
    return failure.what();
  }
}

void targets_name_a_family_a_system_and_a_language(void**) {
  const auto told = [](const char* text) { return parse_target(text).text(); };
  assert_string_equal(told("metal").c_str(), "metal");
  assert_string_equal(told("metal:apple7").c_str(), "metal:apple7");
  assert_string_equal(told("metal:msl3.1:macos14:mac2").c_str(), "metal:mac2:macos14.0:msl3.1");
  assert_string_equal(told("metal:metal3:ios17.2").c_str(), "metal:metal3:ios17.2");
  assert_true(contains(complaint("metal:apple"), "'apple'"));
  assert_true(contains(complaint("metal:sm_90"), "'sm_90'"));
  assert_true(contains(complaint("metal:apple7:apple8"), "more than one GPU family"));
  assert_true(contains(complaint("metal:macos14.0:ios17.0"), "more than one system"));
  assert_true(contains(complaint("metal:msl3.1:msl3.1"), "more than one version of the language"));
  assert_true(contains(complaint("metal:apple7,metal:apple8"), "lists several"));
  for (const char* text : {"cuda:sm_90", "metal:", "metal:apple07", "metal:apple7.1", "metal:metal2", "metal:macos",
                           "metal:macos14.", "metal:macos14.00", "metal:msl", "metal:apple100", "metal:Apple7"}) {
    assert_false(complaint(text).empty());
  }
}

void families_have_metals_numbers(void**) {
  assert_int_equal(family_number("apple1"), 1001);
  assert_int_equal(family_number("apple9"), 1009);
  assert_int_equal(family_number("mac2"), 2002);
  assert_int_equal(family_number("common3"), 3003);
  assert_int_equal(family_number("metal3"), 5001);
  assert_int_equal(family_number("metal4"), 5002);
  assert_int_equal(family_number("apple0"), 0);
  assert_int_equal(family_number("banana1"), 0);
}

void hashes_are_sha256(void**) {
  const auto hex = [](std::string_view text) {
    std::string out;
    for (const unsigned char byte : sha256(text)) {
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    }
    return out;
  };
  assert_string_equal(hex("").c_str(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert_string_equal(hex("abc").c_str(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_string_equal(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").c_str(),
                      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  assert_string_equal(hex(std::string(1000000, 'a')).c_str(),
                      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

void metallibs_say_what_they_are(void**) {
  MadeMetallib made;
  made.functions = {{"add", 2, 3, 1}, {"shade", 1, 2, 4}, {"odd", 9, 3, 0}};
  for (const bool with_sizes : {true, false}) {
    for (const bool with_extension : {true, false}) {
      made.with_sizes = with_sizes;
      made.with_extension = with_extension;
      const Metallib library = check_metallib(made.bytes());
      assert_true_msg(library.ok(), "%s", library.problem.c_str());
      assert_string_equal(library.os.c_str(), "macos");
      assert_string_equal(library.os_version.text().c_str(), "14.0");
      assert_string_equal(library.format.text().c_str(), "2.7");
      assert_string_equal(library.type.c_str(), "executable");
      assert_u64(library.functions.size(), 3);
      assert_string_equal(library.functions[0].name.c_str(), "add");
      assert_string_equal(library.functions[0].kind.c_str(), "kernel");
      assert_string_equal(library.functions[0].language.text().c_str(), "3.1");
      assert_string_equal(library.functions[0].air.text().c_str(), "2.6");
      assert_u64(library.functions[0].code_bytes, MadeMetallib::code_of("add").size());
      assert_string_equal(library.functions[1].kind.c_str(), "fragment");
      assert_string_equal(library.functions[2].kind.c_str(), "type 9");
    }
  }
  made.functions.clear();
  assert_string_equal(problem_of(made.bytes()).c_str(), "");
  made.system = 0;  // of before there were several
  made.platform = 1;
  assert_string_equal(check_metallib(made.bytes()).os.c_str(), "");
}

void wrong_files_are_refused_with_the_reason(void**) {
  const std::string good = MadeMetallib().bytes();
  const auto with = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    std::string changed = good;
    set_number(changed, at, value, size);
    return changed;
  };
  assert_problem("", "empty");
  assert_problem("kernel void f() {}", "no metallib");
  assert_problem("MTLB", "shorter than a metallib's header");
  assert_problem(good + "x", "its header says");
  assert_problem(with(4, 7, 2), "platform 7");
  assert_problem(with(10, 4, 1), "type 4");
  assert_problem(with(11, 0x8a, 1), "system of number 138");
  assert_problem(with(11, 1, 1), "system of number 1");
  for (std::size_t at = 24; at < 88; at += 16) {  // each section: an offset and a size
    assert_problem(with(at, ~std::uint64_t{0}, 8), "reaches beyond its end");
    assert_problem(with(at + 8, ~std::uint64_t{0}, 8), "reaches beyond its end");
    assert_problem(with(at + 8, good.size(), 8), "reaches beyond its end");
  }
  assert_problem(with(24, 4, 8), "list of functions reaches");  // into the header
  assert_problem(with(88, 0xffffffff, 4), "no room for its 4294967295 functions");
  assert_problem(with(88, 2, 4), "reaches beyond the list");
  assert_problem(with(88, 0, 4), "bytes after its last function");
  assert_problem(with(92, 5, 4), "do not end where they should");
  assert_problem(with(92, 0xfffffff0, 4), "reaches beyond the list");
}

/// Where the content of a tag of the first function begins.
std::size_t content_of(const std::string& bytes, const char* name) {
  return bytes.find(name) + 6;
}

void wrong_functions_are_refused_with_the_reason(void**) {
  const std::string good = MadeMetallib().bytes();
  const auto renamed = [&](const char* name) {
    std::string changed = good;
    changed.replace(changed.find(name), 4, "XXXX");
    return changed;
  };
  assert_problem(renamed("NAME"), "no name, no type or no code");
  assert_problem(renamed("TYPE"), "no name, no type or no code");
  assert_problem(renamed("OFFT"), "no name, no type or no code");
  std::string changed = good;
  changed[content_of(good, "NAME") + 3] = 'x';  // the NUL
  assert_problem(changed, "tag NAME");
  changed = good;
  changed[content_of(good, "NAME")] = '\0';
  assert_problem(changed, "tag NAME");
  changed = good;
  set_number(changed, content_of(good, "MDSZ"), 1000, 8);
  assert_problem(changed, "the code of function 'add' reaches beyond");
  changed = good;
  set_number(changed, content_of(good, "OFFT") + 16, ~std::uint64_t{0}, 8);
  assert_problem(changed, "the code of function 'add' reaches beyond");
  changed = good;
  set_number(changed, content_of(good, "OFFT"), 1000, 8);
  assert_problem(changed, "the metadata of function 'add'");
  changed = good;
  changed[content_of(good, "HASH")] ^= 1;
  assert_problem(changed, "not what its hash says");
  assert_string_equal(problem_of(changed, Depth::bounds).c_str(), "");
  changed = good;
  changed[good.find("code of add")] ^= 1;
  assert_problem(changed, "not what its hash says");
  changed = good;
  changed[good.rfind("\xde\xc0\x17\x0b")] = 'x';
  assert_problem(changed, "no bitcode");
  changed = good;
  set_number(changed, good.rfind("\xde\xc0\x17\x0b") + 12, 1000, 4);  // the wrapper's size
  assert_problem(changed, "no bitcode");
  changed = good;
  changed.replace(good.find("UUID"), 4, "RLST");
  assert_problem(changed, "tag RLST of its header");
}

void every_cut_and_every_flip_is_survived(void**) {
  MadeMetallib made;
  made.functions = {{"add", 2, 3, 1}, {"mul", 2, 3, 1}};
  const std::string whole = made.bytes();
  const std::size_t code_at = whole.find("\xde\xc0\x17\x0b");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    assert_false(check_metallib(whole.substr(0, size)).ok());
    std::string cut = whole.substr(0, size);
    if (size >= 24) set_number(cut, 16, size, 8);  // with a header that fits
    assert_false(check_metallib(cut).ok());
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const char bit : {'\x01', '\x80', '\xff'}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(whole[i] ^ bit);
      const Metallib library = check_metallib(changed);
      if (i >= code_at) assert_true_msg(!library.ok(), "a flip at %zu was not seen", i);
    }
  }
}

void a_library_fits_its_target_or_says_why_not(void**) {
  const Metallib library = check_metallib(MadeMetallib().bytes());  // macOS 14.0, language 3.1
  const auto why = [&](const char* target) { return misfit(library, parse_target(target)); };
  for (const char* fits : {"metal", "metal:apple7", "metal:macos14.0", "metal:macos15.2:msl3.1", "metal:msl4.0"}) {
    assert_string_equal(why(fits).c_str(), "");
  }
  assert_true(contains(why("metal:ios17.0"), "for macos, but the artifact is for ios"));
  assert_true(contains(why("metal:macos13.5"), "needs macos 14.0, but the artifact is for 13.5"));
  assert_true(contains(why("metal:msl3.0"), "'add' is of language version 3.1, but the artifact is for 3.0"));
}

void texts_are_looked_at(void**) {
  assert_string_equal(source_problem(kAddMetal).c_str(), "");
  assert_string_equal(source_problem("// \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\nint x;").c_str(), "");
  assert_true(contains(source_problem(""), "empty"));
  assert_true(contains(source_problem(" \n\t"), "empty"));
  assert_true(contains(source_problem(std::string("int x;\0int y;", 13)), "NUL"));
  assert_true(contains(source_problem("int x; /* open"), "comment"));
  assert_string_equal(source_problem("const constant char c = '\"'; /* closed */ // */ /*\nint x;").c_str(), "");
  assert_true(contains(source_problem(MadeMetallib().bytes()), "metallib"));
  for (const char* bad :
       {"a\xff", "a\xc3", "a\xc0\x80", "a\xed\xa0\x80", "a\xf4\x90\x80\x80", "a\xe0\x80\x80", "a\x80"}) {
    assert_true_msg(contains(source_problem(bad), "not UTF-8 from byte 1"), "%s", source_problem(bad).c_str());
  }
}

void functions_of_a_text_are_listed(void**) {
  const std::string text =
      "#define kernel2 kernel void never() { }\n#if 0 /* kernel void no(\n*/\n#endif\n"
      "// kernel void not_this() {}\n/* kernel void nor_this() {} */\nconst constant char* s = \"kernel void x(\";\n"
      "kernel void add(device float* a [[buffer(0)]]) { if (a) f(a); }\n[[kernel]] void mul(uint i) {}\n"
      "struct V { float4 p [[position]]; };\nvertex V shade_v(uint i [[vertex_id]]) { return V(); }\n"
      "fragment half4 shade_f(V v [[stage_in]]) { return 0; }\n[[visible]] float op(float x) { return x; }\n"
      "template [[host_name(\"copy_f\")]] kernel void copy<float>(device float* p);\nvoid plain(int x) {}\n"
      "kernel void add(device float* a);\n";
  std::string told;
  for (const Function& one : functions_of(text)) told += one.kind + " " + one.name + ", ";
  assert_string_equal(told.c_str(),
                      "kernel add, kernel mul, vertex shade_v, fragment shade_f, visible op, kernel copy_f, ");
}

void headers_that_metal_lacks_are_found(void**) {
  assert_string_equal(
      foreign_include("#include <metal_stdlib>\n#include <metal_simdgroup>\n#include <simd/simd.h>\n").c_str(), "");
  assert_string_equal(foreign_include("#include <metal_stdlib>\n#include \"mine.h\"\n").c_str(), "\"mine.h\"");
  assert_string_equal(foreign_include("#include <vector>\n").c_str(), "<vector>");
  assert_string_equal(foreign_include("#define H <vector>\n#include H\n").c_str(), "H");
}

void options_are_those_of_both_compilers_or_said_not_to_be(void**) {
  const auto checked = [](std::vector<std::string> options, std::vector<std::string> defines = {}) {
    tlcb::DeviceSource request;
    request.options = std::move(options);
    request.defines = std::move(defines);
    return check_options(request);
  };
  const Options all =
      checked({"-ffast-math", "-fpreserve-invariance", "-Os", "-DA=1 + 2", "-D", "B", "-Wall"}, {"C=x", "D"});
  assert_string_equal(all.offline_only.c_str(), "");
  assert_true(all.at_load.fast_math == true && all.at_load.preserve_invariance && all.at_load.for_size);
  assert_true(all.at_load.macros ==
              (std::map<std::string, std::string>{{"A", "1 + 2"}, {"B", "1"}, {"C", "x"}, {"D", "1"}}));
  assert_true(parse_load_options(to_json(all.at_load)) == all.at_load);
  assert_true(parse_load_options("{}") == LoadOptions());
  for (const char* bad : {"", "[]", "{\"math\": \"odd\"}", "{\"other\": \"x\"}", "{\"math\": 1}"}) {
    assert_false(parse_load_options(bad).has_value());
  }
  assert_string_equal(checked({"-O0"}).offline_only.c_str(), "-O0");
  assert_string_equal(checked({"-UA"}).offline_only.c_str(), "-UA");
  assert_string_equal(checked({"-include", "a.h"}).offline_only.c_str(), "-include");
  const auto refused = [&](const std::vector<std::string>& options, tlc_status status, const char* part) {
    try {
      (void)checked(options);
      fail_msg("%s was taken", options.front().c_str());
    } catch (const tlcb::Failure& failure) {
      assert_int_equal(failure.status(), status);
      assert_true_msg(contains(failure.what(), part), "%s", failure.what());
    }
  };
  refused({"-std=metal3.1"}, TLC_E_INVALID, "put that into the target");
  refused({"-mmacosx-version-min=14.0"}, TLC_E_INVALID, "put that into the target");
  refused({"-o", "x"}, TLC_E_INVALID, "what is made");
  refused({"-Xclang", "x"}, TLC_E_DENIED, "inside of the compiler");
  refused({"@file"}, TLC_E_DENIED, "file");
  refused({"-fnever-heard"}, TLC_E_INVALID, "docs/backends/metal.md");
  refused({"-Irelative"}, TLC_E_INVALID, "absolute");
}

void errors_of_metal_are_the_artifacts_fault_or_not(void**) {
  const Outcome other{"NSPOSIXErrorDomain", 12, "no memory"};
  for (const bool compiled : {true, false}) assert_int_equal(status_of(other, compiled), TLC_E_UNAVAILABLE);
  for (const int code : {1, 2, 3, 4, 6}) {
    assert_int_equal(status_of({"MTLLibraryErrorDomain", code, ""}, false), TLC_E_LOAD);
  }
  for (const int code : {3, 4}) assert_int_equal(status_of({"MTLLibraryErrorDomain", code, ""}, true), TLC_E_COMPILE);
  for (const int code : {1, 2})
    assert_int_equal(status_of({"MTLLibraryErrorDomain", code, ""}, true), TLC_E_UNAVAILABLE);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(targets_name_a_family_a_system_and_a_language),
      cmocka_unit_test(families_have_metals_numbers),
      cmocka_unit_test(hashes_are_sha256),
      cmocka_unit_test(metallibs_say_what_they_are),
      cmocka_unit_test(wrong_files_are_refused_with_the_reason),
      cmocka_unit_test(wrong_functions_are_refused_with_the_reason),
      cmocka_unit_test(every_cut_and_every_flip_is_survived),
      cmocka_unit_test(a_library_fits_its_target_or_says_why_not),
      cmocka_unit_test(texts_are_looked_at),
      cmocka_unit_test(functions_of_a_text_are_listed),
      cmocka_unit_test(headers_that_metal_lacks_are_found),
      cmocka_unit_test(options_are_those_of_both_compilers_or_said_not_to_be),
      cmocka_unit_test(errors_of_metal_are_the_artifacts_fault_or_not),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
