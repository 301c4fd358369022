// SPDX-License-Identifier: MIT
#include "tlc_test.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "port/file.hpp"
#include "scratch.hpp"

using namespace tlc;
using namespace tlc::port;
using tlc::test::Scratch;

namespace {

Fd folder(const std::string& path) {
  auto fd = open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY);
  assert_true(fd.ok());
  return std::move(*fd);
}

Fd new_file(const std::string& path) {
  auto fd = open_at(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  assert_true(fd.ok());
  return std::move(*fd);
}

void put(const std::string& path, std::string_view text) {
  const Fd fd = new_file(path);
  assert_true(pwrite_full(fd.get(), text.data(), text.size(), 0).ok());
}

mode_t mode_of(const std::string& path) {
  struct stat st {};
  assert_int_equal(::lstat(path.c_str(), &st), 0);
  return st.st_mode & 07777;
}

bool exists(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0;
}

void descriptors_are_close_on_exec_and_close_with_their_owner(void**) {
  const Scratch scratch;
  int number = -1;
  {
    Fd first = new_file(scratch.path("f"));
    number = first.get();
    assert_int_equal(::fcntl(number, F_GETFD), FD_CLOEXEC);
    const Fd second = std::move(first);
    assert_int_equal(second.get(), number);
    assert_int_not_equal(::fcntl(number, F_GETFD), -1);
  }
  assert_int_equal(::fcntl(number, F_GETFD), -1);
}

void open_names_the_file_that_is_missing(void**) {
  const Scratch scratch;
  auto fd = open_at(AT_FDCWD, scratch.path("nowhere").c_str(), O_RDONLY);
  assert_false(fd.ok());
  assert_int_equal(fd.error().status, TLC_E_NOT_FOUND);
  assert_int_equal(fd.error().sys_errno, ENOENT);
  assert_non_null(strstr(fd.error().message.c_str(), "nowhere"));
}

void pread_is_short_only_at_the_end(void**) {
  const Scratch scratch;
  const Fd fd = new_file(scratch.path("f"));
  assert_true(pwrite_full(fd.get(), "abcdef", 6, 4).ok());
  std::array<char, 16> into{};
  auto got = pread_full(fd.get(), into.data(), into.size(), 0);
  assert_true(got.ok());
  assert_u64(*got, 10);
  assert_memory_equal(into.data(), "\0\0\0\0abcdef", 10);
  got = pread_full(fd.get(), into.data(), 3, 5);
  assert_u64(*got, 3);
  assert_memory_equal(into.data(), "bcd", 3);
  got = pread_full(fd.get(), into.data(), 3, 100);
  assert_u64(*got, 0);
  assert_false(pread_full(-1, into.data(), 3, 0).ok());
}

void pwritev_joins_many_parts_and_empty_ones(void**) {
  const Scratch scratch;
  const Fd fd = new_file(scratch.path("f"));
  std::vector<std::string> texts;
  std::string expected;
  texts.reserve(500);
  for (int i = 0; i < 500; ++i) {
    texts.push_back(i % 7 == 0 ? std::string() : std::string(static_cast<size_t>(i), char('a' + i % 26)));
    expected += texts.back();
  }
  std::vector<iovec> parts;
  parts.reserve(texts.size());
  for (std::string& text : texts) parts.push_back({text.data(), text.size()});
  assert_true(pwritev_full(fd.get(), parts, 3).ok());
  assert_u64(parts[499].iov_len, 499);  // the caller's array is untouched
  auto all = read_file_at(AT_FDCWD, scratch.path("f").c_str(), 1U << 20U);
  assert_true(all.ok());
  assert_true(*all == std::string(3, '\0') + expected);
  assert_true(pwritev_full(fd.get(), {}, 0).ok());
}

void a_write_cut_short_by_a_limit_is_an_error(void**) {
  const Scratch scratch;
  const Fd fd = new_file(scratch.path("f"));
  const int code = test::in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string text(5000, 'x');
    auto written = pwrite_full(fd.get(), text.data(), text.size(), 0);
    return !written.ok() && written.error().sys_errno == EFBIG ? 0 : 1;
  });
  assert_int_equal(code, 0);
}

void read_file_refuses_more_than_its_cap(void**) {
  const Scratch scratch;
  put(scratch.path("f"), std::string(10000, 'y'));
  auto text = read_file_at(AT_FDCWD, scratch.path("f").c_str(), 10000);
  assert_true(text.ok());
  assert_u64(text->size(), 10000);
  text = read_file_at(AT_FDCWD, scratch.path("f").c_str(), 9999);
  assert_false(text.ok());
  assert_int_equal(text.error().status, TLC_TOO_LARGE);
  assert_true(read_file_at(AT_FDCWD, "/proc/self/status", 1U << 20U)->size() > 10);
}

