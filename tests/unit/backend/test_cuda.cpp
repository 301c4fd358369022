// SPDX-License-Identifier: MIT
// Compiling with a real NVRTC (TLC_TEST_NVRTC), through the backend's table and a fake host. No GPU is needed.
#include "tlc_test.hpp"

#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "cuda_support.hpp"
#include "scratch.hpp"

using namespace tlc;
using namespace tlc::backend;
using namespace tlc::test;

namespace {

/// Keeps NVRTC busy for about a second.
std::string big_source() {
  std::string out;
  for (int i = 0; i < 12; ++i) {
    const std::string n = std::to_string(i);
    out += "extern \"C\" __global__ void k" + n + "(float* p, int n) {\n  float a[32];\n";
    out += "  for (int i = 0; i < 32; ++i) a[i] = p[i] * " + n + ";\n";
    out += "  for (int i = 0; i < n; ++i)\n#pragma unroll\n    for (int j = 0; j < 32; ++j) a[j] = a[j] * a[(j + " + n +
           ") % 32] + sinf(p[i]);\n";
    out += "  for (int i = 0; i < 32; ++i) p[i] = a[i];\n}\n";
  }
  return out;
}

std::string identity(const FakeRequest& request, const std::string& target = "cuda:sm_90") {
  auto out = cuda_ops().identify(nullptr, request, target);
  assert_ok(out);
  return *out;
}

FakeRequest with_output(const std::string& source, const char* output) {
  FakeRequest request = cuda_request(source);
  request.fields["output"] = text_value(output);
  return request;
}

void a_cubin_is_made_and_is_whole(void**) {
  const auto made = compile_cuda(cuda_request(kSaxpy));
  assert_ok(made.done);
  assert_u64(made.bundle.members.size(), 1);
  assert_string_equal(made.bundle.members[0].name.c_str(), "kernel.cubin");
  assert_int_equal(made.bundle.members[0].type, TLC_MEMBER_DEVICE_BINARY);
  FakeBundle artifact = made.bundle;
  assert_ok(cuda_ops().validate(nullptr, artifact, nullptr));
  assert_true(compile_cuda(cuda_request(kSaxpy)).bundle.members[0].bytes == made.bundle.members[0].bytes);
}

void ptx_and_lto_ir_are_made(void**) {
  auto ptx = compile_cuda(with_output(kSaxpy, "ptx"));
  assert_ok(ptx.done);
  assert_int_equal(ptx.bundle.members[0].type, TLC_MEMBER_DEVICE_IR);
  assert_true(contains(ptx.member("kernel.ptx")->bytes, ".entry saxpy"));
  assert_ok(cuda_ops().validate(nullptr, ptx.bundle, nullptr));
  auto compute = compile_cuda(cuda_request(kSaxpy), "cuda:compute_80");
  assert_ok(compute.done);
  assert_true(contains(compute.member("kernel.ptx")->bytes, ".target sm_80"));
  assert_ok(cuda_ops().validate(nullptr, compute.bundle, nullptr));
  auto ltoir = compile_cuda(with_output(kSaxpy, "ltoir"));
  if (!ltoir.done.ok() && ltoir.done.error().status == TLC_E_UNSUPPORTED) return;  // CUDA 11
  assert_ok(ltoir.done);
  assert_true(ltoir.member("kernel.ltoir")->bytes.starts_with("\xed\x43\x4e\x7f"));
  assert_ok(cuda_ops().validate(nullptr, ltoir.bundle, nullptr));
}

void errors_come_back_with_the_whole_log(void**) {
  const auto bad = compile_cuda(cuda_request("__global__ void k() { nonsense; }\n__global__ void l() { rubbish; }"));
  assert_fails(bad.done, TLC_E_COMPILE, "nonsense");
  assert_true(contains(bad.done.error().message, "kernel.cu(1)"));
  assert_true(contains(bad.log.text, "kernel.cu(2)") && contains(bad.log.text, "rubbish"));
  assert_false(contains(bad.log.text, "/proc"));
  assert_true(bad.bundle.members.empty());
  const auto warned = compile_cuda(cuda_request("__global__ void k() { int unused = 1; }"));
  assert_ok(warned.done);
  assert_true(contains(warned.log.text, "unused"));
}

void unknown_archs_are_refused_with_the_known_ones(void**) {
  const auto made = compile_cuda(cuda_request(kSaxpy), "cuda:sm_999");
  assert_fails(made.done, TLC_E_UNSUPPORTED, "sm_999");
  assert_true(contains(made.done.error().message, "sm_80"));
  assert_fails(compile_cuda(cuda_request(kSaxpy), "cuda:sm_80a").done, TLC_E_UNSUPPORTED, "sm_90");
}

void name_expressions_are_lowered(void**) {
  FakeRequest request = cuda_request(
      "template <typename T, int N> __global__ void scale(T* p) { p[threadIdx.x] *= N; }\n"
      "namespace deep { __device__ int counter; }");
  request.fields["name_expressions"] = list_value({"scale<float, 4>", "&deep::counter"});
  request.fields["launch"] =
      map_value({{"scale<float, 4>", map_value({{"max_dynamic_shared_size_bytes", int_value(70000)}})}});
  auto made = compile_cuda(request);
  assert_ok(made.done);
  assert_true(contains(made.member("names.json")->bytes, "\"scale<float, 4>\": \"_Z5scaleIfLi4EEvPT_\""));
  assert_true(contains(made.member("names.json")->bytes, "\"&deep::counter\": \""));
  assert_string_equal(made.member("launch.json")->bytes.c_str(),
                      "{\"scale<float, 4>\": {\"max_dynamic_shared_size_bytes\": 70000}}");
  assert_ok(cuda_ops().validate(nullptr, made.bundle, nullptr));
  request.fields["name_expressions"] = list_value({"scale<nosuch>"});
  assert_fails(compile_cuda(request).done, TLC_E_COMPILE, "nosuch");
}

void defines_options_and_headers_reach_the_compiler(void**) {
  FakeRequest request = cuda_request(
      "#include \"inner/from_memory.h\"\n#if N != 7 || defined(GONE) || M != 2\n#error wrong\n#endif\n"
      "extern \"C\" __global__ void k(int* p) { *p = MEMORY; }",
      {"-DM=2", "-DGONE", "-UGONE", "-lineinfo", "-O2", "--use_fast_math", "-std=c++17"});
  request.fields["defines"] = map_value({{"N", int_value(7)}});
  request.fields["headers"] =
      map_value({{"inner/from_memory.h", text_value("#include \"other.h\"\n#define MEMORY OTHER\n")},
                 {"other.h", text_value("#define OTHER 3\n")}});
  const auto made = compile_cuda(request);
  assert_ok(made.done);
  assert_true(made.bundle.present.empty());
}

void headers_of_folders_are_guarded(void**) {
  const Scratch scratch;
  write_file(scratch.path("first/other.h"), "");
  write_file(scratch.path("second/sub/value.h"), "#include \"near.h\"\n#define VALUE NEAR\n");
  write_file(scratch.path("second/sub/near.h"), "#define NEAR 5\n");
  let_files_age();
  FakeRequest request = cuda_request("#include <sub/value.h>\n__device__ int v = VALUE;\n");
  request.fields["include_dirs"] = list_value({scratch.path("first"), scratch.path("second")});
  const auto made = compile_cuda(request);
  assert_ok(made.done);
  assert_u64(made.bundle.present.size(), 2);
  assert_true(made.bundle.present.count(scratch.path("second/sub/near.h")) == 1);
  assert_true(made.bundle.is_absent(scratch.path("first/sub")));
}

void a_header_that_is_being_written_is_not_trusted(void**) {
  const Scratch scratch;
  write_file(scratch.path("h.h"), "#define H 1\n");
  let_files_age();
  FakeRequest request = cuda_request("#include <h.h>\n__device__ int v = H;\n");
  request.fields["include_dirs"] = list_value({scratch.path()});
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop) {  // renamed into place: it is never met empty
      write_file(scratch.path("h.new"), "#define H 2\n");
      std::filesystem::rename(scratch.path("h.new"), scratch.path("h.h"));
      ::usleep(500);
    }
  });
  const auto made = compile_cuda(request);
  stop = true;
  writer.join();
  assert_fails(made.done, TLC_E_UNCACHEABLE, "h.h");
  assert_true(made.bundle.present.empty() && made.bundle.members.empty());
}

