// SPDX-License-Identifier: MIT
// What the cuda backend takes and refuses, without NVRTC: options, targets, fields, what is kept beside a binary.
#include "tlc_test.hpp"

#include <string>

#include "cuda/metadata.hpp"
#include "cuda/options.hpp"
#include "cuda/target.hpp"
#include "cuda_support.hpp"
#include "support/failure.hpp"
#include "support/json_parse.hpp"
#include "support/loaded_library.hpp"

using namespace tlc::test;
using namespace tlcb;
using namespace tlcb::cuda;
using Words = std::vector<std::string>;

namespace {

template <typename Fn>
tlc_status status_of(Fn&& body, std::string* message = nullptr) {
  try {
    body();
    return TLC_OK;
  } catch (const Failure& failure) {
    if (message != nullptr) *message = failure.what();
    return failure.status();
  }
}

void refused(const Words& options, tlc_status expected, const std::string& part) {
  std::string message;
  const tlc_status status = status_of([&] { (void)check_options(options); }, &message);
  assert_true_msg(status == expected, "%s: %d %s", options[0].c_str(), status, message.c_str());
  assert_true_msg(contains(message, part) && contains(message, options[0]), "%s", message.c_str());
}

void what_reads_files_is_denied(void**) {
  for (const char* option : {"@/tmp/options", "-pch", "--pch", "--use-pch=/x", "-create-pch=/x", "--pch-dir=/x",
                             "--time=/x", "-fdevice-time-trace=/x", "--fdevice-time-trace=/x", "--use_pch=/x"}) {
    refused({option}, TLC_E_DENIED, "cannot watch");
  }
  for (const char* value : {"-optf", "-v,--options-file=/x", "-o=/x", "-v --output-file /x", "@/x", "-arch=sm_80"}) {
    refused({std::string("-Xptxas=") + value}, TLC_E_DENIED, "");
    refused({"--ptxas-options", value}, TLC_E_DENIED, "");
  }
}

void what_the_target_or_the_backend_says_is_refused(void**) {
  for (const char* option : {"-arch=sm_90", "--gpu-architecture=sm_90", "-arch", "-gencode=x", "-code=sm_90"}) {
    refused({option}, TLC_E_INVALID, "target");
  }
  for (const char* option : {"-dlto", "--dlink-time-opt", "-cubin", "--ptx"})
    refused({option}, TLC_E_INVALID, "'output'");
  for (const char* option : {"--no-cache", "-modify-stack-limit=true", "-no-source-include", "--fdevice-syntax-only",
                             "--optix-ir", "-Ofast", "-O4", "-Os", "--bogus", "kernel.cu", "-", "", "-split-compile=0",
                             "-I", "-Iinclude", "--include-path=x", "-D", "-maxrregcount", "--std"}) {
    refused({option}, TLC_E_INVALID, "");
  }
  refused({"-I", "relative"}, TLC_E_INVALID, "absolute");
}

void known_options_are_passed_on(void**) {
  const Options options = check_options({"-lineinfo", "--use_fast_math", "-std=c++17", "-maxrregcount", "32", "-O3",
                                         "-Xptxas", "-v,-dlcm=ca", "-DN=4", "-D", "M", "-UX", "-I/a b", "-I", "/c",
                                         "-include", "/x.h", "--include-path=/d", "-w"});
  assert_true(
      (options.words == Words{"-lineinfo", "--use_fast_math", "-std=c++17", "-maxrregcount=32", "--ptxas-options=-O3",
                              "--ptxas-options=-v,-dlcm=ca", "-DN=4", "-DM", "-UX", "--pre-include=/x.h", "-w"}));
  assert_true((options.folders == Words{"/a b", "/c", "/d"}));
  assert_true((options.defines == Words{"N=4", "M"}));
  assert_true((options.pre_includes == Words{"/x.h"}));
  assert_false(options.relocatable);
  assert_true(check_options({"-rdc=true"}).relocatable);
  assert_true(check_options({"-dc"}).relocatable);
  assert_false(check_options({"--relocatable-device-code=false"}).relocatable);
  assert_true(check_options({"-G"}).debug);
}

void archs_are_read(void**) {
  const auto read = [](const char* text) {
    Arch arch;
    return parse_arch(text, arch) ? arch.text() : std::string("none");
  };
  for (const char* good : {"sm_90", "sm_90a", "sm_100f", "sm_103a", "compute_75", "compute_90a"}) {
    assert_string_equal(read(good).c_str(), good);
  }
  for (const char* bad : {"", "sm_", "sm_a", "sm_9", "sm_90b", "sm_090", "90", "sm_90aa", "compute_", "sm_99999",
                          "SM_90", "sm_-90", "sm_ 90"}) {
    assert_string_equal(read(bad).c_str(), "none");
  }
  for (const char* target : {"cuda", "cuda:fast", "cpu:sm_90", "cuda:sm_90:x", "cuda:sm_90,cuda:sm_80"}) {
    assert_int_equal(status_of([&] { (void)parse_target(target); }), TLC_E_INVALID);
  }
  assert_true(wants_device("cuda:native"));
  assert_true(wants_device("cuda:auto"));
  assert_false(wants_device("cuda:sm_90"));
}

bool fits(const char* text, int device) {
  Arch arch;
  assert_true(parse_arch(text, arch));
  return misfit(arch, device).empty();
}

void families_of_archs_stay_apart(void**) {
  assert_true(fits("sm_90", 90));
  assert_false(fits("sm_90", 100));
  assert_false(fits("sm_90", 89));
  assert_true(fits("sm_80", 86));
  assert_true(fits("sm_80", 89));
  assert_false(fits("sm_86", 80));
  assert_true(fits("sm_90a", 90));
  assert_true(fits("sm_100a", 100));
  assert_false(fits("sm_100a", 103));
  assert_true(fits("sm_100f", 103));
  assert_false(fits("sm_103f", 100));
  assert_false(fits("sm_100f", 110));
  assert_true(fits("compute_75", 90));
  assert_false(fits("compute_90", 80));
  assert_false(fits("compute_90a", 100));
  assert_true(fits("compute_100f", 103));
  assert_false(fits("compute_100f", 120));
}

void bad_fields_are_named(void**) {
  const auto refuses = [](const char* field, const FakeValue& value, tlc_status status, const char* part) {
    FakeRequest request = cuda_request(kSaxpy);
    request.fields[field] = value;
    assert_fails(cuda_ops().identify(nullptr, request, "cuda:sm_90"), status, part);
    assert_fails(compile_cuda(request).done, status, part);
  };
  refuses("source", int_value(1), TLC_E_INVALID, "'source' must be text");
  refuses("source", text_value(std::string("a\0b", 3)), TLC_E_INVALID, "NUL");
  refuses("output", text_value("elf"), TLC_E_INVALID, "'elf'");
  refuses("options", text_value("-G"), TLC_E_INVALID, "'options' must be a list");
  refuses("options", list_value({"-arch=sm_90"}), TLC_E_INVALID, "cuda:sm_90");
  refuses("include_dirs", list_value({"here"}), TLC_E_INVALID, "'here'");
  refuses("defines", map_value({{"1X", text_value("")}}), TLC_E_INVALID, "'1X'");
  refuses("defines", map_value({{"X Y", text_value("")}}), TLC_E_INVALID, "'X Y'");
  refuses("headers", map_value({{"a.h", int_value(1)}}), TLC_E_INVALID, "'headers' must be text");
  refuses("headers", text_value("x"), TLC_E_INVALID, "map of names");
  refuses("name_expressions", list_value({""}), TLC_E_INVALID, "empty");
  refuses("launch", map_value({{"k", int_value(3)}}), TLC_E_INVALID, "map of kernels");
  refuses("launch", map_value({{"k", map_value({{"color", int_value(3)}})}}), TLC_E_INVALID,
          "max_dynamic_shared_size_bytes");
  refuses("launch", map_value({{"k", map_value({{"max_dynamic_shared_size_bytes", int_value(1LL << 40)}})}}),
          TLC_E_INVALID, "32 bits");
  FakeRequest request = cuda_request(kSaxpy, {"-rdc=true"});
  assert_fails(cuda_ops().identify(nullptr, request, "cuda:sm_90"), TLC_E_INVALID, "cannot be loaded");
  request = cuda_request(kSaxpy);
  request.fields["output"] = text_value("cubin");
  assert_fails(cuda_ops().identify(nullptr, request, "cuda:compute_90"), TLC_E_INVALID, "cuda:sm_90");
}

void what_is_not_compiled_needs_no_compiler(void**) {
  ::setenv("TLC_NVRTC", "/nonexistent/libnvrtc.so", 1);
  const tlc::backend::Ops fresh = new_cuda_ops();
  assert_fails(fresh.identify(nullptr, cuda_request(kSaxpy), "cuda:sm_90"), TLC_E_UNAVAILABLE, "TLC_NVRTC");
  assert_ok(fresh.identify(nullptr, FakeRequest(), "cuda:sm_90"));
  ::setenv("TLC_NVRTC", "libnvrtc.so", 1);
  assert_fails(fresh.identify(nullptr, cuda_request(kSaxpy), "cuda:sm_90"), TLC_E_UNAVAILABLE, "absolute path");
  // A library, but another one.
  ::setenv("TLC_NVRTC", tlcb::real_path("/proc/self/exe").c_str(), 1);
  assert_false(fresh.identify(nullptr, cuda_request(kSaxpy), "cuda:sm_90").ok());
  ::unsetenv("TLC_NVRTC");
}

void metadata_survives_json(void**) {
  const Names names = {{"add<float, 4>", "_Z3addIfLi4EEvv"}, {"quote\"\\\n\x01", "x"}, {"\xc3\xa4", "y"}};
  assert_true(parse_names(to_json(names)) == names);
  assert_true(parse_names(to_json(Names())) == Names());
  const Launch launch = {{"k", {{"max_dynamic_shared_size_bytes", 100000}, {"required_cluster_width", -1}}}, {"l", {}}};
  assert_true(parse_launch(to_json(launch)) == launch);
  for (const char* bad :
       {"", "[]", "{\"a\": 1}", "{\"a\": \"b\"", "{\"a\": \"b\"} x", "{\"a\" \"b\"}", "{\"a\": \"\\ud800\"}",
        "{\"a\": {}}", "{a: 1}", "{\"a\": \"\n\"}", "{\"a\": \"\\", "{\"a\": \"\\u12"}) {
    assert_true_msg(!parse_names(bad), "%s", bad);
  }
  for (const char* bad :
       {"{\"k\": 1}", "{\"k\": {\"color\": 1}}", "{\"k\": {\"required_cluster_width\": 1.5}}",
        "{\"k\": {\"required_cluster_width\": 99999999999}}", "{\"k\": {\"required_cluster_width\": \"1\"}}",
        "{\"a\": {\"b\": {\"c\": {\"d\": {\"e\": {}}}}}}"}) {
    assert_true_msg(!parse_launch(bad), "%s", bad);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(what_reads_files_is_denied),
      cmocka_unit_test(what_the_target_or_the_backend_says_is_refused),
      cmocka_unit_test(known_options_are_passed_on),
      cmocka_unit_test(archs_are_read),
      cmocka_unit_test(families_of_archs_stay_apart),
      cmocka_unit_test(bad_fields_are_named),
      cmocka_unit_test(what_is_not_compiled_needs_no_compiler),
      cmocka_unit_test(metadata_survives_json),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
