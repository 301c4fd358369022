// SPDX-License-Identifier: MIT
// The cuda backend through a cache, with a real NVRTC (TLC_TEST_NVRTC): what is a hit, and what makes a miss.
#include "tlc_test.hpp"

#include <fstream>
#include <map>

#include "../cache/cache_support.hpp"
#include "cuda_support.hpp"
#include "scratch.hpp"

using namespace tlc;
using namespace tlc::test;

namespace {

struct Wanted {
  std::string source = "#include <value.h>\n__device__ int v = VALUE;\n";
  std::vector<std::string> folders;
  std::vector<std::string> options;
  std::vector<std::string> expressions;
  std::map<std::string, std::string> headers;
  std::string target = "cuda:sm_90";
  std::string output;
};

void add_list(tlc_request* request, const char* name, const std::vector<std::string>& texts) {
  assert_int_equal(tlc_request_begin_list(request, str(name), 0, nullptr), TLC_OK);
  for (const std::string& text : texts) {
    assert_int_equal(tlc_request_add_text(request, str(""), str(text), 0, nullptr), TLC_OK);
  }
  assert_int_equal(tlc_request_end(request, nullptr), TLC_OK);
}

Own<tlc_request> request_for(const Wanted& wanted) {
  tlc_request* request = nullptr;
  assert_int_equal(tlc_request_create(str("test"), &request, nullptr), TLC_OK);
  assert_int_equal(tlc_request_set_target(request, str(wanted.target), nullptr), TLC_OK);
  assert_int_equal(tlc_request_add_text(request, str("source"), str(wanted.source), 0, nullptr), TLC_OK);
  add_list(request, "include_dirs", wanted.folders);
  add_list(request, "options", wanted.options);
  add_list(request, "name_expressions", wanted.expressions);
  if (!wanted.output.empty()) {
    assert_int_equal(tlc_request_add_text(request, str("output"), str(wanted.output), 0, nullptr), TLC_OK);
  }
  assert_int_equal(tlc_request_begin_map(request, str("headers"), 0, nullptr), TLC_OK);
  for (const auto& [name, text] : wanted.headers) {
    assert_int_equal(tlc_request_add_text(request, str(name), str(text), 0, nullptr), TLC_OK);
  }
  assert_int_equal(tlc_request_end(request, nullptr), TLC_OK);
  return Own<tlc_request>(request);
}

/// Gets or compiles; true when it had to be compiled.
bool compiled(tlc_cache* cache, const Wanted& wanted, Own<tlc_artifact>* out = nullptr) {
  const Own<tlc_request> request = request_for(wanted);
  tlc_artifact* artifact = nullptr;
  tlc_blob* log = nullptr;
  Err error;
  const tlc_status status = tlc_cache_get_or_compile(cache, request.get(), nullptr, &artifact, &log, &error);
  assert_true_msg(status == TLC_OK, "%d %s", status, error.message);
  Own<tlc_artifact> owned(artifact);
  if (out != nullptr) *out = std::move(owned);
  const Own<tlc_blob> said(log);
  return log != nullptr;
}

bool has_nvrtc_open() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("libnvrtc") != std::string::npos) return true;
  }
  return false;
}

// In children, and first of all: before this process has an NVRTC.
void a_second_process_hits_and_does_not_open_nvrtc(void**) {
  const Scratch scratch;
  Wanted wanted;
  wanted.source = kSaxpy;
  assert_false(has_nvrtc_open());
  assert_int_equal(in_child([&] {
                     const bool made = compiled(open_cache(scratch.path("store")).get(), wanted);
                     return made && has_nvrtc_open() ? 0 : 1;
                   }),
                   0);
  assert_int_equal(in_child([&] {
                     const bool made = compiled(open_cache(scratch.path("store")).get(), wanted);
                     return made ? 1 : has_nvrtc_open() ? 2 : 0;
                   }),
                   0);
}

void archs_outputs_and_options_have_keys_of_their_own(void**) {
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path("store"));
  Wanted wanted;
  wanted.source = kSaxpy;
  assert_true(compiled(cache.get(), wanted));
  Wanted other = wanted;
  other.target = "cuda:sm_80";
  assert_true(compiled(cache.get(), other));
  other = wanted;
  other.output = "ptx";
  assert_true(compiled(cache.get(), other));
  other = wanted;
  other.options = {"-lineinfo"};
  assert_true(compiled(cache.get(), other));
  other = wanted;
  other.headers = {{"unused.h", ""}};
  assert_true(compiled(cache.get(), other));
  assert_false(compiled(cache.get(), wanted));
}

