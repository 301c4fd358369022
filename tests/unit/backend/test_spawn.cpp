// SPDX-License-Identifier: MIT
#include "tlc_test.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "scratch.hpp"
#include "support/spawn.hpp"
#include "support/temp_dir.hpp"

using namespace tlcb;
using namespace tlc::test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

SpawnRequest shell(const std::string& script) {
  SpawnRequest request;
  request.program = "/bin/sh";
  request.args = {"-c", script};
  request.env = {"PATH=/usr/bin:/bin"};
  return request;
}

void streams_and_status_come_back(void**) {
  const SpawnResult result = spawn(shell("echo out; echo err >&2; exit 3"));
  assert_int_equal(static_cast<int>(result.ended), static_cast<int>(Ended::exited));
  assert_int_equal(result.code, 3);
  assert_string_equal(result.output.c_str(), "out\n");
  assert_string_equal(result.errors.c_str(), "err\n");
  assert_false(result.success());
  const SpawnResult killed = spawn(shell("kill -9 $$"));
  assert_int_equal(static_cast<int>(killed.ended), static_cast<int>(Ended::signalled));
  assert_int_equal(killed.code, SIGKILL);
}

void much_input_and_output_does_not_block(void**) {
  std::string input(5'000'000, 'x');
  SpawnRequest request = shell("tee /dev/stderr");
  request.input = input;
  const SpawnResult result = spawn(request);
  assert_true(result.success());
  assert_true(result.output == input);
  assert_true(result.errors == input);
  // A child that does not read its input does not hurt the host.
  request.args = {"-c", "exit 0"};
  assert_true(spawn(request).success());
  request.args = {"-c", "cat"};
  request.output_limit = 1000;
  assert_int_equal(spawn(request).output.size(), 1000);
}

void the_child_sees_only_what_it_is_given(void**) {
  ::setenv("TLC_SECRET", "x", 1);
  const int leak = ::open("/dev/null", O_RDONLY);  // without close-on-exec
  SpawnRequest request = shell("env | grep -c SECRET; ls /proc/self/fd | wc -l; pwd");
  request.folder = "/usr";
  const SpawnResult result = spawn(request);
  ::close(leak);
  // 0, 1, 2, and the folder that ls reads.
  assert_string_equal(result.output.c_str(), "0\n4\n/usr\n");
}

void a_missing_program_is_an_errno(void**) {
  SpawnRequest request;
  request.program = "/nonexistent/cc";
  const SpawnResult result = spawn(request);
  assert_int_equal(static_cast<int>(result.ended), static_cast<int>(Ended::not_started));
  assert_int_equal(result.code, ENOENT);
}

void the_whole_group_dies_at_the_timeout(void**) {
  const Scratch scratch;
  SpawnRequest request = shell("(sleep 2; echo late > " + scratch.path("late") + ") & sleep 60");
  request.timeout = 200ms;
  const auto start = Clock::now();
  const SpawnResult result = spawn(request);
  assert_int_equal(static_cast<int>(result.ended), static_cast<int>(Ended::timed_out));
  assert_true(Clock::now() - start < 20s);
  std::this_thread::sleep_for(2500ms);
  assert_int_not_equal(::access(scratch.path("late").c_str(), F_OK), 0);
}

void cancelling_ends_it(void**) {
  std::atomic<bool> cancel{false};
  SpawnRequest request = shell("sleep 60");
  request.cancelled = [&] { return cancel.load(); };
  std::thread later([&] {
    std::this_thread::sleep_for(200ms);
    cancel = true;
  });
  const auto start = Clock::now();
  const SpawnResult result = spawn(request);
  later.join();
  assert_int_equal(static_cast<int>(result.ended), static_cast<int>(Ended::cancelled));
  assert_true(Clock::now() - start < 20s);
}

/// The status is known or honestly lost, and never wrong.
int status_is_right(int code) {
  const SpawnResult result = spawn(shell("echo hi; exit " + std::to_string(code)));
  if (result.output != "hi\n") return 1;
  if (result.ended == Ended::lost) return 0;
  return result.ended == Ended::exited && result.code == code ? 0 : 2;
}

void a_host_that_ignores_sigchld_does_no_harm(void**) {
  const pid_t child = start_child([] {
    ::alarm(60);
    ::signal(SIGCHLD, SIG_IGN);
    return status_is_right(0) + 10 * status_is_right(7);
  });
  assert_int_equal(wait_for(child), 0);
}

void a_host_that_reaps_all_does_no_harm(void**) {
  const pid_t child = start_child([] {
    ::alarm(60);
    std::atomic<bool> stop{false};
    std::thread reaper([&] {
      while (!stop) {
        ::waitpid(-1, nullptr, WNOHANG);
        std::this_thread::sleep_for(100us);
      }
    });
    int bad = 0;
    for (int i = 0; i < 20; ++i) bad += status_is_right(i % 2 * 7);
    stop = true;
    reaper.join();
    return bad;
  });
  assert_int_equal(wait_for(child), 0);
}

void closed_standard_descriptors_are_no_problem(void**) {
  const pid_t child = start_child([] {
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    return status_is_right(0);
  });
  assert_int_equal(wait_for(child), 0);
}

void a_background_child_does_not_hold_us(void**) {
  const auto start = Clock::now();
  const SpawnResult result = spawn(shell("sleep 30 & echo done"));
  assert_true(result.success());
  assert_string_equal(result.output.c_str(), "done\n");
  assert_true(Clock::now() - start < 20s);
}

void programs_are_found_by_absolute_path_only(void**) {
  assert_true(find_program("sh").front() == '/');
  assert_string_equal(find_program("/bin/sh").c_str(), "/bin/sh");
  for (const char* name : {"", "./sh", "bin/sh", "no-such-program-tlc", "/tmp", "/nonexistent/x"}) {
    assert_string_equal(find_program(name).c_str(), "");
  }
  const Scratch scratch;
  ::setenv("PATH", ".::relative", 1);
  assert_string_equal(find_program("sh").c_str(), "");
  ::setenv("PATH", "/usr/bin:/bin", 1);
}

void temporary_folders_are_private_and_go(void**) {
  std::string path;
  {
    int error = 0;
    const TempDir temp = TempDir::create(error);
    assert_true(static_cast<bool>(temp));
    path = temp.path();
    struct stat st {};
    assert_int_equal(::stat(path.c_str(), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    std::filesystem::create_directories(path + "/a/b");
  }
  assert_false(std::filesystem::exists(path));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(streams_and_status_come_back),
      cmocka_unit_test(much_input_and_output_does_not_block),
      cmocka_unit_test(the_child_sees_only_what_it_is_given),
      cmocka_unit_test(a_missing_program_is_an_errno),
      cmocka_unit_test(the_whole_group_dies_at_the_timeout),
      cmocka_unit_test(cancelling_ends_it),
      cmocka_unit_test(a_host_that_ignores_sigchld_does_no_harm),
      cmocka_unit_test(a_host_that_reaps_all_does_no_harm),
      cmocka_unit_test(closed_standard_descriptors_are_no_problem),
      cmocka_unit_test(a_background_child_does_not_hold_us),
      cmocka_unit_test(programs_are_found_by_absolute_path_only),
      cmocka_unit_test(temporary_folders_are_private_and_go),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
