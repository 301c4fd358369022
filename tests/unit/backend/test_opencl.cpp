// SPDX-License-Identifier: MIT
// Real programs by the OpenCL driver that this machine has (tools/dev test installs PoCL), through a cache: what is
// made is whole, found again, runs with the right results, and is refused where it does not belong. Skipped where there
// is no driver. The driver is opened in children only: what forks must not have it.
#include "tlc_test.hpp"

#include <dlfcn.h>

#include <chrono>
#include <fstream>

#include "../cache/cache_support.hpp"
#include "opencl/binary_check.hpp"
#include "opencl_support.hpp"
#include "scratch.hpp"

using namespace tlc;
using namespace tlc::test;
using Clock = std::chrono::steady_clock;

namespace {

const char* const kSource =
    "__kernel void saxpy(float a, __global const float* x, __global float* y, int n) {\n"
    "  int i = get_global_id(0);\n"
    "  if (i < n) y[i] += a * x[i];\n"
    "}\n"
    "__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void twice(__global float* y) { y[get_global_id(0)] *= 2; "
    "}\n";

/// The target of the device that `opencl` stands for, as `tlcache backends` lists it; empty: there is none.
const std::string& device_target() {
  static const std::string found = [] {
    const auto told = opencl_ops().probe(nullptr);
    if (!told.ok()) {
      print_message("%s\n", told.error().message.c_str());
      return std::string();
    }
    const std::string mark = "\"native\": \"";
    const std::size_t at = told->find(mark) + mark.size();
    return told->substr(at, told->find('"', at) - at);
  }();
  return found;
}

int need_driver(void**) {
  if (device_target().empty()) {
    print_message("skipped: there is no OpenCL driver here\n");
    skip();
  }
  return 0;
}

Compiled compile(const FakeRequest& request) {
  return compile_by(opencl_ops(), request, device_target());
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// What a process does that opens the driver: in a child, with the driver's own cache in a folder that goes with it.
template <typename Body>
void with_driver(Body&& body) {
  const Scratch own_cache;
  const int code = in_child([&] {
    ::setenv("POCL_CACHE_DIR", own_cache.path("pocl").c_str(), 1);
    ::setenv("HOME", own_cache.path().c_str(), 1);
    std::filesystem::create_directory(own_cache.path("pocl"));
    return body();
  });
  assert_int_equal(code, 0);
}

Own<tlc_request> request_for(const std::string& source, const char* define = nullptr) {
  tlc_request* raw = nullptr;
  assert_int_equal(tlc_request_create(str("test"), &raw, nullptr), TLC_OK);
  Own<tlc_request> request(raw);
  assert_int_equal(tlc_request_set_target(raw, str(device_target()), nullptr), TLC_OK);
  assert_int_equal(tlc_request_add_text(raw, str("source"), str(source), 0, nullptr), TLC_OK);
  if (define == nullptr) return request;
  assert_int_equal(tlc_request_begin_list(raw, str("options"), 0, nullptr), TLC_OK);
  assert_int_equal(tlc_request_add_text(raw, {}, str(define), 0, nullptr), TLC_OK);
  assert_int_equal(tlc_request_end(raw, nullptr), TLC_OK);
  return request;
}

Own<tlc_artifact> get(tlc_cache* cache, bool& compiled, const char* define = nullptr) {
  const Own<tlc_request> request = request_for(kSource, define);
  tlc_artifact* artifact = nullptr;
  tlc_blob* log = nullptr;
  Err error;
  if (tlc_cache_get_or_compile(cache, request.get(), nullptr, &artifact, &log, &error) != TLC_OK)
    print_error("%s\n", error.message);
  const Own<tlc_blob> said(log);
  compiled = log != nullptr;
  return Own<tlc_artifact>(artifact);
}

/// The functions that a program calls which has loaded one.
class Launcher {
 public:
  explicit Launcher(void* context) : context_(context) {
    int result = 0;
    void* device = first_device(context);
    queue_ = call<void*(void*, void*, unsigned long, int*)>("clCreateCommandQueue")(context, device, 0, &result);
  }

  static void* program_context(void* program) {
    void* context = nullptr;
    call<int(void*, unsigned, std::size_t, void*, std::size_t*)>("clGetProgramInfo")(
        program, 0x1161, sizeof context, static_cast<void*>(&context), nullptr);
    return context;
  }

  /// Another one with the first device of this one.
  static void* new_context(void* beside) {
    void* device = first_device(beside);
    int result = 0;
    return call<void*(const long*, unsigned, void* const*, void*, void*, int*)>("clCreateContext")(
        nullptr, 1, &device, nullptr, nullptr, &result);
  }

  /// saxpy of 2 and x = 0, 1, 2, ... onto ones; whether the result is right.
  bool saxpy(void* kernel) {
    constexpr int kCount = 1000;
    std::vector<float> x(kCount);
    std::vector<float> y(kCount, 1);
    for (int i = 0; i < kCount; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i);
    void* on_device[2] = {buffer(x), buffer(y)};
    const float a = 2;
    const int n = kCount;
    int result = set(kernel, 0, &a, sizeof a) | set(kernel, 1, static_cast<const void*>(&on_device[0]), sizeof(void*)) |
                 set(kernel, 2, static_cast<const void*>(&on_device[1]), sizeof(void*)) | set(kernel, 3, &n, sizeof n);
    const std::size_t size = 1024;
    result |=
        call<int(void*, void*, unsigned, const std::size_t*, const std::size_t*, const std::size_t*, unsigned, void*,
                 void*)>("clEnqueueNDRangeKernel")(queue_, kernel, 1, nullptr, &size, nullptr, 0, nullptr, nullptr);
    result |= call<int(void*, void*, unsigned, std::size_t, std::size_t, void*, unsigned, void*, void*)>(
        "clEnqueueReadBuffer")(queue_, on_device[1], 1, 0, 4 * kCount, y.data(), 0, nullptr, nullptr);
    for (int i = 0; i < kCount; ++i) {
      if (y[static_cast<std::size_t>(i)] != 1 + 2 * static_cast<float>(i)) return false;
    }
    return result == 0;
  }

 private:
  template <typename Function>
  static Function* call(const char* name) {
    static void* const library = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function*>(::dlsym(library, name));
  }
  static void* first_device(void* context) {
    std::vector<void*> devices(64);
    call<int(void*, unsigned, std::size_t, void*, std::size_t*)>("clGetContextInfo")(
        context, 0x1081, devices.size() * sizeof(void*), static_cast<void*>(devices.data()), nullptr);
    return devices.front();
  }
  static int set(void* kernel, unsigned index, const void* value, std::size_t size) {
    return call<int(void*, unsigned, std::size_t, const void*)>("clSetKernelArg")(kernel, index, size, value);
  }
  void* buffer(std::vector<float>& values) {
    constexpr unsigned long kCopied = 1 << 0 | 1 << 5;
    int result = 0;
    return call<void*(void*, unsigned long, std::size_t, void*, int*)>("clCreateBuffer")(
        context_, kCopied, 4 * values.size(), values.data(), &result);
  }

  void* context_;
  void* queue_;
};

void a_program_is_made_whole(void**) {
  Compiled made = compile(source_request(kSource));
  assert_ok(made.done);
  const std::string& bytes = made.member("program.clbin")->bytes;
  const auto binary = tlcb::opencl::check_binary(bytes);
  assert_true_msg(binary.ok(), "%s", binary.problem.c_str());
  const auto info = tlcb::opencl::parse_program(made.member("program.json")->bytes);
  assert_true(info.has_value());
  assert_string_equal(info->device.target().c_str(), device_target().c_str());
  assert_u64(info->kernels.size(), 2);
  if (binary.format == tlcb::opencl::Format::pocl) assert_u64(binary.kernels.size(), 2);
  const auto told = opencl_ops().describe(nullptr, made.bundle);
  assert_ok(told);
  for (const char* part : {"\"name\": \"saxpy\"", "\"required_group\": \"8x1x1\"", "\"driver\": "})
    assert_true_msg(contains(*told, part), "%s not in %s", part, told->c_str());
  print_message("%s: %zu bytes, %s\n", device_target().c_str(), bytes.size(),
                tlcb::opencl::format_name(binary.format).c_str());
}

// A second process neither opens a driver nor starts a worker.
void a_second_process_hits_without_a_driver(void**) {
  const Scratch scratch;
  for (const bool first : {true, false}) {
    const int code = in_child([&] {
      if (!first) ::setenv("TLC_WORKER", "/nonexistent/tlcache-worker", 1);
      bool compiled = false;
      const auto start = Clock::now();
      const Own<tlc_artifact> artifact = get(open_cache(scratch.path("store")).get(), compiled);
      print_message("%s: %.1f ms\n", first ? "cold" : "hit in another process", ms_since(start));
      std::ifstream maps("/proc/self/maps");
      const std::string all((std::istreambuf_iterator<char>(maps)), {});
      if (contains(all, "libOpenCL") || contains(all, "libpocl") || contains(all, "libLLVM")) return 2;
      return artifact != nullptr && compiled == first ? 0 : 1;
    });
    assert_int_equal(code, 0);
  }
}

int load_and_run(const std::string& store, bool own_context) {
  bool compiled = false;
  const Own<tlc_cache> cache = open_cache(store);
  auto start = Clock::now();
  const Own<tlc_artifact> artifact = get(cache.get(), compiled);
  const double got = ms_since(start);
  tlc_load_options options;
  tlc_load_options_init(&options);
  tlc_module* raw = nullptr;
  Err error;
  if (!own_context) {
    if (tlc_cache_load(cache.get(), artifact.get(), nullptr, &raw, &error) != TLC_OK) return 7;
    options.context = Launcher::new_context(Launcher::program_context(tlc_module_native(raw)));
    tlc_module_release(raw);
  }
  start = Clock::now();
  if (artifact == nullptr || tlc_cache_load(cache.get(), artifact.get(), &options, &raw, &error) != TLC_OK) {
    print_error("%s\n", error.message);
    return 1;
  }
  const Own<tlc_module> module(raw);
  const double loaded = ms_since(start);
  void* program = tlc_module_native(raw);
  if (!own_context && Launcher::program_context(program) != options.context) return 2;
  void* kernel = nullptr;
  if (tlc_module_symbol(raw, str("saxpy"), &kernel, &error) != TLC_OK) return 3;
  if (tlc_module_symbol(raw, str("absent"), &kernel, &error) != TLC_E_NOT_FOUND || !contains(error.message, "twice"))
    return 4;
  tlc_module_symbol(raw, str("saxpy"), &kernel, &error);
  Launcher launcher(Launcher::program_context(program));
  start = Clock::now();
  if (!launcher.saxpy(kernel)) return 5;
  print_message("%s %.1f ms, loaded %.1f ms, first launch %.1f ms\n", compiled ? "compiled" : "hit", got, loaded,
                ms_since(start));
  return launcher.saxpy(kernel) ? 0 : 6;
}

void a_loaded_program_computes(void**) {
  const Scratch scratch;
  for (const bool own_context : {true, false, true})
    with_driver([&] { return load_and_run(scratch.path("store"), own_context); });
}

void the_driver_s_own_cache_stays_out_of_it(void**) {
  const Scratch home;
  const std::string before = ::getenv("HOME");
  ::setenv("HOME", home.path().c_str(), 1);
  const auto made = compile(source_request(std::string(kSource) + "// another\n"));
  ::setenv("HOME", before.c_str(), 1);
  assert_ok(made.done);
  assert_true(std::filesystem::is_empty(home.path()));
}

void other_options_are_other_programs(void**) {
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path("store"));
  bool compiled = false;
  for (const char* option : {"-DUNUSED", "-cl-fast-relaxed-math"}) {
    (void)get(cache.get(), compiled, option);
    assert_true_msg(compiled, "%s", option);
    (void)get(cache.get(), compiled, option);
    assert_false(compiled);
  }
}

void errors_come_back_with_the_log(void**) {
  const auto bad = compile(source_request("__kernel void k(__global int* p) {\n  *p = nonsense;\n}\n"));
  assert_fails(bad.done, TLC_E_COMPILE, "nonsense");
  assert_true_msg(contains(bad.log.text, "kernel.cl:2"), "%s", bad.log.text.c_str());
}

void headers_are_found_as_they_are_guarded(void**) {
  const Scratch scratch;
  write_file(scratch.path("first/other.h"), "");
  write_file(scratch.path("second/sub/value.h"), "#include \"near.h\"\n#include \"memory.h\"\n");
  write_file(scratch.path("second/sub/near.h"), "#define NEAR 5\n");
  write_file(scratch.path("second/memory.h"), "#error not this one\n");
  let_files_age();
  FakeRequest request = source_request(
      "#include <sub/value.h>\n#if NEAR != 5 || MEMORY != 7\n#error wrong\n#endif\n"
      "__kernel void k(__global int* p) { *p = NEAR; }\n");
  request.fields["include_dirs"] = list_value({scratch.path("first"), scratch.path("second")});
  request.fields["headers"] = map_value({{"memory.h", text_value("#define MEMORY 7\n")}});
  const auto made = compile(request);
  assert_ok(made.done);
  assert_true(made.bundle.present.count(scratch.path("second/sub/near.h")) == 1);
  assert_true(made.bundle.is_absent(scratch.path("first/sub")));
  // Not searched: the folder where the program is, and the system's.
  assert_fails(compile(source_request("#include \"CMakeCache.txt\"\n__kernel void k() {}")).done, TLC_E_COMPILE, "");
  assert_fails(compile(source_request("#include <stdio.h>\n__kernel void k() {}")).done, TLC_E_COMPILE, "");
}

// A linker that is missing ends PoCL's process: the worker's, not this one.
void a_driver_that_cannot_go_on_ends_the_worker_only(void**) {
  const std::string before = ::getenv("PATH");
  ::setenv("PATH", "/nonexistent", 1);
  const auto made = compile(source_request(kSource));
  ::setenv("PATH", before.c_str(), 1);
  if (!made.done.ok()) {
    assert_fails(made.done, TLC_E_COMPILE, "did not survive");
    assert_false(made.log.text.empty());
  }
  assert_ok(compile(source_request(kSource)).done);
}

// The driver itself would take most of them, and end the process on some.
void damaged_programs_are_refused(void**) {
  const Compiled made = compile(source_request(kSource));
  assert_ok(made.done);
  const std::string whole = made.member("program.clbin")->bytes;
  const auto refused = [&](const std::string& bytes) {
    FakeBundle artifact = made.bundle;
    artifact.members[0].bytes = bytes;
    const auto fits = opencl_ops().validate(nullptr, artifact, nullptr);
    const auto loaded = opencl_ops().load(nullptr, artifact, nullptr);
    return !fits.ok() && fits.error().status == TLC_REJECTED && !loaded.ok() && loaded.error().status == TLC_REJECTED;
  };
  for (std::size_t size = 0; size < whole.size(); size += 97) assert_true(refused(whole.substr(0, size)));
  const bool pocl = tlcb::opencl::check_binary(whole).format == tlcb::opencl::Format::pocl;
  for (std::size_t i = 0; i < whole.size(); i += 41) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x04);
    assert_true_msg(refused(flipped), "byte %zu", i);
    // And without what vouches for it nothing falls over; a cut is seen all the same.
    (void)tlcb::opencl::check_binary(flipped);
    if (pocl && i > 7) assert_false(tlcb::opencl::check_binary(whole.substr(0, i)).ok());
  }
}

