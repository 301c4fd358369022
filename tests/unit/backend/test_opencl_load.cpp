// SPDX-License-Identifier: MIT
// Loading through an OpenCL loader made for tests (fake_opencl.c): devices, contexts, kernels, errors. Argument: the
// fake's file, and that of a library it does not live with.
#include "tlc_test.hpp"

#include <dlfcn.h>

#include "../cache/cache_support.hpp"
#include "fake_opencl.h"
#include "opencl_support.hpp"
#include "scratch.hpp"

using namespace tlc;
using namespace tlc::backend;
using namespace tlc::test;

namespace {

void* fake_library = nullptr;
const char* g_comgr = nullptr;

template <typename Function>
Function* function(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(fake_library, name));
}
fake_opencl_state& loader() {
  return *static_cast<fake_opencl_state*>(::dlsym(fake_library, "fake_opencl_state"));
}

/// The fake's devices: the CPU, then two equal GPUs.
std::vector<void*> devices() {
  void* platforms[2];
  std::vector<void*> out(3);
  function<int(unsigned, void**, unsigned*)>("clGetPlatformIDs")(2, platforms, nullptr);
  auto* list = function<int(void*, unsigned long, unsigned, void**, unsigned*)>("clGetDeviceIDs");
  list(platforms[0], 0xFFFFFFFF, 1, &out[0], nullptr);
  list(platforms[1], 0xFFFFFFFF, 2, &out[1], nullptr);
  return out;
}
void* new_context(const std::vector<void*>& of) {
  int result = 0;
  return function<void*(const long*, unsigned, void* const*, void*, void*, int*)>("clCreateContext")(
      nullptr, static_cast<unsigned>(of.size()), of.data(), nullptr, nullptr, &result);
}

int reset(void**) {
  loader() = fake_opencl_state{};
  loader().platforms = 2;
  loader().driver = "1.0";
  return 0;
}

const std::string kBinary = "FAKEBIN for a test";

FakeBundle artifact_of(const tlcb::opencl::DeviceFacts& device = fake_gpu(), const std::string& binary = kBinary) {
  return opencl_artifact(device, binary);
}

tlc_load_options options_for(int device, void* context = nullptr) {
  tlc_load_options options;
  tlc_load_options_init(&options);
  options.device = device;
  options.context = context;
  return options;
}

/// A state of its own, with its own idea of which devices there are.
Result<void*> load(FakeBundle& artifact, const tlc_load_options* options = nullptr, const Ops& ops = opencl_ops()) {
  if (auto fits = ops.validate(nullptr, artifact, options); !fits) return fits.error();
  return ops.load(nullptr, artifact, options);
}

void the_loader_is_not_touched_before_it_is_needed(void**) {
  const Ops fresh = new_opencl_ops();
  assert_ok(fresh.resolve_target(nullptr, kFakeGpuTarget));
  assert_ok(fresh.identify(nullptr, FakeRequest(), kFakeGpuTarget));
  assert_ok(fresh.place(nullptr, nullptr));
  FakeBundle artifact = artifact_of();
  assert_ok(fresh.describe(nullptr, artifact));
  assert_int_equal(loader().calls, 0);
}

void native_is_the_first_device_that_is_no_cpu(void**) {
  for (const char* target : {"opencl", "opencl:native", "opencl:auto", "opencl:1", "opencl:2"})
    assert_string_equal(new_opencl_ops().resolve_target(nullptr, target).value().c_str(), kFakeGpuTarget);
  assert_string_equal(opencl_ops().resolve_target(nullptr, "opencl:0").value().c_str(), kFakeCpuTarget);
  assert_fails(opencl_ops().resolve_target(nullptr, "opencl:3"), TLC_E_INVALID, "no OpenCL device 3");
  loader().platforms = 1;
  assert_string_equal(new_opencl_ops().resolve_target(nullptr, "opencl").value().c_str(), kFakeCpuTarget);
}

