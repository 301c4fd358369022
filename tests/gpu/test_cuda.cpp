// SPDX-License-Identifier: MIT
// The cuda backend on a real card, by the public library alone: what is compiled, found, loaded and launched computes
// the right values, and what must not reach the driver does not.
//
//   TLC_TEST_CUDA_INCLUDE  the folder of cuda_fp16.h (default: /usr/local/cuda/include)
//
// The program starts itself for what other processes do: test_cuda --child FOLDER WHAT.
#include "tlc_test.hpp"

#include <spawn.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "files.hpp"
#include "kernels.hpp"
#include "scratch.hpp"
#include "session.hpp"

using namespace tlc::gpu;
using tlc::test::Scratch;

extern char** environ;

namespace {

const char* g_self = nullptr;

std::string toolkit_include() {
  const char* folder = std::getenv("TLC_TEST_CUDA_INCLUDE");
  return folder != nullptr ? folder : "/usr/local/cuda/include";
}

std::string device_arch() {
  return "sm_" + std::to_string(Card::get().capability());
}

pid_t start_self(const std::string& folder, const char* what) {
  const char* arguments[] = {g_self, "--child", folder.c_str(), what, nullptr};
  pid_t child = 0;
  assert_int_equal(::posix_spawn(&child, g_self, nullptr, nullptr, const_cast<char**>(arguments), environ), 0);
  return child;
}

// ---------------------------------------------------------------- kernels, and hits

void kernels_compute_the_right_values(void**) {
  const Scratch folder;
  const Session session(folder.path());
  Card::get().use_primary();
  const auto matmul = session.get(Wanted(kMatmul).define("TILE", "8"));
  assert_true(matmul.compiled);
  assert_true(matmul_is_right(Session::symbol(session.load(matmul.artifact.get()).get(), "matmul"), 8));
  const auto softmax = session.get(Wanted(kSoftmax));
  assert_true(softmax_is_right(Session::symbol(session.load(softmax.artifact.get()).get(), "softmax")));
  const auto sum = session.get(Wanted(kHalfSum).list("include_dirs", {toolkit_include()}));
  assert_true(half_sum_is_right(Session::symbol(session.load(sum.artifact.get()).get(), "half_sum")));
}

void another_process_hits(void**) {
  const Scratch folder;
  const Session session(folder.path());
  (void)session.get(Wanted(kMatmul));
  assert_int_equal(tlc::test::wait_for(start_self(folder.path(), "hit")), 0);
  assert_u64(session.stats().compiles, 1);
}

int child_hits(const Session& session) {
  Card::get().use_primary();
  const auto matmul = session.get(Wanted(kMatmul));
  if (matmul.compiled) return 2;
  return matmul_is_right(Session::symbol(session.load(matmul.artifact.get()).get(), "matmul")) ? 0 : 3;
}

void eight_processes_compile_once(void**) {
  const Scratch folder;
  const Session session(folder.path());
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) children.push_back(start_self(folder.path(), "race"));
  for (const pid_t child : children) assert_int_equal(tlc::test::wait_for(child), 0);
  assert_u64(session.stats().compiles, 1);
}

int child_races(const Session& session) {
  Card::get().use_primary();
  const auto matmul = session.get(Wanted(kMatmul).define("TILE", "8"));
  return matmul_is_right(Session::symbol(session.load(matmul.artifact.get()).get(), "matmul"), 8) ? 0 : 3;
}

void ptx_is_compiled_by_the_driver(void**) {
  const Scratch folder;
  const Session session(folder.path());
  Card::get().use_primary();
  const auto softmax =
      session.get(Wanted(kSoftmax, "cuda:compute_" + std::to_string(Card::get().capability())).text("output", "ptx"));
  assert_string_equal(
      static_cast<const char*>(tlc_artifact_data(softmax.artifact.get(), 0, nullptr)) != nullptr ? "kernel.ptx" : "",
      "kernel.ptx");
  assert_true(softmax_is_right(Session::symbol(session.load(softmax.artifact.get()).get(), "softmax")));
}