void variants_of_an_arch_are_kept_apart(void**) {
  if (!compile_cuda(cuda_request(kSaxpy), "cuda:sm_90a").done.ok()) skip();  // CUDA 11
  auto plain = compile_cuda(with_output(kSaxpy, "ptx"), "cuda:sm_90");
  auto variant = compile_cuda(with_output(kSaxpy, "ptx"), "cuda:sm_90a");
  assert_ok(plain.done);
  assert_ok(variant.done);
  plain.bundle.target = "cuda:sm_90a";
  variant.bundle.target = "cuda:sm_90";
  assert_fails(cuda_ops().validate(nullptr, plain.bundle, nullptr), TLC_REJECTED, "sm_90a");
  assert_fails(cuda_ops().validate(nullptr, variant.bundle, nullptr), TLC_REJECTED, "compute_90a");
}

void a_binary_of_another_arch_is_rejected(void**) {
  auto made = compile_cuda(cuda_request(kSaxpy), "cuda:sm_80");
  assert_ok(made.done);
  made.bundle.target = "cuda:sm_90";
  assert_fails(cuda_ops().validate(nullptr, made.bundle, nullptr), TLC_REJECTED, "it is for sm_80");
  auto ptx = compile_cuda(with_output(kSaxpy, "ptx"), "cuda:sm_80");
  assert_ok(ptx.done);
  ptx.bundle.target = "cuda:compute_90";
  assert_fails(cuda_ops().validate(nullptr, ptx.bundle, nullptr), TLC_REJECTED, "compute_80");
}

