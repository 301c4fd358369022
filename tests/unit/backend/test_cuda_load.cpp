// SPDX-License-Identifier: MIT
// Loading through a fake driver (fake_cuda.c): contexts, symbols, errors. Argument: the fake's folder, with or
// without what CUDA 12 added; or `none`: there is no driver. A second one, `nvrtc`: what concerns
// NVRTC.
#include "tlc_test.hpp"

#include <dlfcn.h>
#include <signal.h>

#include "../cache/cache_support.hpp"
#include "cuda/process_state.hpp"
#include "cuda_support.hpp"
#include "fake_cuda.h"
#include "scratch.hpp"
#include "support/loaded_library.hpp"

using namespace tlc;
using namespace tlc::backend;
using namespace tlc::test;

namespace {

void* fake_library = nullptr;

fake_cuda_state& driver() {
  return *static_cast<fake_cuda_state*>(::dlsym(fake_library, "fake_cuda_state"));
}
void* app_context(int device) {
  return reinterpret_cast<void* (*)(int)>(::dlsym(fake_library, "fake_cuda_context"))(device);
}
int push(void* context) {
  return reinterpret_cast<int (*)(void*)>(::dlsym(fake_library, "cuCtxPushCurrent_v2"))(context);
}
int pop() {
  void* gone = nullptr;
  return reinterpret_cast<int (*)(void**)>(::dlsym(fake_library, "cuCtxPopCurrent_v2"))(&gone);
}
void* current() {
  void* now = nullptr;
  assert_int_equal(reinterpret_cast<int (*)(void**)>(::dlsym(fake_library, "cuCtxGetCurrent"))(&now), 0);
  return now;
}

int reset(void**) {
  driver() = fake_cuda_state{};
  driver().capability = 90;
  driver().device_count = 2;
  driver().version = 13000;
  driver().jit_message = "";
  driver().kernel = "_Z5scaleIfLi4EEvPT_";
  driver().variable = "counter";
  return 0;
}

FakeBundle cubin(int sm = 90, const std::string& target = "cuda:sm_90") {
  FakeBundle artifact;
  artifact.members.push_back({"kernel.cubin", TLC_MEMBER_DEVICE_BINARY, make_cubin(sm)});
  artifact.target = target;
  return artifact;
}

tlc_load_options options_for(int device, void* context = nullptr) {
  tlc_load_options options;
  tlc_load_options_init(&options);
  options.device = device;
  options.context = context;
  return options;
}

/// Modules of tests that do not unload them, for as long as the process lives.
Result<void*> kept(Result<void*> module) {
  static auto* const all = new std::vector<void*>;
  if (module) all->push_back(*module);
  return module;
}

Result<void*> load(FakeBundle& artifact, const tlc_load_options* options = nullptr) {
  if (auto fits = cuda_ops().validate(nullptr, artifact, options); !fits) return fits.error();
  return kept(cuda_ops().load(nullptr, artifact, options));
}

void a_module_goes_to_the_primary_context_and_nothing_stays_current(void**) {
  FakeBundle artifact = cubin();
  auto module = load(artifact);
  assert_ok(module);
  assert_int_equal(driver().loads, 1);
  assert_int_equal(driver().jit_options, 0);
  assert_memory_equal(driver().image_start,
                      "\x7f"
                      "ELF",
                      4);
  assert_non_null(driver().current_at_load);
  assert_null(current());
  assert_non_null(cuda_ops().native(*module));
  cuda_ops().unload(*module);
  assert_int_equal(driver().unloads, 1);
  assert_null(current());
}

void the_callers_context_is_used_and_kept(void**) {
  FakeBundle artifact = cubin();
  assert_int_equal(push(app_context(1)), 0);
  auto module = load(artifact);
  assert_ok(module);
  assert_ptr_equal(driver().current_at_load, app_context(1));
  assert_ptr_equal(current(), app_context(1));
  // A symbol is looked up in the module's context, whatever is current then.
  assert_int_equal(push(app_context(0)), 0);
  driver().kernel = "k";
  assert_ok(cuda_ops().symbol(*module, "k"));
  assert_ptr_equal(driver().current_at_symbol, app_context(1));
  assert_ptr_equal(current(), app_context(0));
  assert_int_equal(pop(), 0);
  cuda_ops().unload(*module);
  // The options come before it: a context, and another device.
  const tlc_load_options given = options_for(0, app_context(0));
  module = load(artifact, &given);
  assert_ok(module);
  assert_ptr_equal(driver().current_at_load, app_context(0));
  cuda_ops().unload(*module);
  const tlc_load_options same = options_for(1);
  module = load(artifact, &same);
  assert_ok(module);
  assert_ptr_equal(driver().current_at_load, app_context(1));
  cuda_ops().unload(*module);
  assert_int_equal(pop(), 0);
  assert_int_equal(push(app_context(0)), 0);
  module = load(artifact, &same);
  assert_ok(module);
  assert_true(driver().current_at_load != app_context(0) && driver().current_at_load != app_context(1));
  cuda_ops().unload(*module);
  assert_int_equal(pop(), 0);
  const tlc_load_options beyond = options_for(7);
  assert_fails(load(artifact, &beyond), TLC_E_INVALID, "no device 7");
}

void places_are_contexts(void**) {
  const auto place = [](const tlc_load_options* options) {
    auto number = cuda_ops().place(nullptr, options);
    assert_ok(number);
    return *number;
  };
  const std::uint64_t primary = place(nullptr);
  assert_u64(place(nullptr), primary);
  const tlc_load_options second = options_for(1);
  assert_true(place(&second) != primary);
  assert_int_equal(push(app_context(0)), 0);
  assert_true(place(nullptr) != primary);
  // Its id, which no other context will have; a driver of CUDA 11 tells none.
  const bool has_ids = ::dlsym(fake_library, "cuCtxGetId") != nullptr;
  assert_u64(place(nullptr), has_ids ? 1004 : reinterpret_cast<std::uintptr_t>(app_context(0)));
  assert_int_equal(pop(), 0);
}

void symbols_are_found_by_their_expression(void**) {
  FakeBundle artifact = cubin();
  artifact.members.push_back({"names.json", TLC_MEMBER_JSON, R"({"scale<float, 4>": "_Z5scaleIfLi4EEvPT_"})"});
  artifact.members.push_back(
      {"launch.json", TLC_MEMBER_JSON, R"({"scale<float, 4>": {"max_dynamic_shared_size_bytes": 70000}})"});
  auto module = load(artifact);
  assert_ok(module);
  auto kernel = cuda_ops().symbol(*module, "scale<float, 4>");
  assert_ok(kernel);
  assert_non_null(*kernel);
  assert_int_equal(driver().attribute, 8);
  assert_int_equal(driver().attribute_value, 70000);
  assert_true(cuda_ops().symbol(*module, "_Z5scaleIfLi4EEvPT_").value() == *kernel);
  auto variable = cuda_ops().symbol(*module, "counter");
  assert_ok(variable);
  assert_ptr_equal(*variable, reinterpret_cast<void*>(0x7000));
  assert_fails(cuda_ops().symbol(*module, "absent"), TLC_E_NOT_FOUND, "scale<float, 4>");
  assert_null(current());
  cuda_ops().unload(*module);
  artifact.members[1].bytes = "{\"scale\": 1}";
  assert_fails(load(artifact), TLC_REJECTED, "names.json");
}

void modules_with_equal_names_stay_apart(void**) {
  FakeBundle artifact = cubin();
  FakeBundle second = cubin();
  auto one = load(artifact);
  auto two = load(second);
  assert_ok(one);
  assert_ok(two);
  assert_true(cuda_ops().native(*one) != cuda_ops().native(*two));
  cuda_ops().unload(*one);
  assert_int_equal(driver().unloads, 1);
  assert_ok(cuda_ops().symbol(*two, "counter"));
  cuda_ops().unload(*two);
}

void what_the_driver_refuses_is_said(void**) {
  FakeBundle artifact = cubin();
  for (const int code : {200, 209, 218, 222}) {
    driver().fail_load = code;
    auto module = load(artifact);
    assert_fails(module, TLC_E_LOAD, std::to_string(code));
    assert_u64(module.error().backend_code, code);
    assert_null(current());
  }
  driver().fail_load = 2;
  assert_fails(load(artifact), TLC_E_NOMEM, "(2)");
  driver().fail_load = 221;
  assert_fails(load(artifact), TLC_E_UNAVAILABLE, "ptxjitcompiler");
  driver().fail_load = 999;
  assert_fails(load(artifact), TLC_E_UNAVAILABLE, "CUDA_ERROR_OTHER (999): what a driver says");
  driver().fail_load = 218;
  driver().jit_message = "ptxas error: line 7";
  FakeBundle ptx;
  ptx.target = "cuda:compute_80";
  ptx.members.push_back({"kernel.ptx", TLC_MEMBER_DEVICE_IR, make_ptx("sm_80")});
  assert_fails(load(ptx), TLC_E_LOAD, "saying: ptxas error: line 7");
  assert_int_equal(driver().jit_options, 2);
  assert_int_equal(driver().unloads, 0);
}

void wrong_code_never_reaches_the_driver(void**) {
  const auto rejected = [](FakeBundle artifact, const char* part) {
    assert_fails(load(artifact), TLC_REJECTED, part);
    assert_int_equal(driver().loads, 0);
  };
  FakeBundle cut = cubin();
  cut.members[0].bytes.resize(150);
  rejected(cut, "cut or damaged");
  // validate and load both look: a caller may skip the first.
  assert_fails(cuda_ops().load(nullptr, cut, nullptr), TLC_REJECTED, "cut or damaged");
  FakeBundle empty = cubin();
  empty.members[0].bytes.clear();
  rejected(empty, "empty");
  rejected(cubin(80, "cuda:sm_90"), "it is for sm_80");
  rejected(cubin(80, "cuda:sm_80"), "this device is sm_90");
  driver().capability = 103;
  rejected(cubin(100, "cuda:sm_100a"), "sm_100 devices only");
  FakeBundle family = cubin(100, "cuda:sm_100f");
  assert_ok(load(family));
  driver().capability = 90;
  driver().loads = 0;
  FakeBundle host = cubin();
  host.members[0].bytes[18] = 62;
  rejected(host, "x86-64");
  FakeBundle none;
  none.target = "cuda:sm_90";
  rejected(none, "no device code");
  FakeBundle two = cubin();
  two.members[0].name = "a.bin";
  two.members.push_back({"b.bin", TLC_MEMBER_DEVICE_BINARY, make_cubin(90)});
  rejected(two, "several members");
  tlc_load_options options = options_for(0);
  options.member = str("b.bin");
  assert_ok(load(two, &options));
}

void native_is_what_the_device_is(void**) {
  assert_string_equal(cuda_ops().resolve_target(nullptr, "cuda:native").value().c_str(), "cuda:sm_90");
  driver().capability = 103;
  assert_string_equal(cuda_ops().resolve_target(nullptr, "cuda:auto").value().c_str(), "cuda:sm_103");
  assert_string_equal(cuda_ops().resolve_target(nullptr, "cuda:sm_80").value().c_str(), "cuda:sm_80");
}

void an_unusable_driver_is_unavailable(void**) {
  struct Case {
    int code;
    const char* part;
  };
  for (const Case& one : {Case{34, "stub"}, Case{100, "CUDA_VISIBLE_DEVICES"}, Case{35, "driver that fits"}}) {
    driver().fail_all = one.code;
    const Ops fresh = new_cuda_ops();
    FakeBundle artifact = cubin();
    assert_ok(fresh.validate(nullptr, artifact, nullptr));
    assert_fails(fresh.load(nullptr, artifact, nullptr), TLC_E_UNAVAILABLE, one.part);
    assert_fails(fresh.resolve_target(nullptr, "cuda:native"), TLC_E_UNAVAILABLE, one.part);
    driver().fail_all = 0;
    assert_ok(kept(fresh.load(nullptr, artifact, nullptr)));  // it is asked again
  }
  driver().device_count = 0;
  assert_fails(new_cuda_ops().resolve_target(nullptr, "cuda:native"), TLC_E_UNAVAILABLE, "CUDA_VISIBLE_DEVICES");
}

void a_module_of_a_context_that_has_gone_is_let_go(void**) {
  FakeBundle artifact = cubin();
  const tlc_load_options options = options_for(0, app_context(0));
  auto module = load(artifact, &options);
  assert_ok(module);
  driver().dead_context = app_context(0);
  assert_fails(cuda_ops().symbol(*module, "k"), TLC_E_INVALID, "context");
  cuda_ops().unload(*module);
  assert_int_equal(driver().unloads, 0);
}

/// A compile that counts, for a request whose toolchain is stated.
tlc_status counting_compile(const tlc_request*, const tlc_key*, tlc_bundle* bundle, tlc_log*, tlc_error* error,
                            void* count) {
  ++*static_cast<int*>(count);
  const std::string code = make_cubin(90);
  return tlc_bundle_add(bundle, str("kernel.cubin"), TLC_MEMBER_DEVICE_BINARY, code.data(), code.size(), 0, error);
}

Own<tlc_artifact> get_or_compile(tlc_cache* cache, int& compiles) {
  return test::get_or_compile(cache, "cuda:sm_90", "nvrtc", counting_compile, compiles);
}

tlc_status load_from_cache(tlc_cache* cache, tlc_artifact* artifact) {
  tlc_module* module = nullptr;
  const tlc_status status = tlc_cache_load(cache, artifact, nullptr, &module, nullptr);
  if (module != nullptr) tlc_module_release(module);
  return status;
}

void a_refused_image_is_compiled_again_once(void**) {
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path());
  int compiles = 0;
  driver().fail_load = 200;
  assert_int_equal(load_from_cache(cache.get(), get_or_compile(cache.get(), compiles).get()), TLC_E_LOAD);
  assert_int_equal(compiles, 1);
  driver().fail_load = 0;
  const Own<tlc_artifact> again = get_or_compile(cache.get(), compiles);
  assert_int_equal(compiles, 2);
  assert_int_equal(load_from_cache(cache.get(), again.get()), TLC_OK);
  assert_non_null(get_or_compile(cache.get(), compiles).get());
  assert_int_equal(compiles, 2);
  // What is not the image's fault leaves it in the cache.
  for (const int code : {2, 999}) {
    driver().fail_load = code;
    assert_true(load_from_cache(cache.get(), get_or_compile(cache.get(), compiles).get()) < 0);
    assert_int_equal(compiles, 2);
  }
}

