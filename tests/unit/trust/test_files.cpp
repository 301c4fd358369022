// SPDX-License-Identifier: MIT
// The key file and the digest of a file.
#include "tlc_test.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include <array>
#include <string>
#include <vector>

#include "port/file.hpp"
#include "scratch.hpp"
#include "trust/file_digest.hpp"
#include "trust/key_file.hpp"

using namespace tlc;
using namespace tlc::trust;
using tlc::test::Scratch;

namespace {

void put(const std::string& path, const std::string& bytes, mode_t mode) {
  auto fd = port::open_at(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(fd.ok());
  assert_true(port::pwrite_full(fd->get(), bytes.data(), bytes.size(), 0).ok());
  assert_int_equal(::fchmod(fd->get(), mode), 0);
}

std::size_t files_in(const Scratch& scratch) {
  return port::list_dir_at(AT_FDCWD, scratch.path().c_str())->size();
}

/// The load fails with this status, and the message has both texts.
void assert_refused(const std::string& path, tlc_status status, const char* text) {
  auto key = load_or_create_key(path);
  assert_false(key.ok());
  assert_int_equal(key.error().status, status);
  assert_non_null(strstr(key.error().message.c_str(), path.c_str()));
  assert_non_null(strstr(key.error().message.c_str(), text));
}

void a_key_is_made_once_and_kept(void**) {
  const Scratch scratch;
  const std::string path = scratch.path("key");
  const mode_t old = ::umask(0);
  auto first = load_or_create_key(path);
  ::umask(old);
  assert_true(first.ok());
  struct stat st {};
  assert_int_equal(::stat(path.c_str(), &st), 0);
  assert_int_equal(st.st_mode & 07777, 0600);
  assert_u64(st.st_size, 32);
  assert_true(load_or_create_key(path)->bytes == first->bytes);
  assert_true(port::read_file_at(AT_FDCWD, path.c_str(), 32)
                  ->compare(0, 32, reinterpret_cast<const char*>(first->bytes.data()), 32) == 0);
  assert_true(load_or_create_key(scratch.path("other"))->bytes != first->bytes);
  assert_u64(files_in(scratch), 2);
}

void racing_processes_agree_on_one_key(void**) {
  constexpr int kProcesses = 8;
  for (int round = 0; round < 20; ++round) {
    const Scratch scratch;
    std::array<int, 2> start{};
    std::array<int, 2> answers{};
    assert_int_equal(::pipe(start.data()), 0);
    assert_int_equal(::pipe(answers.data()), 0);
    std::array<pid_t, kProcesses> children{};
    for (pid_t& child : children) {
      child = test::start_child([&] {
        char go = 0;
        ::close(start[1]);
        if (::read(start[0], &go, 1) != 0) return 1;  // the end of the pipe starts all at once
        auto key = load_or_create_key(scratch.path("key"));
        if (!key) return 2;
        return ::write(answers[1], key->bytes.data(), 32) == 32 ? 0 : 3;
      });
    }
    ::close(start[1]);
    for (const pid_t child : children) assert_int_equal(test::wait_for(child), 0);
    auto kept = load_or_create_key(scratch.path("key"));
    assert_true(kept.ok());
    for (int i = 0; i < kProcesses; ++i) {
      MacKey key;
      assert_int_equal(::read(answers[0], key.bytes.data(), 32), 32);
      assert_memory_equal(key.bytes.data(), kept->bytes.data(), 32);
    }
    assert_u64(files_in(scratch), 1);
    ::close(start[0]);
    ::close(answers[0]);
    ::close(answers[1]);
  }
}

void a_key_open_to_others_is_refused(void**) {
  const Scratch scratch;
  const std::string path = scratch.path("key");
  for (const mode_t mode : {0640, 0620, 0604, 0601}) {
    put(path, std::string(32, 'k'), mode);
    assert_refused(path, TLC_E_DENIED, ("chmod 600 " + path).c_str());
  }
  put(path, std::string(32, 'k'), 0400);
  assert_true(load_or_create_key(path).ok());
}

void a_key_of_another_owner_is_refused(void**) {
  if (::geteuid() != 0) {
    assert_refused("/etc/passwd", TLC_E_DENIED, "belongs to uid 0");
    return;
  }
  const Scratch scratch;
  put(scratch.path("key"), std::string(32, 'k'), 0600);
  assert_int_equal(::chown(scratch.path("key").c_str(), 65534, 65534), 0);
  assert_refused(scratch.path("key"), TLC_E_DENIED, "belongs to uid 65534");
}

void a_key_of_another_size_or_kind_is_refused(void**) {
  const Scratch scratch;
  const std::string path = scratch.path("key");
  for (const std::size_t size : {0, 1, 31, 33, 4096}) {
    put(path, std::string(size, 'k'), 0600);
    assert_refused(path, TLC_E_CORRUPT, "instead of 32");
  }
  put(scratch.path("real"), std::string(32, 'k'), 0600);
  assert_int_equal(::unlink(path.c_str()), 0);
  assert_int_equal(::symlink("real", path.c_str()), 0);
  assert_refused(path, TLC_E_DENIED, "symlink");
  assert_int_equal(::unlink(path.c_str()), 0);
  assert_int_equal(::mkfifo(path.c_str(), 0600), 0);
  assert_refused(path, TLC_E_DENIED, "regular file");
  assert_int_equal(::unlink(path.c_str()), 0);
  assert_int_equal(::mkdir(path.c_str(), 0700), 0);
  assert_refused(path, TLC_E_DENIED, "regular file");
}

void a_key_without_a_folder_is_an_error(void**) {
  const Scratch scratch;
  assert_refused(scratch.path("nowhere") + "/key", TLC_E_NOT_FOUND, "cannot make key file");
}

void the_digest_of_a_file_is_that_of_its_bytes(void**) {
  const Scratch scratch;
  constexpr std::size_t kPiece = std::size_t{256} * 1024;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPiece - 1, kPiece, kPiece + 1, 2 * kPiece}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i * 7 + 3) % 251);
    put(scratch.path("f"), bytes, 0600);
    auto fd = port::open_at(AT_FDCWD, scratch.path("f").c_str(), O_RDONLY);
    ::lseek(fd->get(), 1, SEEK_SET);
    auto digest = digest_of_file(fd->get());
    assert_true(digest.ok());
    assert_true(*digest == blake2b(bytes.data(), bytes.size()));
    if (size == 2 * kPiece) {  // by Python's hashlib
      assert_string_equal(to_hex(*digest).c_str(), "158aaa4a175afb9d805b99b64b13c8d5957be482433e93d5c5193483e90c878a");
    }
  }
  assert_false(digest_of_file(-1).ok());
  auto folder = port::open_at(AT_FDCWD, scratch.path().c_str(), O_RDONLY);
  assert_false(digest_of_file(folder->get()).ok());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_key_is_made_once_and_kept),
      cmocka_unit_test(racing_processes_agree_on_one_key),
      cmocka_unit_test(a_key_open_to_others_is_refused),
      cmocka_unit_test(a_key_of_another_owner_is_refused),
      cmocka_unit_test(a_key_of_another_size_or_kind_is_refused),
      cmocka_unit_test(a_key_without_a_folder_is_an_error),
      cmocka_unit_test(the_digest_of_a_file_is_that_of_its_bytes),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