void lto_ir_is_linked(void**) {
  const Scratch folder;
  const Session session(folder.path());
  Card::get().use_primary();
  const auto softmax = session.get(Wanted(kSoftmax).text("output", "ltoir"));
  assert_true(softmax_is_right(Session::symbol(session.load(softmax.artifact.get()).get(), "softmax")));
}

void names_of_cxx_are_found_on_a_hit(void**) {
  const Scratch folder;
  const Wanted wanted = [] {
    Wanted w(kTemplate);
    w.list("name_expressions", {"ops::scale<float, 3>", "ops::scale<double, 2>", "&ops::version"});
    return w;
  }();
  {
    const Session first(folder.path());
    assert_true(first.get(wanted).compiled);
  }
  const Session session(folder.path());
  Card::get().use_primary();
  const auto found = session.get(wanted);
  assert_false(found.compiled);
  const auto module = session.load(found.artifact.get());
  assert_true(scale_is_right(Session::symbol(module.get(), "ops::scale<float, 3>"), 3));
  const auto address = reinterpret_cast<Address>(Session::symbol(module.get(), "&ops::version"));
  int version = 0;
  Card::get().call("cuMemcpyDtoH_v2", static_cast<void*>(&version), address, sizeof version);
  assert_int_equal(version, 7);
}

void attributes_of_launch_are_kept(void**) {
  const Scratch folder;
  constexpr unsigned kShared = 96 << 10;
  const Wanted wanted = [] {
    Wanted w(kLargeShared);
    w.launch("reverse", "max_dynamic_shared_size_bytes", kShared);
    return w;
  }();
  Card::get().use_primary();
  for (int turn = 0; turn < 2; ++turn) {  // compiled, then found
    const Session session(folder.path());
    const auto got = session.get(wanted);
    assert_int_equal(got.compiled, turn == 0);
    assert_true(reverse_is_right(Session::symbol(session.load(got.artifact.get()).get(), "reverse"), kShared));
  }
}

void precompiled_members_load(void**) {
  const Scratch folder;
  const Session session(folder.path());
  Card::get().use_primary();
  const auto cubin = session.get(Wanted(kMatmul));
  std::size_t size = 0;
  const void* data = tlc_artifact_data(cubin.artifact.get(), 0, &size);
  tlc_error error = error_here();
  tlc_bundle* raw = nullptr;
  require(tlc_bundle_create(&raw, &error), error, "a bundle");
  const Owned<tlc_bundle> bundle(raw);
  require(tlc_bundle_add(raw, tlc_str_from("mine.cubin"), TLC_MEMBER_DEVICE_BINARY, data, size, 0, &error), error,
          "add");
  Wanted wanted("", "cuda:" + device_arch());
  wanted.text("what", "a precompiled cubin");
  require(tlc_request_set_toolchain(wanted.get(), "by hand", 7, &error), error, "toolchain");
  tlc_key* key = nullptr;
  require(tlc_cache_key(session.get(), wanted.get(), &key, &error), error, "key");
  const Owned<tlc_key> owned(key);
  tlc_artifact* artifact = nullptr;
  require(tlc_cache_put(session.get(), key, raw, &artifact, &error), error, "put");
  const Owned<tlc_artifact> put(artifact);
  assert_true(matmul_is_right(Session::symbol(session.load(artifact).get(), "matmul")));
}

// ---------------------------------------------------------------- contexts and threads

void each_context_has_its_own_module_and_none_is_left_current(void**) {
  const Scratch folder;
  const Session session(folder.path());
  const Card& card = Card::get();
  const auto softmax = session.get(Wanted(kSoftmax));
  void* const first = card.make_context();
  void* const second = card.make_context();
  card.set_current(nullptr);
  {
    const auto in_first = session.load(softmax.artifact.get(), first);
    const auto in_second = session.load(softmax.artifact.get(), second);
    assert_null(card.current());
    assert_ptr_not_equal(in_first.get(), in_second.get());
    card.set_current(first);
    assert_true(softmax_is_right(Session::symbol(in_first.get(), "softmax")));
    assert_ptr_equal(card.current(), first);
    card.set_current(second);
    assert_true(softmax_is_right(Session::symbol(in_second.get(), "softmax")));
    const auto again = session.load(softmax.artifact.get());  // the current one
    assert_ptr_equal(tlc_module_native(again.get()), tlc_module_native(in_second.get()));
    card.set_current(nullptr);
  }
  card.destroy_context(first);
  card.destroy_context(second);
}