void programs_of_others_are_refused(void**) {
  const Compiled made = compile(source_request(kSource));
  assert_ok(made.done);
  const std::string whole = made.member("program.clbin")->bytes;
  const auto info = tlcb::opencl::parse_program(made.member("program.json")->bytes);
  assert_true(info.has_value());
  const auto refused = [&](void (*change)(tlcb::opencl::DeviceFacts&), const char* part) {
    tlcb::opencl::DeviceFacts other = info->device;
    change(other);
    FakeBundle artifact = opencl_artifact(other, whole);
    with_driver([&] {
      const auto loaded = opencl_ops().load(nullptr, artifact, nullptr);
      return !loaded.ok() && loaded.error().status == TLC_REJECTED && contains(loaded.error().message, part) ? 0 : 1;
    });
  };
  refused([](tlcb::opencl::DeviceFacts& facts) { facts.name += " II"; }, "here the device is");
  refused([](tlcb::opencl::DeviceFacts& facts) { facts.driver = "0.1"; }, "here the driver is");
  refused([](tlcb::opencl::DeviceFacts& facts) { facts.platform_version += " next"; }, "here the platform version is");
}

struct Tampered {
  std::string binary;
  std::string info;
  int compiles = 0;
};

tlc_status tampered_first(const tlc_request*, const tlc_key*, tlc_bundle* bundle, tlc_log*, tlc_error* error,
                          void* data) {
  auto& given = *static_cast<Tampered*>(data);
  std::string binary = given.binary;
  // PoCL's hash of the device; of another format, its beginning.
  if (++given.compiles == 1) binary[8] = static_cast<char>(binary[8] ^ 1);
  const auto info = tlcb::opencl::parse_program(given.info);
  const std::string json = tlcb::opencl::program_json(info->device, binary, "{}");
  const tlc_status status =
      tlc_bundle_add(bundle, str("program.clbin"), TLC_MEMBER_DEVICE_BINARY, binary.data(), binary.size(), 0, error);
  return status != TLC_OK
             ? status
             : tlc_bundle_add(bundle, str("program.json"), TLC_MEMBER_JSON, json.data(), json.size(), 0, error);
}

