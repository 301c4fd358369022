// SPDX-License-Identifier: MIT
// The hip backend on an NVIDIA card, by the public library alone, over a shim (hip_shim.c) that has HIP's entry points:
// what is compiled in the worker, found, checked, loaded and launched computes the right values. It proves our
// plumbing, not AMD's behaviour. run_hip.py sets it up; without that it is skipped.
//
//   TLC_TEST_HIP_SHIM     the folder of the shim
//   TLC_TEST_FAKE_DRIVER  set: the driver is one made for tests, which loads and launches nothing; values are not
//   looked at
//
// The program starts itself for what other processes do: test_hip --child FOLDER WHAT.
#include "tlc_test.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "files.hpp"
#include "kernels.hpp"
#include "scratch.hpp"
#include "session.hpp"

using namespace tlc::gpu;
using tlc::test::Scratch;

extern char** environ;

namespace {

const char* g_self = nullptr;

bool fake_driver() {
  return std::getenv("TLC_TEST_FAKE_DRIVER") != nullptr;
}

Wanted hip(const std::string& source, const std::string& target = "hip:native") {
  return Wanted(source, target);
}

/// The kernel, after telling a driver made for tests which one it has.
void* kernel(tlc_module* module, const std::string& name) {
  if (fake_driver()) {
    // The first members of its state: 4 ints, fail_load, two texts.
    struct State {
      int numbers[5];
      const char* message;
      const char* kernel;
      const char* variable;
    };
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
    auto* const state = static_cast<State*>(::dlsym(library, "fake_cuda_state"));
    state->kernel = name.c_str();
    state->variable = "";
  }
  return Session::symbol(module, name);
}

template <typename Check>
bool right(Check&& check) {
  return fake_driver() || check();
}

int compiles() {
  std::ifstream file(std::string(std::getenv("TLC_TEST_HIP_SHIM")) + "/compiles");
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

pid_t start_self(const std::string& folder, const char* what) {
  const char* arguments[] = {g_self, "--child", folder.c_str(), what, nullptr};
  pid_t child = 0;
  assert_int_equal(::posix_spawn(&child, g_self, nullptr, nullptr, const_cast<char**>(arguments), environ), 0);
  return child;
}

bool matmul_of(const Session& session, const Session::Got& got) {
  const auto module = session.load(got.artifact.get());
  void* const function = kernel(module.get(), "matmul");
  return right([&] { return matmul_is_right(function); });
}

void kernels_compute_the_right_values(void**) {
  const Scratch folder;
  const Session session(folder.path());
  Card::get().use_primary();
  const auto matmul = session.get(hip(kMatmul).define("TILE", "16"));
  assert_true(matmul.compiled);
  assert_true(matmul_of(session, matmul));
  const auto softmax = session.get(hip(kSoftmax));
  const auto module = session.load(softmax.artifact.get());
  void* const function = kernel(module.get(), "softmax");
  assert_true(right([&] { return softmax_is_right(function); }));
}

int child_hits(const Session& session) {
  Card::get().use_primary();
  const auto matmul = session.get(hip(kMatmul));
  if (matmul.compiled) return 2;
  return matmul_of(session, matmul) ? 0 : 3;
}

void another_process_hits(void**) {
  const Scratch folder;
  const Session session(folder.path());
  (void)session.get(hip(kMatmul));
  const int before = compiles();
  assert_int_equal(tlc::test::wait_for(start_self(folder.path(), "hit")), 0);
  assert_int_equal(compiles(), before);
}

int child_races(const Session& session) {
  Card::get().use_primary();
  return matmul_of(session, session.get(hip(kMatmul))) ? 0 : 3;
}

void eight_processes_compile_once(void**) {
  const Scratch folder;
  const Session session(folder.path());
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) children.push_back(start_self(folder.path(), "race"));
  for (const pid_t child : children) assert_int_equal(tlc::test::wait_for(child), 0);
  assert_u64(session.stats().compiles, 1);
}

void names_of_cxx_are_found_on_a_hit(void**) {
  const Scratch folder;
  const Wanted wanted = [] {
    Wanted w = hip(kTemplate);
    w.list("name_expressions", {"ops::scale<float, 3>"});
    return w;
  }();
  Card::get().use_primary();
  for (const bool first : {true, false}) {
    const Session session(folder.path());
    const auto got = session.get(wanted);
    assert_int_equal(got.compiled, first);
    const auto module = session.load(got.artifact.get());
    if (fake_driver()) continue;  // it knows no lowered names
    assert_true(scale_is_right(Session::symbol(module.get(), "ops::scale<float, 3>"), 3));
  }
}

void equal_names_in_two_artifacts_stay_apart(void**) {
  const Scratch folder;
  const Session session(folder.path());
  Card::get().use_primary();
  const auto source = [](int number) {
    return "extern \"C\" __global__ void add(int* value) { *value += " + std::to_string(number) + "; }";
  };
  const auto one = session.get(hip(source(1)));
  const auto two = session.get(hip(source(2)));
  const auto first = session.load(one.artifact.get());
  const auto second = session.load(two.artifact.get());
  void* const add_one = kernel(first.get(), "add");
  void* const add_two = kernel(second.get(), "add");
  assert_true(right([&] { return add_is_right(add_one, 1) && add_is_right(add_two, 2); }));
}

void a_fat_artifact_loads(void**) {
  const Scratch folder;
  const Session session(folder.path());
  Card::get().use_primary();
  assert_true(matmul_of(session, session.get(hip(kMatmul, "hip:gfx1030,hip:gfx90a"))));
}

void another_arch_is_refused_before_the_runtime(void**) {
  const Scratch folder;
  const Session session(folder.path());
  Card::get().use_primary();
  for (const char* target : {"hip:gfx1030", "hip:gfx90a:xnack+", "hip:gfx908"}) {
    const auto other = session.get(hip(kMatmul, target));
    Owned<tlc_module> module;
    tlc_error error = error_here();
    assert_int_equal(session.try_load(other.artifact.get(), module, error), TLC_REJECTED);
    assert_int_equal(error.backend_code, 0);  // it was not asked
    print_message("refused: %s\n", error.message);
  }
}

void an_arch_that_the_compiler_dies_of_is_survived(void**) {
  const Scratch folder;
  const Session session(folder.path());
  tlc_artifact* artifact = nullptr;
  tlc_blob* log = nullptr;
  tlc_error error = error_here();
  const Wanted wanted = [] {
    Wanted w = hip(kMatmul, "hip:gfx9999");
    w.text("compiler", std::string(std::getenv("TLC_TEST_HIP_SHIM")) + "/libamdhip64.so.5");
    return w;
  }();
  assert_int_equal(tlc_cache_get_or_compile(session.get(), wanted.get(), nullptr, &artifact, &log, &error),
                   TLC_E_COMPILE);
  const Owned<tlc_blob> said(log);
  assert_non_null(log);
  assert_non_null(std::strstr(tlc_blob_data(log, nullptr), "the shim knows no such arch"));
}

void a_flipped_bit_is_compiled_again(void**) {
  const Scratch folder;
  std::string code;
  {
    const Session session(folder.path());
    const auto got = session.get(hip(kMatmul));
    std::size_t size = 0;
    const void* data = tlc_artifact_data(got.artifact.get(), 0, &size);
    code.assign(static_cast<const char*>(data), size);
  }
  assert_true(flip_in_files(folder.path(), code) >= 1);
  const Session session(folder.path());
  Card::get().use_primary();
  const auto again = session.get(hip(kMatmul));
  assert_true(again.compiled);
  assert_true(matmul_of(session, again));
}

// A code object that is whole but whose cubin the driver refuses: taken out once, compiled again once.
void what_the_driver_refuses_is_compiled_again_once(void**) {
  if (fake_driver()) skip();  // it takes everything
  const Scratch folder;
  const Session session(folder.path());
  Card::get().use_primary();
  const Wanted wanted = hip(kMatmul);
  const auto good = session.get(wanted);
  std::size_t size = 0;
  const void* data = tlc_artifact_data(good.artifact.get(), 0, &size);
  std::string broken(static_cast<const char*>(data), size);
  const std::size_t cubin = broken.find("\177ELF", 4);
  assert_true(cubin != std::string::npos);
  broken.replace(cubin, 4, "NOPE");
  const auto artifact = session.replace_member(good.artifact.get(), "kernel.hsaco", broken);
  Owned<tlc_module> module;
  tlc_error error = error_here();
  assert_int_equal(session.try_load(artifact.get(), module, error), TLC_E_LOAD);
  assert_true(error.backend_code != 0);
  const auto again = session.get(wanted);
  assert_true(again.compiled);
  assert_true(matmul_of(session, again));
  assert_false(session.get(wanted).compiled);
}

int run_child(const std::string& folder, const std::string& what) {
  const Session session(folder);
  return what == "hit" ? child_hits(session) : child_races(session);
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("TLC_TEST_HIP_SHIM") == nullptr) {
    std::puts("skipped: tests/gpu/run_hip.py sets the shim up and starts this");
    return 77;
  }
  if (argc == 4 && std::string(argv[1]) == "--child") return run_child(argv[2], argv[3]);
  g_self = argv[0];
  print_message("%s, driver %d, HIP by the shim\n", Card::get().name().c_str(), Card::get().driver_version());
  const CMUnitTest tests[] = {
      cmocka_unit_test(kernels_compute_the_right_values),
      cmocka_unit_test(another_process_hits),
      cmocka_unit_test(eight_processes_compile_once),
      cmocka_unit_test(names_of_cxx_are_found_on_a_hit),
      cmocka_unit_test(equal_names_in_two_artifacts_stay_apart),
      cmocka_unit_test(a_fat_artifact_loads),
      cmocka_unit_test(another_arch_is_refused_before_the_runtime),
      cmocka_unit_test(an_arch_that_the_compiler_dies_of_is_survived),
      cmocka_unit_test(a_flipped_bit_is_compiled_again),
      cmocka_unit_test(what_the_driver_refuses_is_compiled_again_once),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
