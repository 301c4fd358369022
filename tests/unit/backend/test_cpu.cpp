// SPDX-License-Identifier: MIT
// The cpu backend through its table, with a fake host: what a user of it would notice.
#include "tlc_test.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "backend/ops.hpp"
#include "backend_support.hpp"
#include "fake_host.hpp"
#include "scratch.hpp"
#include "support/spawn.hpp"

extern "C" tlc_status tlc_cpu_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                             tlc_error* error);

using namespace tlc;
using namespace tlc::backend;
using namespace tlc::test;

namespace {

const char* const kTarget = "cpu:auto";

const Ops& cpu() {
  static const Ops ops = [] {
    const tlc_backend_ops* table = nullptr;
    void* state = nullptr;
    assert_int_equal(tlc_cpu_plugin_init_v1(fake_host(), &table, &state, nullptr), TLC_OK);
    auto negotiated = Ops::negotiate(table, state, "a test");
    assert_ok(negotiated);
    return *std::move(negotiated);
  }();
  return ops;
}

FakeRequest request_of(const std::string& source, const std::vector<std::string>& options = {}) {
  FakeRequest request;
  request.fields["source"] = text_value(source);
  if (!options.empty()) request.fields["options"] = list_value(options);
  return request;
}

struct Compiled {
  FakeBundle bundle;
  FakeLog log;
  Result<void> done;
};

Compiled compile(const FakeRequest& request, const std::string& target = "") {
  Compiled out;
  out.bundle.target = target.empty() ? *cpu().resolve_target(nullptr, kTarget) : target;
  out.done = cpu().compile(nullptr, request, out.bundle.target, out.bundle, out.log);
  return out;
}

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

int call(FakeBundle& bundle, const std::string& folder, const char* name) {
  bundle.folder = folder;
  assert_ok(cpu().validate(nullptr, bundle, nullptr));
  auto module = cpu().load(nullptr, bundle, nullptr);
  assert_ok(module);
  auto address = cpu().symbol(*module, name);
  assert_ok(address);
  const int answer = reinterpret_cast<int (*)()>(*address)();
  cpu().unload(*module);
  return answer;
}

void c_and_cxx_compile_load_and_run(void**) {
  const Scratch one;
  const Scratch two;
  auto c = compile(request_of("int answer(void) { return 42; }"));
  assert_ok(c.done);
  assert_int_equal(c.bundle.members.size(), 1);
  assert_string_equal(c.bundle.members[0].name.c_str(), "kernel.so");
  assert_int_equal(c.bundle.members[0].type, TLC_MEMBER_SHARED_OBJECT);
  assert_int_equal(call(c.bundle, one.path(), "answer"), 42);

  FakeRequest request =
      request_of("#include <vector>\nextern \"C\" int answer() { return std::vector<int>(N).size(); }", {"-std=c++17"});
  request.fields["language"] = text_value("c++");
  request.fields["defines"] = {TLC_TYPE_MAP, {}, 0, {{"N", {TLC_TYPE_INT, {}, 7, {}}}}};
  auto cxx = compile(request);
  assert_ok(cxx.done);
  // Equal symbol names in two modules stay apart.
  assert_int_equal(call(cxx.bundle, two.path(), "answer"), 7);
  assert_int_equal(call(c.bundle, one.path(), "answer"), 42);
}

void the_same_request_gives_the_same_bytes(void**) {
  const FakeRequest request = request_of("static int x; int f(void) { return ++x; }", {"-g"});
  const auto first = compile(request);
  const auto second = compile(request);
  assert_ok(first.done);
  assert_ok(second.done);
  assert_true(first.bundle.members[0].bytes == second.bundle.members[0].bytes);
}

void errors_come_back_with_the_whole_log(void**) {
  auto bad = compile(request_of("int f(void) { return nonsense; }\nint g(void) { return rubbish; }"));
  assert_fails(bad.done, TLC_E_COMPILE, "nonsense");
  assert_true(contains(bad.log.text, "rubbish"));
  assert_true(bad.bundle.members.empty());
  auto warned = compile(request_of("int f(void) { int unused; return 1; }", {"-Wall"}));
  assert_ok(warned.done);
  assert_true(contains(warned.log.text, "unused"));
}

void bad_fields_are_named(void**) {
  FakeRequest request;
  assert_fails(compile(request).done, TLC_E_INVALID, "'source'");
  request = request_of("int x;");
  request.fields["language"] = text_value("fortran");
  assert_fails(compile(request).done, TLC_E_INVALID, "fortran");
  request = request_of("int x;");
  request.fields["options"] = text_value("-O2");
  assert_fails(compile(request).done, TLC_E_INVALID, "'options' must be a list");
  request = request_of("int x;");
  request.fields["include_dirs"] = list_value({"here"});
  assert_fails(compile(request).done, TLC_E_INVALID, "'here'");
  assert_fails(compile(request_of("int x;", {"-fplugin=/x.so"})).done, TLC_E_DENIED, "-fplugin=/x.so");
  assert_fails(cpu().identify(nullptr, request_of("int x;", {"-march=native"}), "cpu"), TLC_E_INVALID, "cpu:native");
}

void a_missing_compiler_says_what_was_tried(void**) {
  FakeRequest request = request_of("int x;");
  request.fields["compiler"] = text_value("no-such-compiler-tlc");
  assert_fails(compile(request).done, TLC_E_UNAVAILABLE, "tried no-such-compiler-tlc");
  assert_fails(compile(request_of("int x;"), "cpu:s390x").done, TLC_E_UNAVAILABLE, "cross compiler");
}

void headers_are_guarded_and_so_are_their_shadows(void**) {
  const Scratch scratch;
  write(scratch.path("first/other.h"), "");
  write(scratch.path("second/sub/value.h"), "#include \"near.h\"\n#define VALUE NEAR\n");
  write(scratch.path("second/sub/near.h"), "#define NEAR 5\n");
  usleep(50'000);  // older than the compile, beyond doubt
  FakeRequest request = request_of(
      "#include <sub/value.h>\n#if __has_include(<maybe.h>)\n#include <maybe.h>\n#endif\nint f(void) { return VALUE; "
      "}");
  request.fields["include_dirs"] = list_value({scratch.path("first"), scratch.path("second"), scratch.path("missing")});
  auto made = compile(request);
  assert_ok(made.done);
  const auto& present = made.bundle.present;
  assert_true(present.count(scratch.path("second/sub/value.h")) == 1);
  assert_true(present.count(scratch.path("second/sub/near.h")) == 1);
  // first/sub/value.h would be taken first; first/sub not being there says it all.
  assert_true(made.bundle.is_absent(scratch.path("first/sub")));
  assert_true(made.bundle.is_absent(scratch.path("missing")));
  assert_true(made.bundle.is_absent(scratch.path("first/maybe.h")));
  assert_true(made.bundle.is_absent(scratch.path("second/maybe.h")));
  for (const std::string& path : made.bundle.absent) assert_false(std::filesystem::exists(path));
  // The digest is the content's.
  std::uint8_t digest[TLC_DIGEST_SIZE];
  const std::string header = scratch.path("second/sub/near.h");
  assert_int_equal(fake::file_digest(nullptr, fake::str(header), digest, nullptr), TLC_OK);
  assert_memory_equal(digest, present.at(header).data(), TLC_DIGEST_SIZE);
}

void the_environment_does_not_reach_the_compiler(void**) {
  const Scratch scratch;
  write(scratch.path("hidden.h"), "#define HIDDEN 1\n");
  ::setenv("CPATH", scratch.path().c_str(), 1);
  const auto made = compile(request_of("#include <hidden.h>\nint f(void) { return HIDDEN; }"));
  ::unsetenv("CPATH");
  assert_fails(made.done, TLC_E_COMPILE, "hidden.h");
}

void linked_files_are_guarded(void**) {
  const Scratch scratch;
  auto library = compile(request_of("int helper(void) { return 3; }"));
  assert_ok(library.done);
  write(scratch.path("lib/libhelp.so"), library.bundle.members[0].bytes);
  write(scratch.path("before/x"), "");
  usleep(50'000);
  auto made = compile(request_of("int helper(void); int f(void) { return helper(); }",
                                 {"-L" + scratch.path("before"), "-L" + scratch.path("lib"), "-lhelp"}));
  assert_ok(made.done);
  assert_true(made.bundle.present.count(scratch.path("lib/libhelp.so")) == 1);
  assert_true(made.bundle.is_absent(scratch.path("before/libhelp.so")));
  assert_true(made.bundle.is_absent(scratch.path("before/libhelp.a")));
}

void files_nobody_reports_make_it_uncacheable(void**) {
  assert_fails(compile(request_of("__asm__(\".incbin \\\"/etc/passwd\\\"\");")).done, TLC_E_UNCACHEABLE, ".incbin");
}

/// A compiler that is a script around the real one and counts its runs.
struct Wrapper {
  std::string path;
  std::string log;

  Wrapper(const std::string& folder, const std::string& comment) : path(folder + "/wrapped"), log(folder + "/runs") {
    write(path,
          "#!/bin/sh\n# " + comment + "\necho run >> " + log + "\nexec " + tlcb::find_program("cc") + " \"$@\"\n");
    ::chmod(path.c_str(), 0755);
  }
  [[nodiscard]] std::uintmax_t runs() const {
    return std::filesystem::exists(log) ? std::filesystem::file_size(log) : 0;
  }
};

std::string identity_with(const std::string& compiler) {
  FakeRequest request = request_of("int x;");
  request.fields["compiler"] = text_value(compiler);
  auto identity = cpu().identify(nullptr, request, "cpu");
  assert_ok(identity);
  return *identity;
}

void a_warm_identity_starts_no_compiler(void**) {
  const Scratch scratch;
  const Wrapper wrapper(scratch.path(), "one");
  const std::string first = identity_with(wrapper.path);
  const auto runs = wrapper.runs();
  assert_true(runs > 0);
  assert_true(identity_with(wrapper.path) == first);
  assert_u64(wrapper.runs(), runs);
}

void identity_is_content(void**) {
  const Scratch one;
  const Scratch two;
  const Scratch three;
  const std::string first = identity_with(Wrapper(one.path(), "same").path);
  // The same compiler copied elsewhere, or touched: the script's log path differs, so copy the file itself.
  std::filesystem::copy_file(one.path("wrapped"), two.path("wrapped"));
  assert_true(identity_with(two.path("wrapped")) == first);
  std::filesystem::last_write_time(two.path("wrapped"), std::filesystem::file_time_type::clock::now());
  assert_true(identity_with(two.path("wrapped")) == first);
  // Another file of the same behaviour and version.
  assert_true(identity_with(Wrapper(three.path(), "another").path) != first);
  FakeRequest cxx = request_of("int x;");
  cxx.fields["language"] = text_value("c++");
  assert_true(*cpu().identify(nullptr, cxx, "cpu") != *cpu().identify(nullptr, request_of("int x;"), "cpu"));
}

void a_header_written_during_the_compile_is_not_trusted(void**) {
  const Scratch scratch;
  write(scratch.path("inc/h.h"), "#define H 1\n");
  // This compiler rewrites the header each time after it has run.
  const std::string script = scratch.path("rewriting");
  write(script, "#!/bin/sh\n" + tlcb::find_program("cc") + " \"$@\"\nstatus=$?\necho '#define H 2' > " +
                    scratch.path("inc/h.h") + "\nexit $status\n");
  ::chmod(script.c_str(), 0755);
  FakeRequest request = request_of("#include <h.h>\nint f(void) { return H; }");
  request.fields["compiler"] = text_value(script);
  request.fields["include_dirs"] = list_value({scratch.path("inc")});
  const auto made = compile(request);
  assert_fails(made.done, TLC_E_UNCACHEABLE, "h.h");
  assert_true(made.bundle.present.empty());
}

void validate_refuses_what_cannot_run_here(void**) {
  auto made = compile(request_of("int f(void) { return 1; }"));
  assert_ok(made.done);
  FakeBundle cut = made.bundle;
  cut.members[0].bytes.resize(cut.members[0].bytes.size() / 2);
  assert_fails(cpu().validate(nullptr, cut, nullptr), TLC_REJECTED, "cut or damaged");
  cut.members[0].bytes.clear();
  assert_fails(cpu().validate(nullptr, cut, nullptr), TLC_REJECTED, "empty");
  FakeBundle foreign = made.bundle;
  foreign.members[0].bytes[18] = static_cast<char>(0x16);  // e_machine: s390
  foreign.members[0].bytes[19] = 0;
  assert_fails(cpu().validate(nullptr, foreign, nullptr), TLC_REJECTED, "this machine is");
  FakeBundle other = made.bundle;
  other.target = "cpu:riscv64";
  assert_fails(cpu().validate(nullptr, other, nullptr), TLC_REJECTED, "riscv64");
  FakeBundle none;
  assert_fails(cpu().validate(nullptr, none, nullptr), TLC_REJECTED, "no shared object");
}

void absent_symbols_are_named(void**) {
  const Scratch scratch;
  auto made = compile(request_of("int f(void) { return 1; }"));
  assert_ok(made.done);
  made.bundle.folder = scratch.path();
  const auto module = cpu().load(nullptr, made.bundle, nullptr);
  assert_ok(module);
  assert_fails(cpu().symbol(*module, "absent"), TLC_E_NOT_FOUND, "'absent'");
  cpu().unload(*module);
}

void native_code_compiles_and_runs(void**) {
  const Scratch scratch;
  auto target = cpu().resolve_target(nullptr, "cpu:native");
  assert_ok(target);
  auto made =
      compile(request_of("float f0(const float* a, int n) { float s = 0; for (int i = 0; i < n; ++i) s += a[i]; "
                         "return s; } int f(void) { float a[3] = {1, 2, 3}; return (int)f0(a, 3); }",
                         {"-O3"}),
              *target);
  assert_ok(made.done);
  assert_int_equal(call(made.bundle, scratch.path(), "f"), 6);
}

void a_cancelled_compile_ends(void**) {
  fake_state().cancelled = true;
  const auto made = compile(request_of("int f(void) { return 1; }", {"-fno-fast-math"}));
  fake_state().cancelled = false;
  // It may have been done before anybody asked; it must not be an error of another kind.
  if (!made.done.ok()) assert_int_equal(made.done.error().status, TLC_E_CANCELLED);
}

void clang_works_too(void**) {
  const std::string clang = tlcb::find_program("clang-14");
  if (clang.empty()) skip();
  const Scratch scratch;
  FakeRequest request = request_of("#include <stddef.h>\nint f(void) { return sizeof(size_t); }");
  request.fields["compiler"] = text_value(clang);
  auto made = compile(request, *cpu().resolve_target(nullptr, "cpu:native"));
  assert_ok(made.done);
  assert_int_equal(call(made.bundle, scratch.path(), "f"), static_cast<int>(sizeof(size_t)));
  assert_true(identity_with(clang) != identity_with(tlcb::find_program("cc")));
}

void the_probe_names_the_compilers(void**) {
  auto probe = cpu().probe(nullptr);
  assert_ok(probe);
  assert_true(contains(*probe, "\"compiler\": \"/"));
  assert_true(contains(*probe, "\"native\": \"cpu:"));
}

}  // namespace

int main() {
  if (tlcb::find_program("cc").empty() || tlcb::find_program("c++").empty()) return 77;
  const CMUnitTest tests[] = {
      cmocka_unit_test(c_and_cxx_compile_load_and_run),
      cmocka_unit_test(the_same_request_gives_the_same_bytes),
      cmocka_unit_test(errors_come_back_with_the_whole_log),
      cmocka_unit_test(bad_fields_are_named),
      cmocka_unit_test(a_missing_compiler_says_what_was_tried),
      cmocka_unit_test(headers_are_guarded_and_so_are_their_shadows),
      cmocka_unit_test(the_environment_does_not_reach_the_compiler),
      cmocka_unit_test(linked_files_are_guarded),
      cmocka_unit_test(files_nobody_reports_make_it_uncacheable),
      cmocka_unit_test(a_warm_identity_starts_no_compiler),
      cmocka_unit_test(identity_is_content),
      cmocka_unit_test(a_header_written_during_the_compile_is_not_trusted),
      cmocka_unit_test(validate_refuses_what_cannot_run_here),
      cmocka_unit_test(absent_symbols_are_named),
      cmocka_unit_test(native_code_compiles_and_runs),
      cmocka_unit_test(a_cancelled_compile_ends),
      cmocka_unit_test(clang_works_too),
      cmocka_unit_test(the_probe_names_the_compilers),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