void nvrtc_does_not_ask_the_driver_for_its_cache(void**) {
  auto made = compile_cuda(cuda_request(kSaxpy));
  assert_ok(made.done);
  assert_int_equal(driver().calls_export_table, 0);
  // A cubin's identity needs no driver either.
  assert_ok(new_cuda_ops().identify(nullptr, cuda_request(kSaxpy), "cuda:sm_90"));
  assert_int_equal(driver().calls_init, 0);
  FakeRequest ptx = cuda_request(kSaxpy);
  ptx.fields["output"] = text_value("ptx");
  assert_true(contains(*cuda_ops().identify(nullptr, ptx, "cuda:sm_90"), "driver 13000"));
  // A process that has only compiled can still fork and use the driver in its children.
  assert_int_equal(driver().calls_init, 0);
}

void the_driver_is_not_touched_before_it_is_needed(void**) {
  const Ops fresh = new_cuda_ops();
  assert_ok(fresh.resolve_target(nullptr, "cuda:sm_90"));
  assert_ok(fresh.identify(nullptr, FakeRequest(), "cuda:sm_90"));
  assert_int_equal(driver().calls_init, 0);
}

void without_a_driver_it_is_said_what_is_missing(void**) {
  FakeBundle artifact = cubin();
  assert_ok(cuda_ops().validate(nullptr, artifact, nullptr));
  assert_fails(cuda_ops().load(nullptr, artifact, nullptr), TLC_E_UNAVAILABLE, "no NVIDIA driver on this machine");
  assert_fails(cuda_ops().resolve_target(nullptr, "cuda:native"), TLC_E_UNAVAILABLE, "cuda:sm_90");
  ::setenv("TLC_NVRTC", "/nonexistent", 1);
  assert_fails(new_cuda_ops().probe(nullptr), TLC_E_UNAVAILABLE, "Cannot load: there is no NVIDIA driver");
}