void no_context_at_all_means_the_primary_one(void**) {
  const Scratch folder;
  const Session session(folder.path());
  const Card& card = Card::get();
  const auto softmax = session.get(Wanted(kSoftmax));
  card.set_current(nullptr);
  const auto module = session.load(softmax.artifact.get());
  void* const function = Session::symbol(module.get(), "softmax");
  assert_null(card.current());
  card.use_primary();
  assert_true(softmax_is_right(function));
}

void many_threads_load_one_module(void**) {
  const Scratch folder;
  const Session session(folder.path());
  (void)session.get(Wanted(kMatmul));
  constexpr std::size_t kThreads = 32;
  std::vector<Owned<tlc_module>> modules(kThreads);
  std::atomic<std::size_t> ready{0};
  std::atomic<std::size_t> right{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Card::get().use_primary();
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      const auto got = session.get(Wanted(kMatmul));
      modules[i] = session.load(got.artifact.get());
      right += matmul_is_right(Session::symbol(modules[i].get(), "matmul")) ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  assert_u64(right.load(), kThreads);
  for (const auto& module : modules)
    assert_ptr_equal(tlc_module_native(module.get()), tlc_module_native(modules[0].get()));
  Card::get().use_primary();
}

void equal_names_in_two_artifacts_stay_apart(void**) {
  const Scratch folder;
  const Session session(folder.path());
  Card::get().use_primary();
  const auto source = [](int number) {
    return "extern \"C\" __global__ void add(int* value) { *value += " + std::to_string(number) + "; }";
  };
  const auto one = session.get(Wanted(source(1)));
  const auto two = session.get(Wanted(source(2)));
  const auto first = session.load(one.artifact.get());
  const auto second = session.load(two.artifact.get());
  assert_true(add_is_right(Session::symbol(first.get(), "add"), 1));
  assert_true(add_is_right(Session::symbol(second.get(), "add"), 2));
}

// ---------------------------------------------------------------- what must not reach the driver

void another_arch_is_refused_before_the_driver(void**) {
  const Scratch folder;
  const Session session(folder.path());
  Card::get().use_primary();
  for (const char* arch : {"sm_80", "sm_100", "sm_100a"}) {
    if (device_arch() == arch) continue;
    const auto other = session.get(Wanted(kMatmul, std::string("cuda:") + arch));
    Owned<tlc_module> module;
    tlc_error error = error_here();
    assert_int_equal(session.try_load(other.artifact.get(), module, error), TLC_REJECTED);
    assert_non_null(std::strstr(error.message, arch));
    assert_int_equal(error.backend_code, 0);  // the driver was not asked
    print_message("refused: %s\n", error.message);
  }
  // The arch with the accelerator features of this very device loads.
  if (Card::get().capability() == 90) {
    const auto own = session.get(Wanted(kMatmul, "cuda:sm_90a"));
    assert_true(matmul_is_right(Session::symbol(session.load(own.artifact.get()).get(), "matmul")));
  }
}

void a_flipped_bit_is_refused(void**) {
  const Scratch folder;
  std::string cubin;
  std::string place;
  {
    const Session session(folder.path());
    const auto got = session.get(Wanted(kMatmul));
    std::size_t size = 0;
    const void* data = tlc_artifact_data(got.artifact.get(), 0, &size);
    cubin.assign(static_cast<const char*>(data), size);
    tlc_blob* path = nullptr;
    tlc_error error = error_here();
    require(tlc_artifact_folder(got.artifact.get(), &path, &error), error, "folder");
    place = tlc_blob_data(path, nullptr);
    tlc_blob_release(path);
  }
  // In the materialised file: the next process gets the right bytes all the same.
  assert_int_equal(flip_in_files(place, cubin), 1);
  assert_int_equal(tlc::test::wait_for(start_self(folder.path(), "folder")), 0);
  // In the segment: a miss, compiled again, right.
  assert_true(flip_in_files(folder.path(), cubin) >= 1);
  const Session session(folder.path());
  Card::get().use_primary();
  const auto again = session.get(Wanted(kMatmul));
  assert_true(again.compiled);
  assert_true(matmul_is_right(Session::symbol(session.load(again.artifact.get()).get(), "matmul")));
  assert_u64(session.stats().compiles, 2);
}

int child_checks_the_folder(const Session& session) {
  const auto got = session.get(Wanted(kMatmul));
  if (got.compiled) return 2;
  std::size_t size = 0;
  const void* data = tlc_artifact_data(got.artifact.get(), 0, &size);
  tlc_blob* path = nullptr;
  tlc_error error = error_here();
  require(tlc_artifact_folder(got.artifact.get(), &path, &error), error, "folder");
  std::ifstream in(std::string(tlc_blob_data(path, nullptr)) + "/kernel.cubin", std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(in)), {});
  tlc_blob_release(path);
  return file == std::string(static_cast<const char*>(data), size) ? 0 : 3;
}