void atomic_write_sets_the_mode_whatever_the_umask(void**) {
  const Scratch scratch;
  const Fd dir = folder(scratch.path());
  for (const mode_t umask : {mode_t{0}, mode_t{0777}}) {
    const mode_t old = ::umask(umask);
    auto written = write_file_atomic_at(dir.get(), "f", "text", 0640, umask == 0);
    ::umask(old);
    assert_true(written.ok());
    assert_int_equal(mode_of(scratch.path("f")), 0640);
  }
  assert_string_equal(read_file_at(dir.get(), "f", 100)->c_str(), "text");
  assert_u64(list_dir_at(dir.get(), ".")->size(), 1);
}

void a_failed_atomic_write_leaves_nothing_behind(void**) {
  const Scratch scratch;
  const Fd dir = folder(scratch.path());
  assert_true(make_dirs(scratch.path("taken/inner"), 0700).ok());
  assert_false(write_file_atomic_at(dir.get(), "taken", "text", 0600, true).ok());
  assert_u64(list_dir_at(dir.get(), ".")->size(), 1);
  auto slash = write_file_atomic_at(dir.get(), "taken/f", "text", 0600, false);
  assert_false(slash.ok());
  assert_int_equal(slash.error().status, TLC_E_INVALID);
}

void readers_of_an_atomic_write_see_one_or_the_other(void**) {
  const Scratch scratch;
  const Fd dir = folder(scratch.path());
  const std::string a(20000, 'a');
  const std::string b(30000, 'b');
  assert_true(write_file_atomic_at(dir.get(), "f", a, 0600, false).ok());
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    while (!stop) {
      auto text = read_file_at(dir.get(), "f", 1U << 20U);
      if (!text || (*text != a && *text != b)) ++wrong;
    }
  });
  for (int i = 0; i < 200; ++i) {
    if (!write_file_atomic_at(dir.get(), "f", i % 2 == 0 ? b : a, 0600, false)) ++wrong;
  }
  stop = true;
  reader.join();
  assert_int_equal(wrong.load(), 0);
}

void make_dirs_makes_all_levels_with_the_mode(void**) {
  const Scratch scratch;
  const mode_t old = ::umask(0777);
  const auto made = make_dirs(scratch.path("a//b/c/"), 0700);
  ::umask(old);
  assert_true(made.ok());
  assert_int_equal(mode_of(scratch.path("a")), 0700);
  assert_int_equal(mode_of(scratch.path("a/b/c")), 0700);
  assert_int_equal(::chmod(scratch.path("a").c_str(), 0750), 0);
  assert_true(make_dirs(scratch.path("a/b"), 0700).ok());
  assert_int_equal(mode_of(scratch.path("a")), 0750);  // was there: left alone
  put(scratch.path("file"), "");
  assert_false(make_dirs(scratch.path("file/x"), 0700).ok());
  assert_false(make_dirs("", 0700).ok());
}

void remove_tree_follows_no_symlink_and_opens_locked_folders(void**) {
  const Scratch scratch;
  assert_int_equal(::chmod(scratch.path().c_str(), 0777), 0);
  assert_true(make_dirs(scratch.path("outside"), 0777).ok());
  put(scratch.path("outside/kept"), "kept");
  const int code = test::in_child([&] {
    if (!test::drop_root()) return 2;
    if (!make_dirs(scratch.path("tree/locked/deeper"), 0700)) return 3;
    if (!make_dirs(scratch.path("tree/barred"), 0700)) return 4;
    auto dir = open_at(AT_FDCWD, scratch.path("tree").c_str(), O_RDONLY | O_DIRECTORY);
    for (const char* name : {"locked/deeper/f", "locked/g", "barred/h"}) {
      if (!open_at(dir->get(), name, O_WRONLY | O_CREAT, 0400)) return 5;
    }
    if (::symlinkat("../../outside", dir->get(), "locked/link") != 0) return 6;
    if (::symlinkat("nowhere", dir->get(), "dangling") != 0) return 6;
    ::fchmodat(dir->get(), "locked/deeper", 0500, 0);
    ::fchmodat(dir->get(), "locked", 0500, 0);
    ::fchmodat(dir->get(), "barred", 0000, 0);
    ::fchmod(dir->get(), 0500);
    auto top = open_at(AT_FDCWD, scratch.path().c_str(), O_RDONLY | O_DIRECTORY);
    if (!remove_tree_at(top->get(), "tree")) return 7;
    return remove_tree_at(top->get(), "tree") ? 0 : 8;  // gone already: success
  });
  assert_int_equal(code, 0);
  assert_false(exists(scratch.path("tree")));
  assert_true(exists(scratch.path("outside/kept")));

  const Fd top = folder(scratch.path());
  assert_int_equal(::symlinkat("outside", top.get(), "link"), 0);
  assert_true(remove_tree_at(top.get(), "link").ok());
  assert_false(exists(scratch.path("link")));
  assert_true(exists(scratch.path("outside/kept")));
}