void own_handler(int) {}
void another_handler(int) {}

void (*handler_of(int signal))(int) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return now.sa_handler;
}

void handlers_that_a_compiler_leaves_behind_are_put_back(void**) {
  Dl_info library{};
  auto* const left_behind = reinterpret_cast<void (*)(int)>(::dlsym(fake_library, "cuModuleUnload"));
  assert_true(::dladdr(reinterpret_cast<void*>(left_behind), &library) != 0);
  const std::string path = tlcb::real_path(library.dli_fname);
  ::signal(SIGINT, own_handler);
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGXFSZ, own_handler);
  {
    const tlcb::cuda::KeepSignalHandlers first(path);
    ::signal(SIGINT, left_behind);
    ::signal(SIGTERM, left_behind);
    {
      const tlcb::cuda::KeepSignalHandlers second(path);  // what it finds is the compiler's own
    }
    assert_true(handler_of(SIGINT) == left_behind);  // the first one is not done
    ::signal(SIGXFSZ, another_handler);              // the program's own business
  }
  assert_true(handler_of(SIGINT) == own_handler);
  assert_true(handler_of(SIGTERM) == SIG_DFL);
  assert_true(handler_of(SIGXFSZ) == another_handler);
  for (const int signal : {SIGINT, SIGXFSZ}) ::signal(signal, SIG_DFL);
}

