// SPDX-License-Identifier: MIT
// Which options and fields the opencl backend takes, and what it says of the others.
#include "tlc_test.hpp"

#include "opencl/options.hpp"
#include "opencl_support.hpp"
#include "support/failure.hpp"

using namespace tlc::test;
using namespace tlcb::opencl;

namespace {

void known_options_are_passed_on(void**) {
  const auto out = check_options({"-DA=1", "-D", "B", "-UC", "-I/inc", "-cl-std=CL2.0", "-cl-fast-relaxed-math", "-w",
                                  "-DMAX(a,b)=((a) > (b) ? (a) : (b))", "-cl-nv-maxrregcount=32", "-cl-nv-maxrregcount",
                                  "16", "-cl-intel-256-GRF-per-thread"});
  const std::vector<std::string> words = {"-cl-std=CL2.0",
                                          "-cl-fast-relaxed-math",
                                          "-w",
                                          "-cl-nv-maxrregcount=32",
                                          "-cl-nv-maxrregcount",
                                          "16",
                                          "-cl-intel-256-GRF-per-thread"};
  assert_true(out.words == words);
  assert_true(out.folders == std::vector<std::string>{"/inc"});
  assert_true((out.defines == std::vector<std::string>{"A=1", "B", "MAX(a,b)=((a) > (b) ? (a) : (b))"}));
  assert_string_equal(out.prefix.c_str(),
                      "#define A 1\n#define B 1\n#undef C\n#define MAX(a,b) ((a) > (b) ? (a) : (b))\n");
  assert_string_equal(option_text({"-w", "-g"}, {"/a", "/b"}).c_str(), "-I/a -I/b -w -g");
}

void other_options_are_refused_with_the_reason(void**) {
  struct Case {
    std::vector<std::string> options;
    tlc_status status;
    const char* part;
  };
  for (const Case& one :
       {Case{{"-O3"}, TLC_E_INVALID, "-cl-opt-disable"}, Case{{"-x", "spir"}, TLC_E_INVALID, "'il'"},
        Case{{"@file"}, TLC_E_DENIED, "@file"}, Case{{"-s", "k.cl"}, TLC_E_DENIED, "file"},
        Case{{"-include", "/x.h"}, TLC_E_DENIED, "file"}, Case{{"-mllvm", "-load=x.so"}, TLC_E_DENIED, "LLVM"},
        Case{{"-create-library"}, TLC_E_INVALID, "what is made"}, Case{{"-Iinc"}, TLC_E_INVALID, "relative"},
        Case{{"-cl-nv-maxrregcount"}, TLC_E_INVALID, "argument"}, Case{{"-cl-intel-x=/etc/x"}, TLC_E_INVALID, "safe"},
        Case{{"-cl-std=CL2.0 -I/x"}, TLC_E_INVALID, "safe"}, Case{{"other.cl"}, TLC_E_INVALID, "one source"},
        Case{{"-cl-such"}, TLC_E_INVALID, "opencl.md"},
        Case{{"-DA=1\n#include </etc/passwd>"}, TLC_E_INVALID, "one line"},
        Case{{"-DA B=1"}, TLC_E_INVALID, "NAME=value"}, Case{{"-U", "A\n#include <x>"}, TLC_E_INVALID, "macro"}}) {
    bool refused = false;
    try {
      (void)check_options(one.options);
    } catch (const tlcb::Failure& failure) {
      refused = failure.status() == one.status && contains(failure.what(), one.part);
      if (!refused) print_error("%d %s\n", failure.status(), failure.what());
    }
    assert_true_msg(refused, "%s", one.options.front().c_str());
  }
}

void fields_that_do_not_fit_are_refused(void**) {
  const auto refused = [](const FakeRequest& request, const char* part) {
    assert_fails(compile_by(opencl_ops(), request, kFakeGpuTarget).done, TLC_E_INVALID, part);
    assert_fails(opencl_ops().identify(nullptr, request, kFakeGpuTarget), TLC_E_INVALID, part);
  };
  for (const char* name : {"../out.h", "/etc/out.h", "a/../../out.h", "a//b.h", "./a.h", "a/"}) {
    FakeRequest request = source_request("x");
    request.fields["headers"] = map_value({{name, text_value("")}});
    refused(request, name);
  }
  FakeRequest request = source_request("x");
  request.fields["name_expressions"] = list_value({"scale<float>"});
  refused(request, "name_expressions");
  FakeRequest il;
  il.fields["il"] = text_value("SPIR-V");
  refused(il, "must be bytes");
  il.fields["il"].type = TLC_TYPE_BYTES;
  refused(il, "no SPIR-V");
  il.fields["il"].text = std::string("\3\2\x23\7", 4) + std::string(16, '\0');
  il.fields["source"] = text_value("x");
  refused(il, "one of the two");
  il.fields.erase("source");
  il.fields["defines"] = map_value({{"A", int_value(1)}});
  refused(il, "compiled already");
  FakeRequest spaces = source_request("x");
  spaces.fields["include_dirs"] = list_value({"/has space"});
  assert_fails(compile_by(opencl_ops(), spaces, kFakeGpuTarget).done, TLC_E_INVALID, "space");
}

void what_is_not_compiled_needs_no_driver(void**) {
  const auto told = opencl_ops().identify(nullptr, FakeRequest(), kFakeGpuTarget);
  assert_ok(told);
  assert_true(contains(*told, "not compiled"));
  assert_fails(compile_by(opencl_ops(), FakeRequest(), kFakeGpuTarget).done, TLC_E_INVALID, "'source'");
  assert_fails(opencl_ops().identify(nullptr, source_request("x"), "opencl:"), TLC_E_INVALID, "opencl:native");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(known_options_are_passed_on),
      cmocka_unit_test(other_options_are_refused_with_the_reason),
      cmocka_unit_test(fields_that_do_not_fit_are_refused),
      cmocka_unit_test(what_is_not_compiled_needs_no_driver),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