void a_program_goes_to_the_device_it_is_for(void**) {
  const std::vector<void*> ids = devices();
  FakeBundle gpu = artifact_of();
  auto module = load(gpu);
  assert_ok(module);
  assert_true(loader().device_at_load == ids[1]);
  assert_u64(loader().devices_at_load, 1);
  assert_u64(loader().size_at_load, kBinary.size());
  assert_memory_equal(loader().start_at_load, "FAKEBIN ", 8);
  FakeBundle cpu = artifact_of(fake_cpu());
  auto other = load(cpu);
  assert_ok(other);
  assert_true(loader().device_at_load == ids[0]);
  const tlc_load_options third = options_for(2);
  auto there = load(gpu, &third);
  assert_ok(there);
  assert_true(loader().device_at_load == ids[2]);
  assert_fails(load(cpu, &third), TLC_REJECTED, "device is 'Fake GPU(TM) 9000', not 'Fake CPU'");
  const tlc_load_options absent = options_for(3);
  assert_fails(load(gpu, &absent), TLC_E_INVALID, "no OpenCL device 3");
  assert_u64(opencl_ops().place(nullptr, &third).value(), 2);
  assert_u64(opencl_ops().place(nullptr, nullptr).value(), 0);
  for (void* one : {*module, *other, *there}) opencl_ops().unload(one);
  assert_int_equal(loader().programs_alive, 0);
  assert_int_equal(loader().references, 0);
}

void contexts_of_our_own_are_made_once(void**) {
  const Ops ops = new_opencl_ops();
  FakeBundle artifact = artifact_of();
  auto one = load(artifact, nullptr, ops);
  auto two = load(artifact, nullptr, ops);
  assert_ok(one);
  assert_ok(two);
  assert_int_equal(loader().contexts, 1);
  ops.unload(*one);
  ops.unload(*two);
}

void a_program_is_for_all_that_fit_in_the_caller_s_context(void**) {
  const std::vector<void*> ids = devices();
  void* context = new_context({ids[0], ids[1], ids[2]});
  const tlc_load_options options = options_for(0, context);
  FakeBundle artifact = artifact_of();
  auto module = load(artifact, &options);
  assert_ok(module);
  assert_true(loader().context_at_load == context);
  assert_u64(loader().devices_at_load, 2);
  assert_true(loader().device_at_load == ids[1]);
  assert_int_equal(loader().references, 1);  // it outlives the caller's own reference
  assert_int_equal(loader().contexts, 1);
  assert_u64(opencl_ops().place(nullptr, &options).value(), reinterpret_cast<std::uintptr_t>(context));
  void* other = new_context({ids[0]});
  const tlc_load_options wrong = options_for(0, other);
  assert_fails(load(artifact, &wrong), TLC_REJECTED, "not 'Fake GPU(TM) 9000'");
  opencl_ops().unload(*module);
  assert_int_equal(loader().references, 0);
}

void kernels_are_found_by_name_and_kept(void**) {
  FakeBundle artifact = artifact_of();
  auto module = load(artifact);
  assert_ok(module);
  auto kernel = opencl_ops().symbol(*module, "two");
  assert_ok(kernel);
  assert_true(opencl_ops().symbol(*module, "two").value() == *kernel);
  assert_true(opencl_ops().symbol(*module, "one").value() != *kernel);
  assert_int_equal(loader().kernels_alive, 2);
  assert_fails(opencl_ops().symbol(*module, "absent"), TLC_E_NOT_FOUND, "no kernel 'absent'");
  opencl_ops().unload(*module);
  assert_int_equal(loader().kernels_alive, 0);
}

void modules_with_equal_names_stay_apart(void**) {
  FakeBundle first = artifact_of();
  FakeBundle second = artifact_of();
  auto one = load(first);
  auto two = load(second);
  assert_ok(one);
  assert_ok(two);
  assert_true(opencl_ops().native(*one) != opencl_ops().native(*two));
  auto kernel = opencl_ops().symbol(*two, "one");
  assert_ok(kernel);
  assert_true(*kernel != *opencl_ops().symbol(*one, "one"));
  opencl_ops().unload(*one);
  assert_ok(opencl_ops().symbol(*two, "two"));
  assert_int_equal(loader().kernels_alive, 2);
  opencl_ops().unload(*two);
}

void wrong_binaries_never_reach_the_driver(void**) {
  const auto rejected = [](FakeBundle artifact, const char* part) {
    assert_fails(load(artifact), TLC_REJECTED, part);
    // validate and load both look: a caller may skip the first.
    assert_fails(opencl_ops().load(nullptr, artifact, nullptr), TLC_REJECTED, part);
    assert_int_equal(loader().loads, 0);
  };
  FakeBundle artifact = artifact_of();
  artifact.members[0].bytes.pop_back();
  rejected(artifact, "cut or damaged");
  artifact.members[0].bytes.clear();
  rejected(artifact, "empty");
  for (std::size_t i = 0; i < kBinary.size(); ++i) {
    artifact = artifact_of();
    artifact.members[0].bytes[i] = static_cast<char>(artifact.members[0].bytes[i] ^ 1);
    rejected(artifact, "not those that the driver made");
  }
  artifact = artifact_of();
  artifact.members.pop_back();
  rejected(artifact, "no program.json");
  artifact.members.push_back({"program.json", TLC_MEMBER_JSON, "{}"});
  rejected(artifact, "not what this backend writes");
  const std::string pocl = tlc::test::pocl::binary(9, "/../../x");
  rejected(artifact_of(fake_gpu(), pocl), "leads out of");
}

