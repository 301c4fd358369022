// SPDX-License-Identifier: MIT
// Real code for AMD GPUs, by the hiprtc and the clang that this machine has, through a cache: what is made is whole,
// found again, and refused where it does not belong. No GPU is needed. Each test says by skipping which compiler is not
// there.
#include "tlc_test.hpp"

#include <fstream>

#include "../cache/cache_support.hpp"
#include "hip/binary_check.hpp"
#include "hip_support.hpp"
#include "scratch.hpp"

using namespace tlc;
using namespace tlc::test;

namespace {

/// What the key says compiles for a target: "hiprtc", "clang", or nothing.
std::string compiler_for(const std::string& target) {
  const auto told = hip_ops().identify(nullptr, source_request(kSaxpy), target);
  if (!told.ok()) return {};
  return contains(*told, "\nhiprtc ") ? "hiprtc" : "clang";
}

void need(const std::string& target, const char* compiler) {
  if (compiler_for(target) == compiler) return;
  print_message("skipped: nothing here compiles for %s by %s\n", target.c_str(), compiler);
  skip();
}

Compiled made_for(const std::string& arch) {
  Compiled made = compile_hip(source_request(kSaxpy), "hip:" + arch);
  assert_ok(made.done);
  const auto binary = tlcb::hip::check_binary(made.member("kernel.hsaco")->bytes);
  assert_true_msg(binary.ok(), "%s", binary.problem.c_str());
  assert_string_equal(binary.images.front().target.text().c_str(), arch.c_str());
  assert_true(binary.images.front().metadata.has_value());
  assert_string_equal(binary.images.front().metadata->kernels.front().name.c_str(), "saxpy");
  assert_ok(hip_ops().validate(nullptr, made.bundle, nullptr));
  return made;
}

void hiprtc_makes_code_objects(void**) {
  need("hip:gfx90a", "hiprtc");
  for (const char* arch : {"gfx90a", "gfx906", "gfx1030", "gfx90a:xnack+", "gfx90a:sramecc+:xnack-"}) {
    const Compiled made = made_for(arch);
    assert_true(made_for(arch).member("kernel.hsaco")->bytes == made.member("kernel.hsaco")->bytes);
  }
}

void clang_makes_code_objects_where_hiprtc_lacks_the_arch(void**) {
  need("hip:gfx942", "clang");
  need("hip:gfx1100", "clang");
  for (const char* arch : {"gfx942", "gfx1100"}) (void)made_for(arch);
  const auto bad = compile_hip(source_request("__global__ void k() { nonsense; }"), "hip:gfx1100");
  assert_fails(bad.done, TLC_E_COMPILE, "kernel.hip:1");
  assert_true(contains(bad.log.text, "nonsense"));
}

void an_arch_that_nothing_knows_kills_the_worker_only(void**) {
  need("hip:gfx90a", "hiprtc");
  const auto made = compile_hip(source_request(kSaxpy), "hip:gfx9999");
  assert_false(made.done.ok());
  assert_int_equal(made.done.error().status, TLC_E_COMPILE);
  assert_true_msg(contains(made.done.error().message, "gfx9999"), "%s", made.done.error().message.c_str());
  assert_false(made.log.text.empty());
  (void)made_for("gfx90a");
}

void a_fat_artifact_has_code_for_each(void**) {
  need("hip:gfx90a", "hiprtc");
  const std::string target = "hip:gfx1030,hip:gfx90a:xnack-";
  Compiled made = compile_hip(source_request(kSaxpy), target);
  assert_ok(made.done);
  const auto binary = tlcb::hip::check_binary(made.member("kernel.hipfb")->bytes);
  assert_true_msg(binary.ok(), "%s", binary.problem.c_str());
  assert_u64(binary.images.size(), 2);
  assert_ok(hip_ops().validate(nullptr, made.bundle, nullptr));
}

void names_are_lowered(void**) {
  need("hip:gfx90a", "hiprtc");
  FakeRequest request =
      source_request("template <typename T, int N> __global__ void scale(T* p) { p[threadIdx.x] *= N; }");
  request.fields["name_expressions"] = list_value({"scale<float, 4>"});
  const auto made = compile_hip(request);
  assert_ok(made.done);
  assert_true(contains(made.member("names.json")->bytes, "\"scale<float, 4>\": \"_Z5scaleIfLi4EEvPT_\""));
}

void headers_are_found_as_they_are_guarded(void**) {
  for (const char* target : {"hip:gfx90a", "hip:gfx1100"}) {
    if (compiler_for(target).empty()) continue;
    const Scratch scratch;
    write_file(scratch.path("first/other.h"), "");
    write_file(scratch.path("second/sub/value.h"), "#include \"near.h\"\n#include \"memory.h\"\n");
    write_file(scratch.path("second/sub/near.h"), "#define NEAR 5\n");
    write_file(scratch.path("second/memory.h"), "#error not this one\n");
    let_files_age();
    FakeRequest request = source_request(
        "#include <sub/value.h>\n#if NEAR != 5 || MEMORY != 7\n#error wrong\n#endif\n#if __has_include(<stdio.h>)\n"
        "#error the system's headers are searched\n#endif\nextern \"C\" __global__ void k(int* p) { *p = NEAR; }\n");
    request.fields["include_dirs"] = list_value({scratch.path("first"), scratch.path("second")});
    request.fields["headers"] = map_value({{"memory.h", text_value("#define MEMORY 7\n")}});
    const auto made = compile_hip(request, target);
    assert_ok(made.done);
    assert_true(made.bundle.present.count(scratch.path("second/sub/near.h")) == 1);
    assert_true(made.bundle.is_absent(scratch.path("first/sub")));
    assert_true(made.bundle.is_absent(scratch.path("second/sub/memory.h")));
  }
  if (compiler_for("hip:gfx90a").empty() && compiler_for("hip:gfx1100").empty()) skip();
}

Own<tlc_artifact> get(tlc_cache* cache, const std::string& target, bool& compiled) {
  tlc_request* raw = nullptr;
  assert_int_equal(tlc_request_create(str("test"), &raw, nullptr), TLC_OK);
  const Own<tlc_request> request(raw);
  assert_int_equal(tlc_request_set_target(raw, str(target), nullptr), TLC_OK);
  assert_int_equal(tlc_request_add_text(raw, str("source"), str(kSaxpy), 0, nullptr), TLC_OK);
  tlc_artifact* artifact = nullptr;
  tlc_blob* log = nullptr;
  Err error;
  assert_true_msg(tlc_cache_get_or_compile(cache, raw, nullptr, &artifact, &log, &error) == TLC_OK, "%s",
                  error.message);
  const Own<tlc_blob> said(log);
  compiled = log != nullptr;
  return Own<tlc_artifact>(artifact);
}

// In children: a second process neither opens a compiler nor starts one.
void a_second_process_hits_without_a_compiler(void**) {
  need("hip:gfx90a", "hiprtc");
  const Scratch scratch;
  for (const char* target : {"hip:gfx90a", "hip:gfx1100"}) {
    if (compiler_for(target).empty()) continue;
    for (const bool first : {true, false}) {
      const int code = in_child([&] {
        if (!first) ::setenv("TLC_WORKER", "/nonexistent/tlcache-worker", 1);
        bool compiled = false;
        const Own<tlc_artifact> artifact = get(open_cache(scratch.path("store")).get(), target, compiled);
        std::ifstream maps("/proc/self/maps");
        const std::string all((std::istreambuf_iterator<char>(maps)), {});
        if (contains(all, "libamdhip64") || contains(all, "libhiprtc") || contains(all, "libLLVM")) return 2;
        return compiled == first ? 0 : 1;
      });
      assert_int_equal(code, 0);
    }
  }
}

void targets_have_keys_of_their_own(void**) {
  need("hip:gfx90a", "hiprtc");
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path("store"));
  bool compiled = false;
  for (const char* target : {"hip:gfx90a", "hip:gfx90a:xnack+", "hip:gfx90a:xnack-", "hip:gfx906"}) {
    (void)get(cache.get(), target, compiled);
    assert_true_msg(compiled, "%s", target);
    (void)get(cache.get(), target, compiled);
    assert_false(compiled);
  }
}