void remove_tree_says_what_it_could_not_remove(void**) {
  const Scratch scratch;
  assert_int_equal(::chmod(scratch.path().c_str(), 0755), 0);
  put(scratch.path("foreign"), "x");
  const int code = test::in_child([&] {
    if (!test::drop_root()) return 2;
    if (::access(scratch.path().c_str(), W_OK) == 0) return 0;  // not root: the folder is ours
    auto top = open_at(AT_FDCWD, scratch.path().c_str(), O_RDONLY | O_DIRECTORY);
    auto removed = remove_tree_at(top->get(), "foreign");
    return !removed && strstr(removed.error().message.c_str(), "foreign") != nullptr ? 0 : 3;
  });
  assert_int_equal(code, 0);
}

void listing_is_sorted_and_leaves_the_descriptor_usable(void**) {
  const Scratch scratch;
  for (const char* name : {"b", "a", ".hidden"}) put(scratch.path(name), "");
  const Fd dir = folder(scratch.path());
  for (int i = 0; i < 2; ++i) {
    auto names = list_dir_at(dir.get(), ".");
    assert_true(names.ok());
    assert_true((*names == std::vector<std::string>{".hidden", "a", "b"}));
  }
  assert_false(list_dir_at(dir.get(), "a").ok());
}

void the_size_of_a_tree_counts_blocks_once(void**) {
  const Scratch scratch;
  const Fd dir = folder(scratch.path());
  assert_true(make_dirs(scratch.path("x/y"), 0700).ok());
  const auto before = tree_allocated_bytes(dir.get());
  assert_true(before.ok());
  const std::string text(1U << 20U, 'z');
  put(scratch.path("x/y/f"), text);
  struct stat st {};
  assert_int_equal(::stat(scratch.path("x/y/f").c_str(), &st), 0);
  assert_int_equal(::link(scratch.path("x/y/f").c_str(), scratch.path("x/g").c_str()), 0);
  const auto after = tree_allocated_bytes(dir.get());
  assert_true(allocated_bytes(st) >= text.size());
  assert_u64(*after - *before, allocated_bytes(st));
}

void preallocation_extends_or_fails_or_steps_aside(void**) {
  const Scratch scratch;
  const Fd fd = new_file(scratch.path("f"));
  assert_true(preallocate(fd.get(), 0, 1 << 20).ok());
  auto huge = preallocate(fd.get(), 0, off_t{1} << 60);
  assert_false(huge.ok());
  assert_true(huge.error().sys_errno == ENOSPC || huge.error().sys_errno == EFBIG);
  assert_false(preallocate(fd.get(), 0, 0).ok());
  assert_false(preallocate(-1, 0, 10).ok());
  // A file system that knows no preallocation.
  auto proc = open_at(AT_FDCWD, "/proc/self/comm", O_RDWR);
  assert_true(proc.ok());
  assert_int_equal(::fallocate(proc->get(), 0, 0, 10), -1);
  assert_true(preallocate(proc->get(), 0, 10).ok());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(descriptors_are_close_on_exec_and_close_with_their_owner),
      cmocka_unit_test(open_names_the_file_that_is_missing),
      cmocka_unit_test(pread_is_short_only_at_the_end),
      cmocka_unit_test(pwritev_joins_many_parts_and_empty_ones),
      cmocka_unit_test(a_write_cut_short_by_a_limit_is_an_error),
      cmocka_unit_test(read_file_refuses_more_than_its_cap),
      cmocka_unit_test(atomic_write_sets_the_mode_whatever_the_umask),
      cmocka_unit_test(a_failed_atomic_write_leaves_nothing_behind),
      cmocka_unit_test(readers_of_an_atomic_write_see_one_or_the_other),
      cmocka_unit_test(make_dirs_makes_all_levels_with_the_mode),
      cmocka_unit_test(remove_tree_follows_no_symlink_and_opens_locked_folders),
      cmocka_unit_test(remove_tree_says_what_it_could_not_remove),
      cmocka_unit_test(listing_is_sorted_and_leaves_the_descriptor_usable),
      cmocka_unit_test(the_size_of_a_tree_counts_blocks_once),
      cmocka_unit_test(preallocation_extends_or_fails_or_steps_aside),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