void binaries_of_other_drivers_are_refused(void**) {
  const auto rejected = [](const tlcb::opencl::DeviceFacts& made_for, const char* part) {
    FakeBundle artifact = artifact_of(made_for);
    assert_fails(load(artifact), TLC_REJECTED, part);
    assert_int_equal(loader().loads, 0);
  };
  tlcb::opencl::DeviceFacts other = fake_gpu();
  other.driver = "0.9";
  rejected(other, "driver is '1.0', not '0.9'");
  other = fake_gpu();
  other.platform_version = "OpenCL 2.0 Fake";
  rejected(other, "platform version is 'OpenCL 3.0 Fake'");
  other = fake_gpu();
  other.driver_uuid = "00";
  rejected(other, "driver uuid");
  other = fake_gpu();
  other.name = "Fake GPU(TM) 9001";
  rejected(other, "device is 'Fake GPU(TM) 9000', not 'Fake GPU(TM) 9001'");
  // What it was made for is not what it is kept for.
  FakeBundle artifact = artifact_of(fake_cpu());
  artifact.target = kFakeGpuTarget;
  assert_fails(load(artifact), TLC_REJECTED, "but the artifact is for opencl:fake-gpu");
}

void what_the_driver_refuses_is_said(void**) {
  FakeBundle artifact = artifact_of();
  for (const int code : {-42, -11, -44}) {
    loader().fail_binary = code;
    auto module = load(artifact);
    assert_fails(module, TLC_E_LOAD, "refused member 'program.clbin'");
    assert_u64(module.error().backend_code, code);
  }
  loader().fail_binary = 0;
  loader().fail_status = -42;  // as some drivers say it
  assert_fails(load(artifact), TLC_E_LOAD, "CL_INVALID_BINARY (-42)");
  loader().fail_status = 0;
  loader().fail_build = -11;
  assert_fails(load(artifact), TLC_E_LOAD, "what a driver says");
  loader().fail_build = -6;
  assert_fails(load(artifact), TLC_E_NOMEM, "CL_OUT_OF_HOST_MEMORY");
  loader().fail_build = -9999;
  assert_fails(load(artifact), TLC_E_UNAVAILABLE, "OpenCL error (-9999)");
  assert_int_equal(loader().programs_alive, 0);
  assert_int_equal(loader().references, 0);
}

void platforms_that_fail_are_passed_over(void**) {
  loader().fail_devices = -1;
  assert_string_equal(new_opencl_ops().resolve_target(nullptr, "opencl:0").value().c_str(), kFakeGpuTarget);
  loader().fail_devices = -9999;
  assert_string_equal(new_opencl_ops().resolve_target(nullptr, "opencl:0").value().c_str(), kFakeGpuTarget);
  loader().fail_devices = 0;
  loader().nameless = 1;
  assert_string_equal(new_opencl_ops().resolve_target(nullptr, "opencl:0").value().c_str(), kFakeGpuTarget);
  loader().platforms = 1;
  assert_fails(new_opencl_ops().resolve_target(nullptr, "opencl"), TLC_E_UNAVAILABLE, "does not tell what it is");
  loader().fail_platforms = -6;
  assert_fails(new_opencl_ops().resolve_target(nullptr, "opencl"), TLC_E_UNAVAILABLE, "does not list its platforms");
}

void without_a_driver_it_is_said_what_is_missing(void**) {
  loader().platforms = 0;
  const Ops fresh = new_opencl_ops();
  FakeBundle artifact = artifact_of();
  assert_ok(fresh.validate(nullptr, artifact, nullptr));
  assert_fails(fresh.load(nullptr, artifact, nullptr), TLC_E_UNAVAILABLE, "pocl-opencl-icd");
  assert_fails(fresh.resolve_target(nullptr, "opencl:native"), TLC_E_UNAVAILABLE, "opencl:<device>:<platform>");
  loader().platforms = 2;
  const auto module = fresh.load(nullptr, artifact, nullptr);  // it is asked again
  assert_ok(module);
  fresh.unload(*module);
}