void what_the_driver_refuses_is_compiled_again_once(void**) {
  const Compiled made = compile(source_request(kSource));
  assert_ok(made.done);
  if (tlcb::opencl::check_binary(made.member("program.clbin")->bytes).format != tlcb::opencl::Format::pocl) skip();
  const Scratch scratch;
  with_driver([&] {
    Tampered given{made.member("program.clbin")->bytes, made.member("program.json")->bytes, 0};
    const Own<tlc_cache> cache = open_cache(scratch.path("store"));
    const Own<tlc_request> request = request_for(kSource);
    tlc_compile_options options;
    tlc_compile_options_init(&options);
    options.compile = tampered_first;
    options.user_data = &given;
    const tlc_status expected[] = {TLC_E_LOAD, TLC_OK, TLC_OK};
    const int compiles[] = {1, 2, 2};
    for (int i = 0; i < 3; ++i) {
      tlc_artifact* artifact = nullptr;
      tlc_module* module = nullptr;
      Err error;
      if (tlc_cache_get_or_compile(cache.get(), request.get(), &options, &artifact, nullptr, &error) != TLC_OK)
        return 1;
      const Own<tlc_artifact> owned(artifact);
      const tlc_status status = tlc_cache_load(cache.get(), artifact, nullptr, &module, &error);
      const Own<tlc_module> loaded(module);
      if (status != expected[i] || given.compiles != compiles[i]) return 2;
      if (status == TLC_E_LOAD && !contains(error.message, "CL_INVALID_BINARY")) return 3;
    }
    return 0;
  });
}

