// SPDX-License-Identifier: MIT
// tlcache-worker, with a hiprtc made for tests (fake_hip.c): what comes back, and what stays in the worker. Argument:
// the fake's file. TLC_WORKER names the worker.
#include "tlc_test.hpp"

#include <signal.h>
#include <sys/stat.h>

#include "hip_support.hpp"
#include "scratch.hpp"
#include "support/worker_protocol.hpp"

using namespace tlc::test;

namespace {

const char* g_fake = nullptr;

FakeRequest request_of(const std::string& source, const std::vector<std::string>& options = {}) {
  FakeRequest request = source_request(source, options);
  request.fields["compiler"] = text_value(g_fake);
  return request;
}

void what_is_asked_for_reaches_the_compiler(void**) {
  FakeRequest request = request_of("the source", {"-DX=1", "-O2"});
  request.fields["headers"] = map_value({{"sub/h.h", text_value("text of h")}});
  request.fields["name_expressions"] = list_value({"scale<float, 4>"});
  const auto made = compile_hip(request, "hip:gfx90a:xnack-");
  assert_ok(made.done);
  const std::string& code = made.member("kernel.hsaco")->bytes;
  for (const char* part : {"the source", "sub/h.h\ntext of h\n", "--offload-arch=gfx90a:xnack-\n", "-DX=1\n-O2\n",
                           "scale<float, 4>\n", "-nostdinc\n"}) {
    assert_true_msg(contains(code, part), "not there: %s", part);
  }
  assert_true(contains(made.member("names.json")->bytes, "_Z5scaleIfLi4EEvPT_"));
  // What it printed is in the log; the answer is not disturbed.
  assert_true(contains(made.log.text, "noise on standard output"));
}

void the_worker_sees_little_of_the_environment(void**) {
  ::setenv("CPATH", "/secret", 1);
  ::setenv("HIPRTC_COMPILE_OPTIONS_APPEND", "-DSECRET", 1);
  ::setenv("AMD_COMGR_CACHE", "1", 1);
  const auto made = compile_hip(request_of("x"));
  assert_ok(made.done);
  const std::string& code = made.member("kernel.hsaco")->bytes;
  assert_false(contains(code, "/secret") || contains(code, "SECRET"));
  assert_true(contains(code, "AMD_COMGR_CACHE=0"));
  for (const char* name : {"CPATH", "HIPRTC_COMPILE_OPTIONS_APPEND", "AMD_COMGR_CACHE"}) ::unsetenv(name);
}

void a_compiler_that_dies_leaves_its_words(void**) {
  const Scratch temp;
  ::setenv("TMPDIR", temp.path().c_str(), 1);
  const auto made = compile_hip(request_of("x"), "hip:gfx9999");
  ::unsetenv("TMPDIR");
  assert_fails(made.done, TLC_E_COMPILE, "killed by signal 6");
  assert_true(contains(made.done.error().message, "what is a gfx9999?"));
  assert_true(contains(made.log.text, "fake comgr: what is a gfx9999?"));
  assert_true(made.bundle.members.empty());
  assert_true(std::filesystem::is_empty(temp.path()));  // nothing of it stays behind
  assert_ok(compile_hip(request_of("x")).done);
}

void errors_of_the_source_come_back(void**) {
  const auto made = compile_hip(request_of("nonsense"));
  assert_fails(made.done, TLC_E_COMPILE, "kernel.hip:1:1: error: nonsense is no word");
  assert_u64(made.done.error().backend_code, 6);
  assert_true(contains(made.log.text, "nonsense is no word"));
  FakeRequest unknown = request_of("x");
  unknown.fields["name_expressions"] = list_value({"absent"});
  assert_fails(compile_hip(unknown).done, TLC_E_COMPILE, "absent");
}

void a_host_that_ignores_its_children_loses_nothing(void**) {
  ::signal(SIGCHLD, SIG_IGN);
  const auto made = compile_hip(request_of("x"));
  const auto dead = compile_hip(request_of("x"), "hip:gfx9999");
  ::signal(SIGCHLD, SIG_DFL);
  assert_ok(made.done);
  assert_fails(dead.done, TLC_E_COMPILE, "did not survive");
  assert_true(contains(dead.log.text, "what is a gfx9999?"));
}

void the_compiler_is_looked_into_once(void**) {
  const FakeRequest request = request_of("x");
  const auto first = new_hip_ops().identify(nullptr, request, "hip:gfx90a");
  assert_ok(first);
  // A second process knows what the first one found: without a worker it could not ask.
  const std::string worker = ::getenv("TLC_WORKER");
  ::setenv("TLC_WORKER", "/nonexistent/tlcache-worker", 1);
  const auto second = new_hip_ops().identify(nullptr, request, "hip:gfx90a");
  const auto compiled = compile_hip(request);
  ::setenv("TLC_WORKER", worker.c_str(), 1);
  assert_ok(second);
  assert_true(*second == *first);
  assert_fails(compiled.done, TLC_E_UNAVAILABLE, "/nonexistent/tlcache-worker");
}

// One process, two stores: the second one knows it too once something was compiled for it.
void each_store_knows_what_its_artifacts_need(void**) {
  const FakeRequest request = request_of("x");
  const auto ops = new_hip_ops();
  assert_ok(ops.identify(nullptr, request, "hip:gfx90a"));
  fake_state().memos.clear();  // as another store's
  assert_ok(compile_by(ops, request, "hip:gfx90a").done);
  const std::string worker = ::getenv("TLC_WORKER");
  ::setenv("TLC_WORKER", "/nonexistent/tlcache-worker", 1);
  const auto told = new_hip_ops().identify(nullptr, request, "hip:gfx90a");
  ::setenv("TLC_WORKER", worker.c_str(), 1);
  assert_ok(told);
}

void a_compiler_that_was_replaced_is_another(void**) {
  const Scratch scratch;
  const std::string copy = scratch.path("libamdhip64.so.5");
  std::filesystem::copy_file(g_fake, copy);
  FakeRequest request = request_of("x");
  const auto original = new_hip_ops().identify(nullptr, request, "hip:gfx90a");
  request.fields["compiler"] = text_value(copy);
  const auto ops = new_hip_ops();
  const auto told = ops.identify(nullptr, request, "hip:gfx90a");
  assert_ok(told);
  // The same library elsewhere is the same compiler, but for its name, which is that of ROCm 5's.
  assert_true(contains(*told, original->substr(original->rfind(' '))));
  // Another one in its place after the key was made must not compile for it.
  std::ifstream in(copy, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const std::size_t note = bytes.find(std::string("\x03\0\0\0GNU\0", 8));
  assert_true(note != std::string::npos);
  bytes[note + 8] = static_cast<char>(bytes[note + 8] ^ 1);
  write_file(copy + ".new", bytes);
  std::filesystem::rename(copy + ".new", copy);
  const auto made = compile_by(ops, request, "hip:gfx90a");
  assert_fails(made.done, TLC_E_UNCACHEABLE, "not the one any more");
  assert_true(made.bundle.members.empty());
}

void a_worker_of_another_version_is_refused(void**) {
  const Scratch scratch;
  const std::string path = scratch.path("tlcache-worker");
  const std::string worker = ::getenv("TLC_WORKER");
  ::setenv("TLC_WORKER", path.c_str(), 1);
  write_file(path, "#!/bin/sh\nprintf 'TLCWORK\\n\\377\\0\\0\\0\\003\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0'\n");
  ::chmod(path.c_str(), 0700);
  const auto older = compile_by(new_hip_ops(), request_of("y"), "hip:gfx90a");
  write_file(path, "#!/bin/sh\necho hello\n");
  const auto other = compile_by(new_hip_ops(), request_of("y"), "hip:gfx90a");
  ::setenv("TLC_WORKER", worker.c_str(), 1);
  assert_fails(older.done, TLC_E_UNAVAILABLE, "version 255");
  assert_fails(other.done, TLC_E_UNAVAILABLE, "no answer of a tlcache-worker");
}

void a_cancelled_compile_ends(void**) {
  fake_state().cancelled = true;
  const auto made = compile_hip(request_of("x"));
  fake_state().cancelled = false;
  // It may have been done before it was asked.
  if (!made.done.ok()) assert_int_equal(made.done.error().status, TLC_E_CANCELLED);
}

void frames_are_read_whole_or_not_at_all(void**) {
  tlcb::WorkerDone done;
  done.result = -7;
  done.code = std::string("a\0b", 3);
  done.lowered = {"one", ""};
  const std::string frame = encode(done);
  for (std::size_t size = 0; size < frame.size(); ++size) {
    std::string_view bytes = std::string_view(frame).substr(0, size);
    tlcb::FrameHead head;
    assert_true(take_frame(bytes, head) == tlcb::FrameRead::cut);
  }
  std::string_view bytes = frame;
  tlcb::FrameHead head;
  assert_true(take_frame(bytes, head) == tlcb::FrameRead::whole && bytes.empty());
  tlcb::WorkerDone read;
  assert_true(decode(head.body, read));
  assert_true(read.result == -7 && read.code == done.code && read.lowered == done.lowered);
  tlcb::CompileOrder order;
  assert_false(decode(head.body, order));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  g_fake = argv[1];
  const CMUnitTest tests[] = {
      cmocka_unit_test(what_is_asked_for_reaches_the_compiler),
      cmocka_unit_test(the_worker_sees_little_of_the_environment),
      cmocka_unit_test(a_compiler_that_dies_leaves_its_words),
      cmocka_unit_test(errors_of_the_source_come_back),
      cmocka_unit_test(a_host_that_ignores_its_children_loses_nothing),
      cmocka_unit_test(the_compiler_is_looked_into_once),
      cmocka_unit_test(each_store_knows_what_its_artifacts_need),
      cmocka_unit_test(a_compiler_that_was_replaced_is_another),
      cmocka_unit_test(a_worker_of_another_version_is_refused),
      cmocka_unit_test(a_cancelled_compile_ends),
      cmocka_unit_test(frames_are_read_whole_or_not_at_all),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
