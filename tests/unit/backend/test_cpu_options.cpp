// SPDX-License-Identifier: MIT
#include "tlc_test.hpp"

#include <string>

#include "cpu/cpu_features.hpp"
#include "cpu/options.hpp"
#include "cpu/target.hpp"
#include "support/failure.hpp"

using namespace tlcb::cpu;

namespace {

tlc_status status_of(const std::vector<std::string>& options, std::string* message = nullptr) {
  try {
    (void)check_options(options);
    return TLC_OK;
  } catch (const tlcb::Failure& failure) {
    if (message != nullptr) *message = failure.what();
    return failure.status();
  }
}

void what_loads_code_is_denied(void**) {
  const std::vector<std::vector<std::string>> all = {{"-fplugin=/x.so"},
                                                     {"-fplugin-arg-x"},
                                                     {"-fpass-plugin=/x"},
                                                     {"-wrapper", "gdb"},
                                                     {"-B/evil"},
                                                     {"-B", "/evil"},
                                                     {"-specs=/x"},
                                                     {"-Xclang", "-load"},
                                                     {"-Xassembler", "x"},
                                                     {"-Wp,-MD,x"},
                                                     {"-Wa,-I/x"},
                                                     {"@/tmp/args"},
                                                     {"-fprofile-use=/x"},
                                                     {"-fprofile-generate"},
                                                     {"-fauto-profile=/x"},
                                                     {"-fmodule-file=/x"},
                                                     {"-include-pch", "/x"},
                                                     {"-iprefix", "/x"},
                                                     {"-mllvm", "-x"},
                                                     {"-Wl,@/x"},
                                                     {"-Wl,--plugin=/x.so"},
                                                     {"-Wl,-O1,-plugin,/x.so"},
                                                     {"-Xlinker", "@x"},
                                                     {"-Xlinker", "--audit=/x"},
                                                     {"-resource-dir=/x"}};
  for (const auto& options : all) {
    std::string message;
    const tlc_status status = status_of(options, &message);
    assert_true_msg(status == TLC_E_DENIED, "%s: %d %s", options[0].c_str(), status, message.c_str());
    assert_true(message.find(options[0]) != std::string::npos);
  }
}

void what_the_backend_decides_is_refused(void**) {
  for (const char* option : {"-o",
                             "-c",
                             "-S",
                             "-E",
                             "-MD",
                             "-MFx",
                             "-x",
                             "-xc++",
                             "-save-temps",
                             "-shared",
                             "-static",
                             "-march=native",
                             "-march=haswell",
                             "-mcpu=x",
                             "-mtune=native",
                             "-mavx2",
                             "-m32",
                             "--help",
                             "--target=arm",
                             "--specs=x",
                             "-print-prog-name=ld",
                             "-v",
                             "-",
                             "",
                             "-gsplit-dwarf",
                             "-Wl,-o,x",
                             "-Wl,--dependency-file=x",
                             "-Wl,-lfoo"}) {
    assert_true_msg(status_of({option}) == TLC_E_INVALID, "%s", option);
  }
  std::string message;
  (void)status_of({"-march=native"}, &message);
  assert_true(message.find("cpu:native") != std::string::npos);
}

void relative_paths_are_refused(void**) {
  for (const char* option : {"-Iinclude", "-isystem", "-L.", "-include", "kernel.o", "lib/x.a"}) {
    assert_true_msg(status_of({option, "rel"}) == TLC_E_INVALID, "%s", option);
  }
  assert_int_equal(status_of({"/abs/x.c"}), TLC_E_INVALID);
  assert_int_equal(status_of({"-isystem"}), TLC_E_INVALID);  // no argument
}

void the_rest_is_sorted_by_use(void**) {
  const Options out = check_options({"-O3",
                                     "-std=c++17",
                                     "-DX=1",
                                     "-D",
                                     "Y",
                                     "-I/a",
                                     "-isystem",
                                     "/b",
                                     "-L/l",
                                     "-lm",
                                     "-l",
                                     "z",
                                     "/o/x.o",
                                     "/o/libq.so.1",
                                     "-fopenmp",
                                     "-flto",
                                     "-fuse-ld=lld",
                                     "-Wl,--as-needed,-s",
                                     "-z",
                                     "now",
                                     "--param",
                                     "a=1",
                                     "-mprefer-vector-width=256",
                                     "-mtune=skylake",
                                     "-mno-avx"});
  assert_true(out.optimises);
  assert_true(out.lto);
  assert_string_equal(out.linker.c_str(), "lld");
  assert_true((out.libraries == std::vector<std::string>{"m", "z"}));
  assert_true((out.library_dirs == std::vector<std::string>{"/l"}));
  assert_true((out.link == std::vector<std::string>{"-L/l", "-lm", "-lz", "/o/x.o", "/o/libq.so.1"}));
  assert_int_equal(out.compile.size(), 19);
  assert_false(check_options({}).optimises);
}

std::string resolved(const std::string& target) {
  try {
    return resolve_target(target);
  } catch (const tlcb::Failure& failure) {
    return failure.what();
  }
}

void native_names_what_the_machine_has(void**) {
  const std::string native = resolved("cpu:native");
  const std::string arch = host_arch();
  assert_true(native.rfind("cpu:" + arch, 0) == 0);
  assert_true(native.find("native") == std::string::npos);
  assert_string_equal(resolved("cpu:auto").c_str(), ("cpu:" + arch).c_str());
  const Target target = parse_target(native);
  assert_true(target.is_host_arch());
  assert_string_equal(missing_feature(target).c_str(), "");
  for (const std::string& feature : target.features) assert_true(is_feature_of(arch, feature));
  assert_true(resolved("gpu:native").find("not of kind cpu") != std::string::npos);
  assert_true(resolved("cpu:s390x:native").find("cannot be resolved") != std::string::npos);
}

void features_become_options(void**) {
  const auto options = feature_options("x86_64", {"avx2", "fma", "v2", "v3"});
  assert_true((options == std::vector<std::string>{"-march=x86-64-v3", "-mavx2", "-mfma"}));
  assert_true(
      (feature_options("aarch64", {"dotprod", "sve"}) == std::vector<std::string>{"-march=armv8-a+dotprod+sve"}));
  for (const char* bad : {"cpu:x86_64:warp9", "cpu:x86_64:sve", "cpu:aarch64:avx2", "cpu:riscv64:v",
                          "cpu:x86_64,cpu:aarch64", "cuda:sm_90"}) {
    try {
      (void)parse_target(bad);
      assert_true_msg(false, "%s", bad);
    } catch (const tlcb::Failure& failure) {
      assert_int_equal(failure.status(), TLC_E_INVALID);
    }
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(what_loads_code_is_denied),         cmocka_unit_test(what_the_backend_decides_is_refused),
      cmocka_unit_test(relative_paths_are_refused),        cmocka_unit_test(the_rest_is_sorted_by_use),
      cmocka_unit_test(native_names_what_the_machine_has), cmocka_unit_test(features_become_options),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