// With Debian's packages PoCL ends such a process; others may live.
void amd_s_compiler_in_the_process_does_no_harm(void**) {
  if (::dlopen("libamd_comgr.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != nullptr) fail_msg("it is here already");
  with_driver([] {
    if (::dlopen("libamd_comgr.so.2", RTLD_NOW | RTLD_LOCAL) == nullptr) {
      print_message("not tried: there is no libamd_comgr.so.2 here\n");
      return 0;
    }
    const auto told = opencl_ops().resolve_target(nullptr, "opencl");
    if (!told.ok()) print_message("%s\n", told.error().message.c_str());
    return told.ok() || told.error().status == TLC_E_UNAVAILABLE ? 0 : 1;
  });
}

void one_of_many_processes_compiles(void**) {
  const Scratch scratch;
  constexpr int kProcesses = 4;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(start_child([&] {
      bool compiled = false;
      const Own<tlc_artifact> artifact = get(open_cache(scratch.path("store")).get(), compiled);
      return artifact == nullptr ? 100 : compiled ? 1 : 0;
    }));
  }
  int compiled = 0;
  for (const pid_t child : children) compiled += wait_for(child);
  assert_int_equal(compiled, 1);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_program_is_made_whole, need_driver),
      cmocka_unit_test_setup(a_second_process_hits_without_a_driver, need_driver),
      cmocka_unit_test_setup(a_loaded_program_computes, need_driver),
      cmocka_unit_test_setup(the_driver_s_own_cache_stays_out_of_it, need_driver),
      cmocka_unit_test_setup(other_options_are_other_programs, need_driver),
      cmocka_unit_test_setup(errors_come_back_with_the_log, need_driver),
      cmocka_unit_test_setup(headers_are_found_as_they_are_guarded, need_driver),
      cmocka_unit_test_setup(a_driver_that_cannot_go_on_ends_the_worker_only, need_driver),
      cmocka_unit_test_setup(damaged_programs_are_refused, need_driver),
      cmocka_unit_test_setup(programs_of_others_are_refused, need_driver),
      cmocka_unit_test_setup(what_the_driver_refuses_is_compiled_again_once, need_driver),
      cmocka_unit_test_setup(amd_s_compiler_in_the_process_does_no_harm, need_driver),
      cmocka_unit_test_setup(one_of_many_processes_compiles, need_driver),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