void identity_is_that_of_the_libraries(void**) {
  const std::string first = identity(cuda_request(kSaxpy));
  assert_true(contains(first, "libnvrtc ") && contains(first, "libnvrtc-builtins "));
  assert_true(identity(cuda_request("other")) == first);  // the source is in the key already
  assert_true(new_cuda_ops().identify(nullptr, cuda_request(kSaxpy), "cuda:sm_90").value() == first);
  // -G puts the working directory into the binary.
  const std::string debug = identity(cuda_request(kSaxpy, {"-G"}));
  const std::string before = std::filesystem::current_path();
  const Scratch scratch;
  std::filesystem::current_path(scratch.path());
  assert_true(identity(cuda_request(kSaxpy, {"-G"})) != debug);
  assert_true(identity(cuda_request(kSaxpy)) == first);
  std::filesystem::current_path(before);
  // The driver compiles PTX.
  assert_true(contains(identity(with_output(kSaxpy, "ptx")), "driver "));
  assert_false(contains(first, "driver "));
}

void a_copy_of_nvrtc_is_the_same_compiler(void**) {
  const Scratch scratch;
  const std::filesystem::path path(::getenv("TLC_TEST_NVRTC"));
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("libnvrtc")) std::filesystem::copy(entry.path(), scratch.path(name));
  }
  FakeRequest request = cuda_request(kSaxpy);
  const std::string first = identity(request);
  request.fields["compiler"] = text_value(scratch.path(path.filename()));
  assert_true(identity(request) == first);
  const auto made = compile_cuda(request);
  assert_ok(made.done);
  request.fields["compiler"] = text_value(scratch.path("absent.so"));
  assert_fails(compile_cuda(request).done, TLC_E_UNAVAILABLE, "absent.so");
}

/// Another build id in a copy of the file, put in its place.
void change_build_id(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const std::size_t note = bytes.find(std::string("\x03\0\0\0GNU\0", 8));
  assert_true(note != std::string::npos);
  bytes[note + 8] = static_cast<char>(bytes[note + 8] ^ 1);
  write_file(path + ".new", bytes);
  std::filesystem::rename(path + ".new", path);
}

