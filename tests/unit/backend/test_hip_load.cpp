// SPDX-License-Identifier: MIT
// Loading through a HIP runtime made for tests (fake_hip.c): devices, symbols, errors. Argument: the fake's file, of
// ROCm 5 or 7.
#include "tlc_test.hpp"

#include <dlfcn.h>

#include "../cache/cache_support.hpp"
#include "fake_hip.h"
#include "hip/bundle.hpp"
#include "hip_support.hpp"
#include "scratch.hpp"

using namespace tlc;
using namespace tlc::backend;
using namespace tlc::test;

namespace {

void* fake_library = nullptr;

fake_hip_state& runtime() {
  return *static_cast<fake_hip_state*>(::dlsym(fake_library, "fake_hip_state"));
}
int call(const char* name, int argument) {
  return reinterpret_cast<int (*)(int)>(::dlsym(fake_library, name))(argument);
}
int last_error() {
  return reinterpret_cast<int (*)()>(::dlsym(fake_library, "hipPeekAtLastError"))();
}
int current() {
  int device = -1;
  reinterpret_cast<int (*)(int*)>(::dlsym(fake_library, "hipGetDevice"))(&device);
  return device;
}

int reset(void**) {
  runtime() = fake_hip_state{};
  runtime().arch = "gfx90a:sramecc+:xnack-";
  runtime().arch_one = "gfx1030";
  runtime().device_count = 2;
  runtime().kernel = "_Z5scaleIfLi4EEvPT_";
  runtime().variable = "counter";
  call("hipSetDevice", 0);
  return 0;
}

FakeBundle artifact_of(unsigned flags = kFullGfx90a, const std::string& target = "hip:gfx90a:sramecc+:xnack-") {
  return hip_artifact(make_code_object(flags), target);
}

tlc_load_options options_for(int device) {
  tlc_load_options options;
  tlc_load_options_init(&options);
  options.device = device;
  return options;
}

Result<void*> load(FakeBundle& artifact, const tlc_load_options* options = nullptr) {
  if (auto fits = hip_ops().validate(nullptr, artifact, options); !fits) return fits.error();
  auto module = hip_ops().load(nullptr, artifact, options);
  static auto* const all = new std::vector<void*>;
  if (module) all->push_back(*module);
  return module;
}

void the_runtime_is_not_touched_before_it_is_needed(void**) {
  const int before = runtime().calls;
  const Ops fresh = new_hip_ops();
  assert_ok(fresh.resolve_target(nullptr, "hip:gfx90a"));
  assert_ok(fresh.identify(nullptr, FakeRequest(), "hip:gfx90a"));
  assert_int_equal(runtime().calls, before);
}

void native_is_what_the_device_is(void**) {
  assert_string_equal(hip_ops().resolve_target(nullptr, "hip:native").value().c_str(), "hip:gfx90a:sramecc+:xnack-");
  call("hipSetDevice", 1);
  assert_string_equal(hip_ops().resolve_target(nullptr, "hip:auto").value().c_str(), "hip:gfx1030");
  assert_string_equal(hip_ops().resolve_target(nullptr, "hip:gfx1030,hip:native").value().c_str(), "hip:gfx1030");
  call("hipSetDevice", 0);
  assert_string_equal(hip_ops().resolve_target(nullptr, "hip:gfx908,hip:native").value().c_str(),
                      "hip:gfx908,hip:gfx90a:sramecc+:xnack-");
  runtime().arch = "something new";
  assert_fails(hip_ops().resolve_target(nullptr, "hip:native"), TLC_E_UNAVAILABLE, "something new");
}

void a_module_goes_to_its_device_and_none_is_left_current(void**) {
  FakeBundle artifact = artifact_of();
  auto module = load(artifact);
  assert_ok(module);
  assert_int_equal(runtime().device_at_load, 0);
  assert_memory_equal(runtime().image_start, "\177ELF", 4);
  FakeBundle other = artifact_of(kGfx1030, "hip:gfx1030");
  const tlc_load_options second = options_for(1);
  auto there = load(other, &second);
  assert_ok(there);
  assert_int_equal(runtime().device_at_load, 1);
  assert_int_equal(current(), 0);
  // A symbol is looked up on the module's device, whatever is current then.
  assert_ok(hip_ops().symbol(*there, "counter"));
  assert_int_equal(runtime().device_at_symbol, 1);
  assert_ok(hip_ops().symbol(*module, "counter"));
  assert_int_equal(runtime().device_at_symbol, 0);
  assert_u64(hip_ops().place(nullptr, &second).value(), 1);
  assert_u64(hip_ops().place(nullptr, nullptr).value(), 0);
  const tlc_load_options absent = options_for(2);
  assert_fails(load(artifact, &absent), TLC_E_INVALID, "no device 2");
  tlc_load_options context = options_for(0);
  context.context = &artifact;
  assert_fails(load(artifact, &context), TLC_E_UNSUPPORTED, "contexts");
  hip_ops().unload(*module);
  hip_ops().unload(*there);
  assert_int_equal(runtime().unloads, 2);
}

void symbols_are_found_by_their_expression(void**) {
  FakeBundle artifact = artifact_of();
  artifact.members.push_back({"names.json", TLC_MEMBER_JSON, R"({"scale<float, 4>": "_Z5scaleIfLi4EEvPT_"})"});
  auto module = load(artifact);
  assert_ok(module);
  auto kernel = hip_ops().symbol(*module, "scale<float, 4>");
  assert_ok(kernel);
  assert_non_null(*kernel);
  assert_ok(hip_ops().symbol(*module, "counter"));
  assert_fails(hip_ops().symbol(*module, "absent"), TLC_E_NOT_FOUND, "scale<float, 4>");
  assert_int_equal(last_error(), 0);  // nothing of that is left for others to find
  artifact.members[1].bytes = "{\"scale\": 1}";
  assert_fails(load(artifact), TLC_REJECTED, "names.json");
}

void modules_with_equal_names_stay_apart(void**) {
  FakeBundle first = artifact_of();
  FakeBundle second = artifact_of();
  auto one = load(first);
  auto two = load(second);
  assert_ok(one);
  assert_ok(two);
  assert_true(hip_ops().native(*one) != hip_ops().native(*two));
  hip_ops().unload(*one);
  assert_ok(hip_ops().symbol(*two, "counter"));
}

void wrong_code_never_reaches_the_runtime(void**) {
  const auto rejected = [](FakeBundle artifact, const char* part) {
    assert_fails(load(artifact), TLC_REJECTED, part);
    assert_int_equal(runtime().loads, 0);
  };
  FakeBundle cut = artifact_of();
  cut.members[0].bytes.resize(150);
  rejected(cut, "cut or damaged");
  // validate and load both look: a caller may skip the first.
  assert_fails(hip_ops().load(nullptr, cut, nullptr), TLC_REJECTED, "cut or damaged");
  FakeBundle empty = artifact_of();
  empty.members[0].bytes.clear();
  rejected(empty, "empty");
  rejected(artifact_of(kXnackOnGfx90a), "it is for gfx90a:xnack+, but the artifact is for");
  rejected(artifact_of(kAnyGfx90a), "it is for gfx90a, but the artifact is for");
  rejected(artifact_of(kXnackOnGfx90a, "hip:gfx90a:xnack+"), "this device runs with xnack-");
  rejected(artifact_of(kGfx1030, "hip:gfx1030"), "this device is gfx90a");
  FakeBundle bundle = artifact_of();
  bundle.members[0].name = "kernel.hipfb";
  bundle.target = "hip:gfx1030,hip:gfx90a";
  bundle.members[0].bytes = tlcb::hip::write_bundle({{{"gfx1030", '\0', '\0'}, make_code_object(kGfx1030)}});
  rejected(bundle, "no code for gfx90a");
  bundle.target = "hip:gfx1030";
  rejected(bundle, "this device is gfx90a");
  FakeBundle host = artifact_of();
  host.members[0].bytes[18] = 62;
  host.members[0].bytes[19] = 0;
  rejected(host, "x86-64");
}

void a_bundle_loads_whole(void**) {
  FakeBundle artifact;
  artifact.target = "hip:gfx1030,hip:gfx90a";
  artifact.members.push_back({"kernel.hipfb", TLC_MEMBER_DEVICE_BINARY,
                              tlcb::hip::write_bundle({{{"gfx1030", '\0', '\0'}, make_code_object(kGfx1030)},
                                                       {{"gfx90a", '\0', '\0'}, make_code_object(kAnyGfx90a)}})});
  assert_ok(load(artifact));
  assert_memory_equal(runtime().image_start, "__CL", 4);
  const tlc_load_options second = options_for(1);
  assert_ok(load(artifact, &second));
}

void what_the_runtime_refuses_is_said(void**) {
  FakeBundle artifact = artifact_of();
  for (const int code : {200, 209, 218, 302, 303}) {
    runtime().fail_load = code;
    auto module = load(artifact);
    assert_fails(module, TLC_E_LOAD, std::to_string(code));
    assert_u64(module.error().backend_code, code);
    assert_int_equal(last_error(), 0);
  }
  runtime().fail_load = 2;
  assert_fails(load(artifact), TLC_E_NOMEM, "(2)");
  runtime().fail_load = 999;
  assert_fails(load(artifact), TLC_E_UNAVAILABLE, "hipErrorOther (999): what a runtime says");
}

void without_a_device_it_is_said_what_is_missing(void**) {
  runtime().device_count = 0;
  const Ops fresh = new_hip_ops();
  FakeBundle artifact = artifact_of();
  assert_ok(fresh.validate(nullptr, artifact, nullptr));
  assert_fails(fresh.load(nullptr, artifact, nullptr), TLC_E_UNAVAILABLE, "/dev/kfd");
  assert_fails(fresh.resolve_target(nullptr, "hip:native"), TLC_E_UNAVAILABLE, "hip:gfx90a");
  runtime().device_count = 1;
  const auto module = fresh.load(nullptr, artifact, nullptr);  // it is asked again
  assert_ok(module);
  fresh.unload(*module);
}

tlc_status counting_compile(const tlc_request*, const tlc_key*, tlc_bundle* bundle, tlc_log*, tlc_error* error,
                            void* count) {
  ++*static_cast<int*>(count);
  const std::string code = make_code_object(kFullGfx90a);
  return tlc_bundle_add(bundle, str("kernel.hsaco"), TLC_MEMBER_DEVICE_BINARY, code.data(), code.size(), 0, error);
}

void a_refused_image_is_compiled_again_once(void**) {
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path());
  int compiles = 0;
  const auto load_once = [&] {
    const Own<tlc_artifact> artifact =
        get_or_compile(cache.get(), "hip:gfx90a:sramecc+:xnack-", "hiprtc", counting_compile, compiles);
    tlc_module* module = nullptr;
    const tlc_status status = tlc_cache_load(cache.get(), artifact.get(), nullptr, &module, nullptr);
    if (module != nullptr) tlc_module_release(module);
    return status;
  };
  runtime().fail_load = 200;
  assert_int_equal(load_once(), TLC_E_LOAD);
  assert_int_equal(compiles, 1);
  runtime().fail_load = 0;
  assert_int_equal(load_once(), TLC_OK);
  assert_int_equal(compiles, 2);
  assert_int_equal(load_once(), TLC_OK);
  assert_int_equal(compiles, 2);
  for (const int code : {2, 999}) {  // what is not the image's fault leaves it in the cache
    runtime().fail_load = code;
    assert_true(load_once() < 0);
    assert_int_equal(compiles, 2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) fake_library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (fake_library == nullptr) {
    print_error("%s\n", argc == 2 ? ::dlerror() : "usage: FILE of the fake runtime");
    return 1;
  }
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup(the_runtime_is_not_touched_before_it_is_needed, reset),
      cmocka_unit_test_setup(native_is_what_the_device_is, reset),
      cmocka_unit_test_setup(a_module_goes_to_its_device_and_none_is_left_current, reset),
      cmocka_unit_test_setup(symbols_are_found_by_their_expression, reset),
      cmocka_unit_test_setup(modules_with_equal_names_stay_apart, reset),
      cmocka_unit_test_setup(wrong_code_never_reaches_the_runtime, reset),
      cmocka_unit_test_setup(a_bundle_loads_whole, reset),
      cmocka_unit_test_setup(what_the_runtime_refuses_is_said, reset),
      cmocka_unit_test_setup(without_a_device_it_is_said_what_is_missing, reset),
      cmocka_unit_test_setup(a_refused_image_is_compiled_again_once, reset),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