void a_forked_child_does_not_use_the_parent_s_driver(void**) {
  FakeBundle artifact = artifact_of();
  auto module = load(artifact);
  assert_ok(module);
  opencl_ops().unload(*module);
  const int code = in_child([&] {
    const auto there = opencl_ops().load(nullptr, artifact, nullptr);
    return !there.ok() && there.error().status == TLC_E_FORKED ? 0 : 1;
  });
  assert_int_equal(code, 0);
}

void drivers_are_not_opened_where_they_would_end_the_process(void**) {
  const int code = in_child([] {
    if (::dlopen(g_comgr, RTLD_NOW | RTLD_LOCAL) == nullptr) return 2;
    const Ops fresh = new_opencl_ops();
    FakeBundle artifact = artifact_of();
    for (const auto& status :
         {fresh.resolve_target(nullptr, "opencl").error(), fresh.load(nullptr, artifact, nullptr).error()}) {
      if (status.status != TLC_E_UNAVAILABLE || !contains(status.message, "one too many") ||
          !contains(status.message, g_comgr))
        return 1;
    }
    return loader().calls == 0 ? 0 : 3;
  });
  assert_int_equal(code, 0);
}

tlc_status counting_compile(const tlc_request*, const tlc_key*, tlc_bundle* bundle, tlc_log*, tlc_error* error,
                            void* count) {
  ++*static_cast<int*>(count);
  const std::string info = tlcb::opencl::program_json(fake_gpu(), kBinary, "{}");
  const tlc_status status =
      tlc_bundle_add(bundle, str("program.clbin"), TLC_MEMBER_DEVICE_BINARY, kBinary.data(), kBinary.size(), 0, error);
  if (status != TLC_OK) return status;
  return tlc_bundle_add(bundle, str("program.json"), TLC_MEMBER_JSON, info.data(), info.size(), 0, error);
}

void a_refused_binary_is_compiled_again_once(void**) {
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path());
  int compiles = 0;
  const auto load_once = [&] {
    const Own<tlc_artifact> artifact =
        get_or_compile(cache.get(), kFakeGpuTarget, "opencl", counting_compile, compiles);
    tlc_module* module = nullptr;
    const tlc_status status = tlc_cache_load(cache.get(), artifact.get(), nullptr, &module, nullptr);
    if (module != nullptr) tlc_module_release(module);
    return status;
  };
  loader().fail_binary = -42;
  assert_int_equal(load_once(), TLC_E_LOAD);
  assert_int_equal(compiles, 1);
  loader().fail_binary = 0;
  assert_int_equal(load_once(), TLC_OK);
  assert_int_equal(compiles, 2);
  assert_int_equal(load_once(), TLC_OK);
  assert_int_equal(compiles, 2);
  for (const int code : {-6, -9999}) {  // what is not the binary's fault leaves it in the cache
    loader().fail_binary = code;
    assert_true(load_once() < 0);
    assert_int_equal(compiles, 2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) fake_library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (fake_library == nullptr) {
    print_error("%s\n", argc == 3 ? ::dlerror() : "usage: FILE of the fake loader, FILE of the other library");
    return 1;
  }
  g_comgr = argv[2];
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup(the_loader_is_not_touched_before_it_is_needed, reset),
      cmocka_unit_test_setup(native_is_the_first_device_that_is_no_cpu, reset),
      cmocka_unit_test_setup(a_program_goes_to_the_device_it_is_for, reset),
      cmocka_unit_test_setup(contexts_of_our_own_are_made_once, reset),
      cmocka_unit_test_setup(a_program_is_for_all_that_fit_in_the_caller_s_context, reset),
      cmocka_unit_test_setup(kernels_are_found_by_name_and_kept, reset),
      cmocka_unit_test_setup(modules_with_equal_names_stay_apart, reset),
      cmocka_unit_test_setup(wrong_binaries_never_reach_the_driver, reset),
      cmocka_unit_test_setup(binaries_of_other_drivers_are_refused, reset),
      cmocka_unit_test_setup(what_the_driver_refuses_is_said, reset),
      cmocka_unit_test_setup(platforms_that_fail_are_passed_over, reset),
      cmocka_unit_test_setup(without_a_driver_it_is_said_what_is_missing, reset),
      cmocka_unit_test_setup(a_forked_child_does_not_use_the_parent_s_driver, reset),
      cmocka_unit_test_setup(drivers_are_not_opened_where_they_would_end_the_process, reset),
      cmocka_unit_test_setup(a_refused_binary_is_compiled_again_once, reset),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