// Its identity is told from what is remembered, without opening it; then it is replaced, then it should compile.
void an_nvrtc_replaced_after_the_key_was_made_does_not_compile_for_it(void**) {
  const Scratch scratch;
  const std::filesystem::path path(::getenv("TLC_TEST_NVRTC"));
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("libnvrtc")) std::filesystem::copy(entry.path(), scratch.path(name));
  }
  FakeRequest request = cuda_request(kSaxpy);
  request.fields["compiler"] = text_value(scratch.path(path.filename()));
  assert_ok(new_cuda_ops().identify(nullptr, request, "cuda:sm_90"));
  const Ops other = new_cuda_ops();
  const auto told = other.identify(nullptr, request, "cuda:sm_90");
  assert_ok(told);
  change_build_id(std::filesystem::canonical(scratch.path(path.filename())));
  FakeBundle bundle;
  FakeLog log;
  const auto compiled = other.compile(nullptr, request, "cuda:sm_90", bundle, log);
  assert_fails(compiled, TLC_E_UNCACHEABLE, "is not the NVRTC any more");
  assert_true(bundle.members.empty());
  assert_true(other.identify(nullptr, request, "cuda:sm_90").value() != *told);
}

void appended_flags_make_it_uncacheable(void**) {
  ::setenv("NVRTC_APPEND_FLAGS", "-DX", 1);
  assert_fails(cuda_ops().identify(nullptr, cuda_request(kSaxpy), "cuda:sm_90"), TLC_E_UNCACHEABLE,
               "NVRTC_APPEND_FLAGS");
  assert_fails(compile_cuda(cuda_request(kSaxpy)).done, TLC_E_UNCACHEABLE, "NVRTC_APPEND_FLAGS");
  ::unsetenv("NVRTC_APPEND_FLAGS");
}

void the_working_directory_is_not_searched(void**) {
  const Scratch scratch;
  write_file(scratch.path("hidden.h"), "#define HIDDEN 1\n");
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(scratch.path());
  const auto plain = compile_cuda(cuda_request("#include \"hidden.h\"\n__device__ int v = HIDDEN;"));
  FakeRequest memory = cuda_request("#include \"m.h\"\n__device__ int v = HIDDEN;");
  memory.fields["headers"] = map_value({{"m.h", text_value("#include \"hidden.h\"\n")}});
  const auto from_memory = compile_cuda(memory);
  const auto pre = compile_cuda(cuda_request("__device__ int v = HIDDEN;", {"-include", "hidden.h"}));
  std::filesystem::current_path(before);
  assert_fails(plain.done, TLC_E_COMPILE, "hidden.h");
  assert_fails(from_memory.done, TLC_E_COMPILE, "hidden.h");
  assert_fails(pre.done, TLC_E_INVALID, "hidden.h");
}

void the_stack_limit_stays(void**) {
  rlimit before{};
  assert_int_equal(::getrlimit(RLIMIT_STACK, &before), 0);
  rlimit known = before;
  known.rlim_cur = 8 << 20;
  assert_int_equal(::setrlimit(RLIMIT_STACK, &known), 0);
  std::atomic<bool> stop{false};
  std::atomic<bool> changed{false};
  std::thread watcher([&] {
    while (!stop) {
      rlimit now{};
      if (::getrlimit(RLIMIT_STACK, &now) == 0 && now.rlim_cur != known.rlim_cur) changed = true;
      ::usleep(200);
    }
  });
  const auto made = compile_cuda(cuda_request(big_source()));
  stop = true;
  watcher.join();
  ::setrlimit(RLIMIT_STACK, &before);
  assert_ok(made.done);
  assert_false(changed);
}

void own_handler(int) {}

void signal_handlers_stay(void**) {
  constexpr int kWatched[] = {SIGINT, SIGTERM, SIGXFSZ};
  struct sigaction mine {};
  mine.sa_handler = own_handler;
  struct sigaction before[3];
  for (int i = 0; i < 3; ++i) ::sigaction(kWatched[i], &mine, &before[i]);
  // One compile begins, another begins within it and ends after it: that would put back the first one's handlers.
  std::atomic<bool> first_ok{false};
  std::thread first([&] { first_ok = compile_cuda(cuda_request(big_source())).done.ok(); });
  ::usleep(150'000);
  std::string source = big_source();
  for (std::size_t at = 0; (at = source.find("void k", at)) != std::string::npos; ++at) source.insert(at + 6, "x");
  const bool second_ok = compile_cuda(cuda_request(source)).done.ok();
  first.join();
  bool kept = true;
  for (const int signal : kWatched) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    kept = kept && now.sa_handler == own_handler;
  }
  for (int i = 0; i < 3; ++i) ::sigaction(kWatched[i], &before[i], nullptr);
  assert_true(first_ok && second_ok);
  assert_true(kept);
}