FakeBundle ltoir(const std::string& bytes, const std::string& target = "cuda:sm_90") {
  FakeBundle artifact;
  artifact.members.push_back({"kernel.ltoir", TLC_MEMBER_DEVICE_IR, bytes});
  artifact.target = target;
  return artifact;
}

/// nvJitLink of the same package as the NVRTC of the tests.
bool has_jit_link() {
  const std::filesystem::path nvrtc(::getenv("TLC_TEST_NVRTC"));
  for (const auto& entry : std::filesystem::directory_iterator(nvrtc.parent_path())) {
    if (entry.path().filename().string().starts_with("libnvJitLink.so.")) return true;
  }
  return false;
}

void lto_ir_is_linked_for_the_device(void**) {
  if (!has_jit_link()) skip();
  FakeRequest request = cuda_request(kSaxpy);
  request.fields["output"] = text_value("ltoir");
  const auto made = compile_cuda(request);
  assert_ok(made.done);
  FakeBundle artifact = ltoir(made.bundle.members.front().bytes);
  auto module = load(artifact);
  assert_true_msg(module.ok(), "%s", module.ok() ? "" : module.error().message.c_str());
  assert_memory_equal(driver().image_start, "\177ELF", 4);
  FakeBundle damaged = ltoir("\xed\x43\x4e\x7f and nonsense after it");
  const auto refused = load(damaged);
  assert_fails(refused, TLC_E_UNAVAILABLE, "nvJitLink");
  assert_int_equal(driver().loads, 1);
  driver().capability = 80;
  const auto older = load(artifact);
  assert_fails(older, TLC_REJECTED, "no older device");
}

