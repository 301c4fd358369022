// SPDX-License-Identifier: MIT
// Finding devices and compiling in tlcache-worker, with an OpenCL loader made for tests (fake_opencl.c): what comes
// back, what makes another key, what stays in the worker. Arguments: the fake's file, and that of OpenCL 1.1.
// TLC_WORKER names the worker.
#include "tlc_test.hpp"

#include <signal.h>
#include <sys/stat.h>

#include "opencl_support.hpp"
#include "scratch.hpp"

using namespace tlc::test;

namespace {

const char* g_fake = nullptr;
const char* g_old = nullptr;

FakeRequest request_of(const std::string& source, const std::vector<std::string>& options = {}) {
  return source_request(source, options);
}
Compiled compile(const FakeRequest& request, const std::string& target = kFakeGpuTarget) {
  return compile_by(new_opencl_ops(), request, target);
}
std::string identity(const std::string& target = kFakeGpuTarget) {
  const auto told = new_opencl_ops().identify(nullptr, request_of("x"), target);
  assert_ok(told);
  return *told;
}
const std::string& binary_of(const Compiled& made) {
  assert_ok(made.done);
  return made.member("program.clbin")->bytes;
}

int reset(void**) {
  ::setenv("TLC_OPENCL", g_fake, 1);
  ::unsetenv("OCL_ICD_VENDORS");
  fake_state().memos.clear();
  return 0;
}

void what_is_asked_for_reaches_the_driver(void**) {
  FakeRequest request = request_of("the source", {"-DX=1", "-cl-mad-enable"});
  request.fields["defines"] = map_value({{"Y", text_value("a b")}});
  const auto made = compile(request);
  for (const char* part : {"FAKEBIN for Fake GPU(TM) 9000\n", "[-cl-mad-enable]",
                           "#define Y a b\n#define X 1\n#line 1 \"kernel.cl\"\nthe source\n"}) {
    assert_true_msg(contains(binary_of(made), part), "not there: %s", part);
  }
  // What it printed is in the log; the answer is not disturbed.
  assert_true(contains(made.log.text, "noise on standard output"));
  const auto info = tlcb::opencl::parse_program(made.member("program.json")->bytes);
  assert_true(info.has_value());
  assert_true(info->device == fake_gpu());
  assert_u64(info->kernels.size(), 2);
  assert_string_equal(info->kernels[1].required.c_str(), "64x2x1");
  assert_string_equal(info->kernels[0].arguments.at(0).c_str(), "global float* x");
  assert_ok(new_opencl_ops().validate(nullptr, const_cast<Compiled&>(made).bundle, nullptr));
}

void headers_from_memory_are_compiled_with(void**) {
  FakeRequest request = request_of("the source");
  request.fields["headers"] = map_value({{"sub/h.h", text_value("text of h")}});
  const auto made = compile(request);
  assert_true(contains(binary_of(made), "sub/h.h\ntext of h\n"));
  assert_true(contains(binary_of(made), "linked\n"));
  ::setenv("TLC_OPENCL", g_old, 1);
  assert_fails(compile(request).done, TLC_E_UNAVAILABLE, "OpenCL 1.2");
  assert_ok(compile(request_of("the source")).done);
}

void spirv_is_for_devices_that_take_it(void**) {
  FakeRequest request;
  request.fields["il"] = {TLC_TYPE_BYTES, std::string("\3\2\x23\7", 4) + std::string(16, '\0'), 0, {}};
  assert_true(contains(binary_of(compile(request)), "SPIR-V of 20 bytes, 03"));
  assert_fails(compile(request, kFakeCpuTarget).done, TLC_E_UNAVAILABLE, "takes no SPIR-V");
  ::setenv("TLC_OPENCL", g_old, 1);
  assert_fails(compile(request).done, TLC_E_UNAVAILABLE, "OpenCL 2.1");
}

void the_worker_sees_little_of_the_environment(void**) {
  ::setenv("POCL_EXTRA_BUILD_FLAGS", "-DSECRET", 1);
  ::setenv("XDG_CACHE_HOME", "/secret", 1);
  const auto made = compile(request_of("x"));
  assert_false(contains(binary_of(made), "SECRET") || contains(binary_of(made), "/secret"));
  // A driver's own cache goes where the worker's other files go.
  assert_true(contains(binary_of(made), "HOME=/"));
  assert_false(contains(binary_of(made), std::string("HOME=") + ::getenv("HOME") + "\n"));
  for (const char* name : {"POCL_EXTRA_BUILD_FLAGS", "XDG_CACHE_HOME"}) ::unsetenv(name);
}

void a_driver_that_dies_leaves_its_words(void**) {
  const Scratch temp;
  ::setenv("TMPDIR", temp.path().c_str(), 1);
  const auto made = compile(request_of("crash"));
  ::unsetenv("TMPDIR");
  assert_fails(made.done, TLC_E_COMPILE, "killed by signal 6");
  assert_true(contains(made.done.error().message, "that was too much"));
  assert_true(contains(made.log.text, "fake driver: that was too much"));
  assert_true(made.bundle.members.empty());
  assert_true(std::filesystem::is_empty(temp.path()));  // nothing of it stays behind
  assert_ok(compile(request_of("x")).done);
}

void errors_of_the_source_come_back(void**) {
  const auto made = compile(request_of("nonsense"));
  assert_fails(made.done, TLC_E_COMPILE, "kernel.cl:1:1: error: nonsense is no word");
  assert_u64(made.done.error().backend_code, -11);
  assert_true(contains(made.log.text, "nonsense is no word"));
  FakeRequest request = request_of("nonsense");
  request.fields["headers"] = map_value({{"h.h", text_value("")}});
  assert_u64(compile(request).done.error().backend_code, -15);
}

void a_host_that_ignores_its_children_loses_nothing(void**) {
  ::signal(SIGCHLD, SIG_IGN);
  const auto made = compile(request_of("x"));
  const auto dead = compile(request_of("crash"));
  ::signal(SIGCHLD, SIG_DFL);
  assert_ok(made.done);
  assert_fails(dead.done, TLC_E_COMPILE, "did not survive");
}

void devices_have_keys_of_their_own(void**) {
  const std::string gpu = identity();
  assert_true(identity(kFakeCpuTarget) != gpu);
  assert_true(identity("opencl:fake-cpu") == identity(kFakeCpuTarget));
  for (const char* part :
       {"device: Fake GPU(TM) 9000\n", "driver: 1.0\n", "driver uuid: ab01", "pci: 10de\n", "libOpenCL.so.1"}) {
    assert_true_msg(contains(gpu, part), "not there: %s", part);
  }
  assert_true(contains(identity(kFakeCpuTarget), "pci: 8086:56a0\n"));
  const auto none = new_opencl_ops().identify(nullptr, request_of("x"), "opencl:absent");
  assert_fails(none, TLC_E_UNAVAILABLE, kFakeGpuTarget);
}

void a_driver_update_is_another_key(void**) {
  const std::string before = identity();
  ::setenv("OCL_ICD_VENDORS", "fake:driver=2.0", 1);
  const std::string after = identity();
  assert_true(after != before);
  assert_true(contains(after, "driver: 2.0\n"));
}

void files_of_equal_names_are_not_equal(void**) {
  const Scratch scratch;
  const std::string copy = scratch.path("libOpenCL.so.1");
  std::filesystem::copy_file(g_fake, copy);
  FakeRequest request = request_of("x");
  const std::string original = identity();
  request.fields["compiler"] = text_value(copy);
  const auto ops = new_opencl_ops();
  const auto told = ops.identify(nullptr, request, kFakeGpuTarget);
  assert_ok(told);
  assert_true(contains(*told, original.substr(original.rfind(' '))));  // the same content elsewhere
  std::ifstream in(copy, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const std::size_t note = bytes.find(std::string("\x03\0\0\0GNU\0", 8));
  assert_true(note != std::string::npos);
  bytes[note + 8] = static_cast<char>(bytes[note + 8] ^ 1);
  write_file(copy + ".new", bytes);
  std::filesystem::rename(copy + ".new", copy);
  // Another one in its place after the key was made must not compile for it.
  const auto made = compile_by(ops, request, kFakeGpuTarget);
  assert_fails(made.done, TLC_E_UNCACHEABLE, "not the ones any more");
  assert_true(made.bundle.members.empty());
  // Asked again, it is another key; and what is remembered holds for the new one, too.
  const auto again = ops.identify(nullptr, request, kFakeGpuTarget);
  assert_ok(again);
  assert_true(*again != *told);
  assert_ok(compile_by(ops, request, kFakeGpuTarget).done);
}

void devices_are_looked_for_once(void**) {
  const std::string first = identity();
  // A second process knows what the first one found: without a worker it could not ask.
  const std::string worker = ::getenv("TLC_WORKER");
  ::setenv("TLC_WORKER", "/nonexistent/tlcache-worker", 1);
  const auto second = new_opencl_ops().identify(nullptr, request_of("x"), kFakeGpuTarget);
  const auto compiled = compile(request_of("x"));
  ::setenv("TLC_WORKER", worker.c_str(), 1);
  assert_ok(second);
  assert_true(*second == first);
  assert_fails(compiled.done, TLC_E_UNAVAILABLE, "/nonexistent/tlcache-worker");
}

void a_device_that_came_later_is_found(void**) {
  // As if it had been remembered when only one platform was there: the variable is no part of what is looked at here,
  // since its value is equal.
  ::setenv("OCL_ICD_VENDORS", "fake:platforms=1", 1);
  (void)identity(kFakeCpuTarget);
  const auto& memos = fake_state().memos;
  assert_u64(memos.size(), 1);
  const std::string key = memos.begin()->first;
  const std::string value = memos.begin()->second;
  ::unsetenv("OCL_ICD_VENDORS");
  fake_state().memos.clear();
  (void)identity();
  const std::string now = fake_state().memos.begin()->first;
  fake_state().memos = {{now, value}};
  assert_true(key != now);
  assert_true(contains(identity(), "device: Fake GPU(TM) 9000\n"));
}

void without_a_driver_it_is_said_what_to_install(void**) {
  const auto asked = [] { return new_opencl_ops().identify(nullptr, request_of("x"), kFakeGpuTarget); };
  ::setenv("OCL_ICD_VENDORS", "fake:platforms=0", 1);
  assert_fails(asked(), TLC_E_UNAVAILABLE, "pocl-opencl-icd");
  assert_fails(new_opencl_ops().probe(nullptr), TLC_E_UNAVAILABLE, "pocl-opencl-icd");
  ::setenv("TLC_OPENCL", "/nonexistent/libOpenCL.so.1", 1);
  assert_fails(asked(), TLC_E_UNAVAILABLE, "/nonexistent/libOpenCL.so.1");
  ::setenv("TLC_OPENCL", "libOpenCL.so.1", 1);
  assert_fails(asked(), TLC_E_UNAVAILABLE, "absolute path");
  ::setenv("TLC_OPENCL", "/proc/self/exe", 1);
  assert_false(asked().ok());
}

void each_store_knows_what_its_artifacts_need(void**) {
  const FakeRequest request = request_of("x");
  const auto ops = new_opencl_ops();
  assert_ok(ops.identify(nullptr, request, kFakeGpuTarget));
  fake_state().memos.clear();  // as another store's
  assert_ok(compile_by(ops, request, kFakeGpuTarget).done);
  const std::string worker = ::getenv("TLC_WORKER");
  ::setenv("TLC_WORKER", "/nonexistent/tlcache-worker", 1);
  const auto told = new_opencl_ops().identify(nullptr, request, kFakeGpuTarget);
  ::setenv("TLC_WORKER", worker.c_str(), 1);
  assert_ok(told);
}

void a_cancelled_compile_ends(void**) {
  const auto ops = new_opencl_ops();
  assert_ok(ops.identify(nullptr, request_of("x"), kFakeGpuTarget));
  fake_state().cancelled = true;
  const auto made = compile_by(ops, request_of("x"), kFakeGpuTarget);
  fake_state().cancelled = false;
  // It may have been done before it was asked.
  if (!made.done.ok()) assert_int_equal(made.done.error().status, TLC_E_CANCELLED);
}

void devices_are_listed_for_people(void**) {
  const auto told = new_opencl_ops().probe(nullptr);
  assert_ok(told);
  for (const char* part : {"\"device\": 2", kFakeCpuTarget, kFakeGpuTarget, "\"driver\": \"1.0\""})
    assert_true_msg(contains(*told, part), "%s not in %s", part, told->c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  g_fake = argv[1];
  g_old = argv[2];
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup(what_is_asked_for_reaches_the_driver, reset),
      cmocka_unit_test_setup(headers_from_memory_are_compiled_with, reset),
      cmocka_unit_test_setup(spirv_is_for_devices_that_take_it, reset),
      cmocka_unit_test_setup(the_worker_sees_little_of_the_environment, reset),
      cmocka_unit_test_setup(a_driver_that_dies_leaves_its_words, reset),
      cmocka_unit_test_setup(errors_of_the_source_come_back, reset),
      cmocka_unit_test_setup(a_host_that_ignores_its_children_loses_nothing, reset),
      cmocka_unit_test_setup(devices_have_keys_of_their_own, reset),
      cmocka_unit_test_setup(a_driver_update_is_another_key, reset),
      cmocka_unit_test_setup(files_of_equal_names_are_not_equal, reset),
      cmocka_unit_test_setup(devices_are_looked_for_once, reset),
      cmocka_unit_test_setup(a_device_that_came_later_is_found, reset),
      cmocka_unit_test_setup(without_a_driver_it_is_said_what_to_install, reset),
      cmocka_unit_test_setup(each_store_knows_what_its_artifacts_need, reset),
      cmocka_unit_test_setup(a_cancelled_compile_ends, reset),
      cmocka_unit_test_setup(devices_are_listed_for_people, reset),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