void artifacts_describe_themselves(void**) {
  need("hip:gfx90a", "hiprtc");
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path("store"));
  bool compiled = false;
  const Own<tlc_artifact> artifact = get(cache.get(), "hip:gfx90a:xnack-", compiled);
  tlc_blob* json = nullptr;
  Err error;
  assert_true_msg(tlc_artifact_describe(artifact.get(), cache.get(), &json, &error) == TLC_OK, "%s", error.message);
  const std::string text = text_of(json);
  for (const char* part : {"\"format\": \"code object\"", "\"archs\": [\"gfx90a:xnack-\"]", "\"name\": \"saxpy\"",
                           "\"registers\": ", "\"wave_size\": 64"}) {
    assert_true_msg(contains(text, part), "%s not in %s", part, text.c_str());
  }
}

// Every cut of a real one is refused; no flip of its bytes makes the check fall over, and none of its header passes for
// another arch.
void damaged_code_is_refused(void**) {
  need("hip:gfx90a", "hiprtc");
  const std::string whole = made_for("gfx90a").member("kernel.hsaco")->bytes;
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    FakeBundle cut = hip_artifact(whole.substr(0, size), "hip:gfx90a");
    assert_false(hip_ops().validate(nullptr, cut, nullptr).ok());
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x04);
    FakeBundle artifact = hip_artifact(flipped, "hip:gfx90a");
    const bool passes = hip_ops().validate(nullptr, artifact, nullptr).ok();
    assert_false(passes && i == 48);  // the processor
    (void)hip_ops().describe(nullptr, artifact);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_second_process_hits_without_a_compiler),
      cmocka_unit_test(hiprtc_makes_code_objects),
      cmocka_unit_test(clang_makes_code_objects_where_hiprtc_lacks_the_arch),
      cmocka_unit_test(an_arch_that_nothing_knows_kills_the_worker_only),
      cmocka_unit_test(a_fat_artifact_has_code_for_each),
      cmocka_unit_test(names_are_lowered),
      cmocka_unit_test(headers_are_found_as_they_are_guarded),
      cmocka_unit_test(targets_have_keys_of_their_own),
      cmocka_unit_test(artifacts_describe_themselves),
      cmocka_unit_test(damaged_code_is_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
