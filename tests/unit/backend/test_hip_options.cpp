// SPDX-License-Identifier: MIT
// Which options and fields the hip backend takes, and what it says of the others.
#include "tlc_test.hpp"

#include "hip/options.hpp"
#include "hip_support.hpp"
#include "support/failure.hpp"

using namespace tlc::test;
using tlcb::hip::check_options;

namespace {

void known_options_are_passed_on(void**) {
  const auto out = check_options({"-DA=1", "-D", "B", "-UC", "-I/inc", "-include", "/p.h", "-Ofast", "-ffast-math",
                                  "-ffp-contract=off", "-mcumode", "-Wall", "-mllvm", "-amdgpu-early-inline-all=true"});
  const std::vector<std::string> words = {"-DA=1",    "-DB",    "-UC",         "-include",
                                          "/p.h",     "-Ofast", "-ffast-math", "-ffp-contract=off",
                                          "-mcumode", "-Wall",  "-mllvm",      "-amdgpu-early-inline-all=true"};
  assert_true(out.words == words);
  assert_true(out.optimises);
  assert_true(out.folders == std::vector<std::string>{"/inc"});
  assert_true(out.pre_includes == std::vector<std::string>{"/p.h"});
  assert_true((out.defines == std::vector<std::string>{"A=1", "B"}));
}

void other_options_are_refused_with_the_reason(void**) {
  struct Case {
    std::vector<std::string> options;
    tlc_status status;
    const char* part;
  };
  for (const Case& one :
       {Case{{"--offload-arch=gfx906"}, TLC_E_INVALID, "target"}, Case{{"-mcpu=gfx906"}, TLC_E_INVALID, "target"},
        Case{{"@file"}, TLC_E_DENIED, "@file"}, Case{{"-save-temps=obj"}, TLC_E_DENIED, "file"},
        Case{{"-Xclang", "-load"}, TLC_E_DENIED, "inside"}, Case{{"-mllvm", "-load=x.so"}, TLC_E_DENIED, "LLVM"},
        Case{{"-Wl,-T,x"}, TLC_E_INVALID, "knows to be safe"}, Case{{"-fgpu-rdc"}, TLC_E_INVALID, "relocatable"},
        Case{{"-Iinc"}, TLC_E_INVALID, "relative"}, Case{{"-mllvm"}, TLC_E_INVALID, "argument"},
        Case{{"other.hip"}, TLC_E_INVALID, "one source"}, Case{{"-fno-such"}, TLC_E_INVALID, "hip.md"}}) {
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

void names_of_headers_stay_in_their_folder(void**) {
  for (const char* name : {"../out.h", "/etc/out.h", "a/../../out.h", "a//b.h", "./a.h", "a/"}) {
    FakeRequest request = source_request("x");
    request.fields["headers"] = map_value({{name, text_value("")}});
    assert_fails(compile_hip(request).done, TLC_E_INVALID, name);
    assert_fails(hip_ops().identify(nullptr, request, "hip:gfx90a"), TLC_E_INVALID, name);
  }
}

void what_is_not_compiled_needs_no_compiler(void**) {
  const auto told = hip_ops().identify(nullptr, FakeRequest(), "hip:gfx90a,hip:gfx1030");
  assert_ok(told);
  assert_true(contains(*told, "not compiled"));
  assert_fails(compile_hip(FakeRequest()).done, TLC_E_INVALID, "'source'");
  assert_fails(hip_ops().identify(nullptr, source_request("x"), "hip:sm_90"), TLC_E_INVALID, "hip:gfx90a");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(known_options_are_passed_on),
      cmocka_unit_test(other_options_are_refused_with_the_reason),
      cmocka_unit_test(names_of_headers_stay_in_their_folder),
      cmocka_unit_test(what_is_not_compiled_needs_no_compiler),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