// A cubin that is whole but that the driver refuses: taken out once, compiled again once.
void what_the_driver_refuses_is_compiled_again_once(void**) {
  const Scratch folder;
  const Session session(folder.path());
  Card::get().use_primary();
  const Wanted wanted(kMatmul);
  const auto good = session.get(wanted);
  std::size_t size = 0;
  const void* data = tlc_artifact_data(good.artifact.get(), 0, &size);
  std::string broken(static_cast<const char*>(data), size);
  // Well-formed as ELF, nonsense as a program: the symbols' names all empty.
  const std::size_t at = broken.find(".nv.info");
  assert_true(at != std::string::npos);
  for (std::size_t found = broken.find("matmul"); found != std::string::npos; found = broken.find("matmul", found + 1))
    broken[found] = 'X';
  const auto bad = session.replace_member(good.artifact.get(), "kernel.cubin", broken);
  tlc_error error = error_here();
  Owned<tlc_module> module;
  const tlc_status status = session.try_load(bad.get(), module, error);
  if (status == TLC_OK) {  // this driver does not look at the names while loading: symbol() then says so
    void* address = nullptr;
    assert_int_equal(tlc_module_symbol(module.get(), tlc_str_from("matmul"), &address, &error), TLC_E_NOT_FOUND);
    return;
  }
  assert_int_equal(status, TLC_E_LOAD);
  assert_true(error.backend_code != 0);
  const auto again = session.get(wanted);
  assert_true(again.compiled);
  assert_true(matmul_is_right(Session::symbol(session.load(again.artifact.get()).get(), "matmul")));
  assert_false(session.get(wanted).compiled);
}

int run_child(const std::string& folder, const std::string& what) {
  const Session session(folder);
  if (what == "hit") return child_hits(session);
  if (what == "race") return child_races(session);
  return child_checks_the_folder(session);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--child") return run_child(argv[2], argv[3]);
  g_self = argv[0];
  print_message("%s, driver %d\n", Card::get().name().c_str(), Card::get().driver_version());
  const CMUnitTest tests[] = {
      cmocka_unit_test(kernels_compute_the_right_values),
      cmocka_unit_test(another_process_hits),
      cmocka_unit_test(eight_processes_compile_once),
      cmocka_unit_test(ptx_is_compiled_by_the_driver),
      cmocka_unit_test(lto_ir_is_linked),
      cmocka_unit_test(names_of_cxx_are_found_on_a_hit),
      cmocka_unit_test(attributes_of_launch_are_kept),
      cmocka_unit_test(precompiled_members_load),
      cmocka_unit_test(each_context_has_its_own_module_and_none_is_left_current),
      cmocka_unit_test(no_context_at_all_means_the_primary_one),
      cmocka_unit_test(many_threads_load_one_module),
      cmocka_unit_test(equal_names_in_two_artifacts_stay_apart),
      cmocka_unit_test(another_arch_is_refused_before_the_driver),
      cmocka_unit_test(a_flipped_bit_is_refused),
      cmocka_unit_test(what_the_driver_refuses_is_compiled_again_once),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
