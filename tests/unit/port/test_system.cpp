// SPDX-License-Identifier: MIT
// Clocks, environment, kinds of file systems, libraries, mappings, random bytes.
#include "tlc_test.hpp"

#include <fcntl.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include <set>

#include "port/clock.hpp"
#include "port/dynlib.hpp"
#include "port/env.hpp"
#include "port/file.hpp"
#include "port/fs_kind.hpp"
#include "port/mapping.hpp"
#include "port/system.hpp"
#include "scratch.hpp"

using namespace tlc;
using namespace tlc::port;
using tlc::test::Scratch;

namespace {

constexpr std::int64_t kDayNs = 86'400'000'000'000;

void the_wall_clock_can_be_shifted_and_deadlines_do_not_care(void**) {
  const std::uint64_t wall = wall_ns();
  const std::uint64_t minutes = coarse_minutes();
  assert_true(minutes <= wall / 60'000'000'000U && minutes + 1 >= wall / 60'000'000'000U);
  const Deadline deadline = Deadline::after_ms(60'000);
  set_wall_offset_for_test(kDayNs);
  const std::uint64_t later = wall_ns();
  const std::uint64_t later_minutes = coarse_minutes();
  const bool passed = deadline.passed();
  set_wall_offset_for_test(INT64_MIN / 2);
  const std::uint64_t long_ago = wall_ns();
  set_wall_offset_for_test(0);
  assert_true(later - wall >= kDayNs && later - wall < kDayNs + kDayNs / 24);
  assert_true(later_minutes - minutes >= 1440 && later_minutes - minutes <= 1500);
  assert_false(passed);
  assert_u64(long_ago, 0);
}

void deadlines_pass_when_they_should(void**) {
  assert_true(Deadline::already().passed());
  assert_false(Deadline::never().passed());
  assert_u64(Deadline::never().remaining_ns(), UINT64_MAX);
  assert_true(Deadline::after_ms(0).passed());
  assert_false(Deadline::after_ms(UINT64_MAX).passed());
  const Deadline soon = Deadline::after_ms(20);
  assert_false(soon.passed());
  assert_true(soon.remaining_ns() <= 20'000'000U);
  ::usleep(25'000);
  assert_true(soon.passed());
}

void home_is_believed_only_if_it_is_a_folder(void**) {
  const Scratch scratch;
  const int code = test::in_child([&] {
    ::setenv("HOME", scratch.path().c_str(), 1);
    if (home_dir() != scratch.path()) return 1;
    std::optional<std::string> expected;
    if (const passwd* entry = ::getpwuid(::geteuid())) {
      if (std::filesystem::is_directory(entry->pw_dir)) expected = entry->pw_dir;
    }
    for (const char* bad : {"", ".", "relative", "/nowhere/at/all", "/etc/passwd"}) {
      ::setenv("HOME", bad, 1);
      if (home_dir() != expected) return 2;
    }
    ::unsetenv("HOME");
    return home_dir() == expected ? 0 : 3;
  });
  assert_int_equal(code, 0);
}

void an_unknown_uid_without_home_has_none(void**) {
  if (::geteuid() != 0) skip();
  const int code = test::in_child([] {
    ::unsetenv("HOME");
    if (::setuid(3'999'999) != 0) return 1;
    return home_dir() ? 2 : 0;
  });
  assert_int_equal(code, 0);
}

void a_privileged_program_ignores_the_environment(void**) {
  ::setenv("TLC_TEST_VARIABLE", "value", 1);
  assert_string_equal(secure_env("TLC_TEST_VARIABLE"), "value");
  assert_null(secure_env("TLC_TEST_NO_SUCH_VARIABLE"));
  if (::geteuid() != 0) skip();
  const int code = test::in_child([] {
    if (::seteuid(65534) != 0) return 1;
    return secure_env("TLC_TEST_VARIABLE") == nullptr ? 0 : 2;
  });
  assert_int_equal(code, 0);
}

FsKind kind_at(const char* path) {
  auto fd = open_at(AT_FDCWD, path, O_RDONLY);
  assert_true(fd.ok());
  auto kind = fs_kind(fd->get());
  assert_true(kind.ok());
  return *kind;
}

void file_systems_are_told_apart(void**) {
  assert_true(kind_at("/dev/shm") == FsKind::local);
  assert_true(kind_at("/proc") == FsKind::unknown);
  assert_false(fs_kind(-1).ok());
  set_fs_kind_for_test(FsKind::network, true);
  const FsKind forced = kind_at("/dev/shm");
  set_fs_kind_for_test(FsKind::network, false);
  assert_true(forced == FsKind::network);
  assert_true(kind_at("/dev/shm") == FsKind::local);
}

void libraries_open_and_errors_say_why(void**) {
  auto math = DynLib::open("libm.so.6");
  assert_true(math.ok());
  auto* cosine = reinterpret_cast<double (*)(double)>(math->symbol("cos"));
  assert_non_null(cosine);
  assert_true(cosine(0.0) == 1.0);
  assert_null(math->symbol("no_such_symbol_at_all"));
  auto path = path_of_address(reinterpret_cast<const void*>(cosine));
  assert_true(path.ok());
  assert_non_null(strstr(path->c_str(), "libm"));

  auto missing = DynLib::open("/nowhere/libnothing.so");
  assert_false(missing.ok());
  assert_int_equal(missing.error().status, TLC_E_LOAD);
  assert_non_null(strstr(missing.error().message.c_str(), "/nowhere/libnothing.so"));
  assert_false(DynLib::open("").ok());
  int on_stack = 0;
  assert_false(path_of_address(&on_stack).ok());
}

void mappings_share_the_file_and_outlive_the_descriptor(void**) {
  const Scratch scratch;
  auto fd = open_at(AT_FDCWD, scratch.path("f").c_str(), O_RDWR | O_CREAT, 0600);
  assert_int_equal(::ftruncate(fd->get(), 8192), 0);
  auto writable = Mapping::map_shared(fd->get(), 8192);
  auto readable = Mapping::map_read(fd->get(), 8192);
  assert_true(writable.ok() && readable.ok());
  auto empty = Mapping::map_read(fd->get(), 0);
  assert_true(empty.ok());
  assert_u64(empty->size(), 0);
  assert_false(Mapping::map_shared(-1, 10).ok());
  fd->reset();
  memcpy(writable->data() + 5000, "hello", 5);
  const Mapping moved = std::move(*readable);
  assert_memory_equal(moved.data() + 5000, "hello", 5);
  assert_u64(moved.size(), 8192);
  assert_null(readable->data());
  auto text = read_file_at(AT_FDCWD, scratch.path("f").c_str(), 8192);
  assert_true(text->substr(5000, 5) == "hello");
}

void system_facts_are_in_shape(void**) {
  const std::string id = boot_id();
  assert_u64(id.size(), 36);
  assert_true(id == boot_id());
  const std::size_t page = page_size();
  assert_true(page >= 4096 && (page & (page - 1)) == 0);
#ifdef __GLIBC__
  assert_string_equal(libc_name().c_str(), "glibc");
#else
  assert_true(libc_name() != "glibc");
#endif
}

void random_numbers_do_not_repeat(void**) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random_u64());
  assert_u64(seen.size(), 1000);
  std::string large(1U << 20U, '\0');  // more than getrandom gives at once when interrupted
  random_bytes(large.data(), large.size());
  assert_true(large.find(std::string(32, '\0')) == std::string::npos);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_wall_clock_can_be_shifted_and_deadlines_do_not_care),
      cmocka_unit_test(deadlines_pass_when_they_should),
      cmocka_unit_test(home_is_believed_only_if_it_is_a_folder),
      cmocka_unit_test(an_unknown_uid_without_home_has_none),
      cmocka_unit_test(a_privileged_program_ignores_the_environment),
      cmocka_unit_test(file_systems_are_told_apart),
      cmocka_unit_test(libraries_open_and_errors_say_why),
      cmocka_unit_test(mappings_share_the_file_and_outlive_the_descriptor),
      cmocka_unit_test(system_facts_are_in_shape),
      cmocka_unit_test(random_numbers_do_not_repeat),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