void a_cancelled_compile_ends(void**) {
  fake_state().cancelled = true;
  const auto made = compile_cuda(cuda_request(big_source()));
  fake_state().cancelled = false;
  // Before CUDA 12.8 NVRTC cannot be told to stop.
  if (!made.done.ok()) assert_int_equal(made.done.error().status, TLC_E_CANCELLED);
}

void binaries_describe_themselves(void**) {
  auto made = compile_cuda(
      cuda_request(
          "__device__ int counter;\nextern \"C\" __global__ void k(float* p) { __shared__ float s[100]; "
          "s[threadIdx.x] = p[threadIdx.x]; __syncthreads(); p[threadIdx.x] = s[99 - threadIdx.x]; counter = 1; }"),
      "cuda:sm_80");
  assert_ok(made.done);
  auto json = cuda_ops().describe(nullptr, made.bundle);
  assert_ok(json);
  for (const char* part : {"\"format\": \"cubin\"", "\"archs\": [\"sm_80\"]", "\"name\": \"k\"",
                           "\"shared_bytes\": 400", "\"symbols\": [\"counter\"]"}) {
    assert_true_msg(contains(*json, part), "%s lacks %s", json->c_str(), part);
  }
  assert_false(contains(*json, "\"registers\": 0,"));
  auto newer = compile_cuda(cuda_request(kSaxpy), "cuda:sm_90");
  json = cuda_ops().describe(nullptr, newer.bundle);
  assert_ok(json);
  assert_true(contains(*json, "\"name\": \"saxpy\"") && !contains(*json, "\"registers\": 0,"));
  auto ptx = compile_cuda(cuda_request(kSaxpy), "cuda:compute_80");
  json = cuda_ops().describe(nullptr, ptx.bundle);
  assert_ok(json);
  assert_true(contains(*json, "\"format\": \"PTX\", \"archs\": [\"compute_80\"]") && contains(*json, "\"saxpy\""));
  made.bundle.members[0].bytes.resize(1000);
  json = cuda_ops().describe(nullptr, made.bundle);
  assert_ok(json);
  assert_true(contains(*json, "\"problem\": "));
}

void the_probe_says_what_there_is(void**) {
  auto probe = cuda_ops().probe(nullptr);
  assert_ok(probe);
  assert_true(contains(*probe, "\"nvrtc\": \"/") && contains(*probe, "\"sm_90\"") && contains(*probe, "\"load\": "));
}

}  // namespace

int main() {
  if (!use_test_nvrtc()) return 77;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_cubin_is_made_and_is_whole),
      cmocka_unit_test(ptx_and_lto_ir_are_made),
      cmocka_unit_test(errors_come_back_with_the_whole_log),
      cmocka_unit_test(unknown_archs_are_refused_with_the_known_ones),
      cmocka_unit_test(name_expressions_are_lowered),
      cmocka_unit_test(defines_options_and_headers_reach_the_compiler),
      cmocka_unit_test(headers_of_folders_are_guarded),
      cmocka_unit_test(a_header_that_is_being_written_is_not_trusted),
      cmocka_unit_test(variants_of_an_arch_are_kept_apart),
      cmocka_unit_test(a_binary_of_another_arch_is_rejected),
      cmocka_unit_test(identity_is_that_of_the_libraries),
      cmocka_unit_test(an_nvrtc_replaced_after_the_key_was_made_does_not_compile_for_it),
      cmocka_unit_test(a_copy_of_nvrtc_is_the_same_compiler),
      cmocka_unit_test(appended_flags_make_it_uncacheable),
      cmocka_unit_test(the_working_directory_is_not_searched),
      cmocka_unit_test(the_stack_limit_stays),
      cmocka_unit_test(signal_handlers_stay),
      cmocka_unit_test(a_cancelled_compile_ends),
      cmocka_unit_test(binaries_describe_themselves),
      cmocka_unit_test(the_probe_says_what_there_is),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