void without_nvjitlink_it_is_said_what_is_missing(void**) {
  if (::dlopen("libnvJitLink.so.13", RTLD_NOW) != nullptr || ::dlopen("libnvJitLink.so.12", RTLD_NOW) != nullptr)
    skip();
  if (std::filesystem::exists("/usr/local/cuda/lib64")) skip();
  FakeBundle artifact = ltoir("\xed\x43\x4e\x7f and more");
  const auto refused = load(artifact);
  assert_fails(refused, TLC_E_UNSUPPORTED, "there is no nvJitLink");
  assert_int_equal(driver().loads, 0);
}

int run_with_nvrtc() {
  if (!use_test_nvrtc()) return 77;
  const CMUnitTest tests[] = {cmocka_unit_test_setup(nvrtc_does_not_ask_the_driver_for_its_cache, reset),
                              cmocka_unit_test_setup(lto_ir_is_linked_for_the_device, reset)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

int run_without_driver() {
  if (::dlopen("libcuda.so.1", RTLD_NOW) != nullptr) return 77;
  const CMUnitTest tests[] = {cmocka_unit_test(without_a_driver_it_is_said_what_is_missing)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "none") return run_without_driver();
  if (argc > 1) fake_library = ::dlopen((std::string(argv[1]) + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (fake_library == nullptr) {
    print_error("%s\n", argc > 1 ? ::dlerror() : "usage: FOLDER of the fake driver [nvrtc], or none");
    return 1;
  }
  if (argc == 3) return run_with_nvrtc();
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup(the_driver_is_not_touched_before_it_is_needed, reset),
      cmocka_unit_test_setup(a_module_goes_to_the_primary_context_and_nothing_stays_current, reset),
      cmocka_unit_test_setup(the_callers_context_is_used_and_kept, reset),
      cmocka_unit_test_setup(handlers_that_a_compiler_leaves_behind_are_put_back, reset),
      cmocka_unit_test_setup(places_are_contexts, reset),
      cmocka_unit_test_setup(symbols_are_found_by_their_expression, reset),
      cmocka_unit_test_setup(modules_with_equal_names_stay_apart, reset),
      cmocka_unit_test_setup(what_the_driver_refuses_is_said, reset),
      cmocka_unit_test_setup(wrong_code_never_reaches_the_driver, reset),
      cmocka_unit_test_setup(native_is_what_the_device_is, reset),
      cmocka_unit_test_setup(an_unusable_driver_is_unavailable, reset),
      cmocka_unit_test_setup(a_module_of_a_context_that_has_gone_is_let_go, reset),
      cmocka_unit_test_setup(a_refused_image_is_compiled_again_once, reset),
      cmocka_unit_test_setup(without_nvjitlink_it_is_said_what_is_missing, reset),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
