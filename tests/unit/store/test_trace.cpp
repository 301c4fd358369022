// SPDX-License-Identifier: MIT
// The trace of requests: whole lines, in the file, of this process only.
#include "store/trace.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "store_support.hpp"
#include "tlc_test.hpp"

using namespace tlc;         // NOLINT
using namespace tlc::store;  // NOLINT

namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

void test_lines(void**) {
  const test::Scratch scratch;
  const std::string path = scratch.path("trace");
  {
    Result<std::shared_ptr<Trace>> trace = Trace::open(path);
    assert_true(trace.ok());
    (*trace)->note('m', test::key_of(1), 0, 0, "a b");
    assert_int_equal(lines_of(path).size(), 1);  // at once
    (*trace)->note('h', test::key_of(1), 320, 1500, "ns");
    assert_int_equal(lines_of(path).size(), 1);  // gathered
    const pid_t child = ::fork();
    if (child == 0) {
      trace->reset();  // the parent's lines are not the child's to write
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    assert_int_equal(status, 0);
  }
  const std::vector<std::string> lines = lines_of(path);
  assert_int_equal(lines.size(), 2);
  const std::string digest = trust::to_hex(test::key_of(1)).substr(0, 16);
  assert_true(lines[0].ends_with(" m " + digest + " 0 0 a_b"));
  assert_true(lines[1].ends_with(" " + std::to_string(::getpid()) + " h " + digest + " 320 1500 ns"));
  struct stat st {};
  assert_int_equal(::stat(path.c_str(), &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
}

void test_many_hits_are_written_in_blocks(void**) {
  const test::Scratch scratch;
  Result<std::shared_ptr<Trace>> trace = Trace::open(scratch.path("trace"));
  assert_true(trace.ok());
  for (std::uint64_t i = 0; i < 1000; ++i) (*trace)->note('h', test::key_of(i), i, i, "ns");
  assert_true(lines_of(scratch.path("trace")).size() > 900);
  (*trace)->flush();
  assert_int_equal(lines_of(scratch.path("trace")).size(), 1000);
}

void test_a_symlink_is_refused(void**) {
  const test::Scratch scratch;
  assert_int_equal(::symlink(scratch.path("target").c_str(), scratch.path("trace").c_str()), 0);
  assert_false(Trace::open(scratch.path("trace")).ok());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),
      cmocka_unit_test(test_many_hits_are_written_in_blocks),
      cmocka_unit_test(test_a_symlink_is_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