void headers_edited_shadowed_added_or_removed_make_a_miss(void**) {
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path("store"));
  Wanted wanted;
  wanted.source =
      "#include <value.h>\n#if __has_include(<maybe.h>)\n#include <maybe.h>\n#endif\n__device__ int v = VALUE;\n";
  wanted.folders = {scratch.path("first"), scratch.path("second")};
  write_file(scratch.path("first/other.h"), "");
  write_file(scratch.path("second/value.h"), "#include \"near.h\"\n#define VALUE NEAR\n");
  write_file(scratch.path("second/near.h"), "#define NEAR 1\n");
  let_files_age();
  assert_true(compiled(cache.get(), wanted));
  assert_false(compiled(cache.get(), wanted));
  const auto changed = [&](const char* what) {
    let_files_age();
    assert_true_msg(compiled(cache.get(), wanted), "not noticed: %s", what);
    assert_false(compiled(cache.get(), wanted));
  };
  write_file(scratch.path("second/near.h"), "#define NEAR 2\n");
  changed("a header that another one includes was edited");
  write_file(scratch.path("first/value.h"), "#define VALUE 3\n");
  changed("a header appeared in an earlier folder");
  std::filesystem::remove(scratch.path("first/value.h"));
  assert_false(compiled(cache.get(), wanted));  // what was compiled before it appeared fits again
  write_file(scratch.path("second/maybe.h"), "");
  changed("a header appeared that was asked for");
  std::filesystem::remove(scratch.path("second/maybe.h"));
  assert_false(compiled(cache.get(), wanted));
  write_file(scratch.path("first/maybe.h"), "");
  changed("it appeared elsewhere");
  std::filesystem::remove(scratch.path("second/near.h"));
  write_file(scratch.path("first/near.h"), "#define NEAR 4\n");
  changed("a header was removed, and another one is found instead");
}

void a_macro_that_hides_its_header_is_not_cached(void**) {
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path("store"));
  write_file(scratch.path("value.h"), "#define VALUE 1\n");
  let_files_age();
  Wanted wanted;
  wanted.folders = {scratch.path()};
  wanted.source = "#define S_(x) #x\n#define S(x) S_(x)\n#include S(value.h)\n__device__ int v = VALUE;\n";
  const Own<tlc_request> request = request_for(wanted);
  tlc_artifact* artifact = nullptr;
  Err error;
  assert_int_equal(tlc_cache_get_or_compile(cache.get(), request.get(), nullptr, &artifact, nullptr, &error),
                   TLC_E_UNCACHEABLE);
  assert_true(contains(error.message, "#include S(value.h)"));
  wanted.source = "#define HEADER <value.h>\n#include HEADER\n__device__ int v = VALUE;\n";
  assert_true(compiled(cache.get(), wanted));
  write_file(scratch.path("value.h"), "#define VALUE 2\n");
  let_files_age();
  assert_true(compiled(cache.get(), wanted));
}

void a_compile_error_is_told_and_not_kept(void**) {
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path("store"));
  Wanted wanted;
  wanted.source = "__global__ void k() { nonsense; }";
  for (int i = 0; i < 2; ++i) {
    const Own<tlc_request> request = request_for(wanted);
    tlc_artifact* artifact = nullptr;
    tlc_blob* log = nullptr;
    Err error;
    assert_int_equal(tlc_cache_get_or_compile(cache.get(), request.get(), nullptr, &artifact, &log, &error),
                     TLC_E_COMPILE);
    assert_true(contains(error.message, "nonsense"));
    assert_true(contains(text_of(log), "kernel.cu(1)"));
  }
}

void an_artifact_describes_itself(void**) {
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path("store"));
  Wanted wanted;
  wanted.source = kSaxpy;
  Own<tlc_artifact> artifact;
  assert_true(compiled(cache.get(), wanted, &artifact));
  tlc_blob* json = nullptr;
  Err error;
  assert_true_msg(tlc_artifact_describe(artifact.get(), cache.get(), &json, &error) == TLC_OK, "%s", error.message);
  const std::string text = text_of(json);
  assert_true_msg(contains(text, "\"archs\": [\"sm_90\"]") && contains(text, "\"name\": \"saxpy\""), "%s",
                  text.c_str());
}

}  // namespace

int main() {
  if (!use_test_nvrtc()) return 77;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_second_process_hits_and_does_not_open_nvrtc),
      cmocka_unit_test(archs_outputs_and_options_have_keys_of_their_own),
      cmocka_unit_test(headers_edited_shadowed_added_or_removed_make_a_miss),
      cmocka_unit_test(a_macro_that_hides_its_header_is_not_cached),
      cmocka_unit_test(a_compile_error_is_told_and_not_kept),
      cmocka_unit_test(an_artifact_describes_itself),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
