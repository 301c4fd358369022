// SPDX-License-Identifier: MIT
// The dir remote: packs of several hosts in one folder; damage, merges, bounds, the owner rule. A Folder is one host's
// view.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "dir/crc64.hpp"
#include "dir/folder.hpp"
#include "scratch.hpp"
#include "tlc_test.hpp"

using namespace tlc::dir;   // NOLINT
using namespace tlc::test;  // NOLINT
namespace fs = std::filesystem;

namespace {

#define assert_done(expression)                                             \
  do {                                                                      \
    const Failure failed = (expression);                                    \
    assert_true_msg(failed.status == TLC_OK, "%s", failed.message.c_str()); \
  } while (0)

constexpr std::uint64_t kLater = UINT64_MAX;

Digest digest_of(unsigned number) {
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>((number >> (i % 4 * 8)) * 31 + i);
  return digest;
}

std::string blob_of(unsigned number, std::size_t size = 100) {
  std::string blob = "blob " + std::to_string(number) + " ";
  while (blob.size() < size) blob += static_cast<char>('a' + (blob.size() * 7 + number) % 26);
  return blob;
}

Folder open_folder(const std::string& path, const std::string& host, std::uint64_t limit = std::uint64_t{1} << 30) {
  Options options;
  options.path = path;
  options.host = host;
  options.limit = limit;
  Folder folder(options);
  const Failure failure = folder.open();
  assert_true_msg(!failure, "%s", failure.message.c_str());
  return folder;
}

Failure put(Folder& folder, unsigned number, const std::string& blob, bool replace = false) {
  const Change change{digest_of(number), {reinterpret_cast<const std::uint8_t*>(blob.data()), blob.size()}, replace};
  return folder.put({&change, 1}, kLater);
}

/// Empty: a miss.
std::string get(Folder& folder, unsigned number) {
  std::vector<std::uint8_t> bytes;
  const Failure failure = folder.get(digest_of(number), kLater, bytes);
  if (failure.status == TLC_MISS) return {};
  assert_true_msg(!failure, "%s", failure.message.c_str());
  return {bytes.begin(), bytes.end()};
}

std::vector<fs::path> packs(const std::string& path) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(path + "/tlcdir1"))
    if (parse_pack_name(entry.path().filename().string())) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void replace_file(const fs::path& path, const std::string& bytes) {
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
  ::chmod(path.c_str(), 0600);
}

void test_crc(void**) {
  assert_u64(crc64("123456789", 9), 0x995DC9BBDF1939FAU);
  assert_u64(crc64("456789", 6, crc64("123", 3)), 0x995DC9BBDF1939FAU);
}

void test_names(void**) {
  const std::string name = make_pack_name("my_host.1", 0x1234, 0xabcd);
  const auto parsed = parse_pack_name(name);
  assert_true(parsed && parsed->host == "my_host.1" && parsed->stamp == 0x1234);
  for (const char* bad : {"", ".pack", "x.pack", "-0000000000001234-000000000000abcd.pack",
                          "h-000000000000123g-000000000000abcd.pack", "h-0000000000001234-000000000000abcd.tmp"})
    assert_false(parse_pack_name(bad).has_value());
}

void test_hosts_see_each_other(void**) {
  const Scratch scratch;
  Folder a = open_folder(scratch.path("net"), "a");
  Folder b = open_folder(scratch.path("net"), "b");
  assert_true(get(b, 1).empty());
  for (unsigned i = 0; i < 5; ++i) {
    assert_done(put(i % 2 == 0 ? a : b, i, blob_of(i)));
    assert_string_equal(get(i % 2 == 0 ? b : a, i).c_str(), blob_of(i).c_str());
  }
  // What is there is kept, unless it must give way; the newest counts for everybody.
  assert_done(put(b, 0, "other"));
  assert_string_equal(get(a, 0).c_str(), blob_of(0).c_str());
  assert_done(put(b, 0, "other", true));
  assert_string_equal(get(a, 0).c_str(), "other");
  const std::size_t files = packs(scratch.path("net")).size();
  assert_done(put(a, 0, "other", true));  // the same again is nothing new
  assert_u64(packs(scratch.path("net")).size(), files);
  const Change removal{digest_of(0), {}, true};
  assert_done(a.put({&removal, 1}, kLater));
  assert_true(get(b, 0).empty());
  assert_done(put(b, 0, "again"));
  assert_string_equal(get(a, 0).c_str(), "again");
}

void test_two_hosts_with_one_name(void**) {
  const Scratch scratch;
  Folder a = open_folder(scratch.path("net"), "same");
  Folder b = open_folder(scratch.path("net"), "same");
  for (unsigned i = 0; i < 60; ++i) assert_done(put(i % 2 == 0 ? a : b, i, blob_of(i)));
  for (unsigned i = 0; i < 60; ++i) assert_string_equal(get(i % 2 == 0 ? b : a, i).c_str(), blob_of(i).c_str());
}

void test_packs_stay_few(void**) {
  const Scratch scratch;
  Folder a = open_folder(scratch.path("net"), "a");
  Folder reader = open_folder(scratch.path("net"), "reader");
  for (unsigned i = 0; i < 300; ++i) {
    assert_done(put(a, i, blob_of(i)));
    assert_true(packs(scratch.path("net")).size() <= 16);
    if (i % 10 == 0) assert_string_equal(get(reader, i / 2).c_str(), blob_of(i / 2).c_str());
  }
  // Replaced and removed ones do not take room for good, and do not come back.
  for (unsigned i = 0; i < 100; ++i) assert_done(put(a, i, blob_of(i + 1000), true));
  for (unsigned i = 100; i < 200; ++i) {
    const Change removal{digest_of(i), {}, true};
    assert_done(a.put({&removal, 1}, kLater));
  }
  for (unsigned i = 0; i < 300; ++i) {
    const std::string expected = i < 100 ? blob_of(i + 1000) : i < 200 ? "" : blob_of(i);
    assert_string_equal(get(reader, i).c_str(), expected.c_str());
  }
  for (const auto& entry : fs::directory_iterator(scratch.path("net/tlcdir1")))
    assert_true(parse_pack_name(entry.path().filename().string()).has_value());
}

void test_forsaken_packs_are_merged(void**) {
  const Scratch scratch;
  for (unsigned i = 0; i < 40; ++i) {
    Folder once = open_folder(scratch.path("net"), "pod" + std::to_string(i));
    assert_done(put(once, i, blob_of(i)));
  }
  const auto week_ago = fs::file_time_type::clock::now() - std::chrono::hours(8 * 24);
  for (const fs::path& pack : packs(scratch.path("net"))) fs::last_write_time(pack, week_ago);
  Folder a = open_folder(scratch.path("net"), "a");
  assert_done(put(a, 99, blob_of(99)));
  assert_true(packs(scratch.path("net")).size() <= 16);
  for (unsigned i = 0; i < 40; ++i) assert_string_equal(get(a, i).c_str(), blob_of(i).c_str());
}

void test_bounds(void**) {
  const Scratch scratch;
  constexpr std::uint64_t kLimit = 1 << 20;
  Folder a = open_folder(scratch.path("net"), "a", kLimit);
  Folder b = open_folder(scratch.path("net"), "b", kLimit);
  for (unsigned i = 0; i < 200; ++i) {
    assert_done(put(i % 3 == 0 ? a : b, i, blob_of(i, 30'000)));
    std::uint64_t all = 0;
    for (const fs::path& pack : packs(scratch.path("net"))) all += fs::file_size(pack);
    assert_true(all <= kLimit);
  }
  assert_string_equal(get(a, 199).c_str(), blob_of(199, 30'000).c_str());
  assert_true(get(a, 0).empty());
  assert_done(put(a, 500, blob_of(500, kLimit / 4)));  // over an eighth: not kept, and no failure
  assert_true(get(a, 500).empty());
}

// No damage of a pack gives other bytes than were put; what is whole is still found.
void test_damage(void**) {
  const Scratch scratch;
  Folder a = open_folder(scratch.path("net"), "a");
  std::vector<std::string> blobs;
  std::vector<Change> changes;
  for (unsigned i = 0; i < 4; ++i) blobs.push_back(blob_of(i, 60));
  for (unsigned i = 0; i < 4; ++i)
    changes.push_back({digest_of(i), {reinterpret_cast<const std::uint8_t*>(blobs[i].data()), blobs[i].size()}, false});
  assert_done(a.put(changes, kLater));
  assert_done(put(a, 9, blob_of(9)));
  const std::vector<fs::path> both = packs(scratch.path("net"));
  const fs::path pack = fs::file_size(both[0]) > fs::file_size(both[1]) ? both[0] : both[1];
  const std::string whole = content(pack);
  const auto check = [&] {
    Folder reader = open_folder(scratch.path("net"), "r");
    unsigned found = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const std::string got = get(reader, i);
      assert_true(got.empty() || got == blobs[i]);
      found += got.empty() ? 0 : 1;
    }
    assert_string_equal(get(reader, 9).c_str(), blob_of(9).c_str());
    return found;
  };
  assert_u64(check(), 4U);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    replace_file(pack, bytes);
    const unsigned found = check();
    assert_true(found == 0 || found == 3);  // the index, or one blob
  }
  for (std::size_t size = 0; size < whole.size(); size += 3) {
    replace_file(pack, whole.substr(0, size));
    assert_u64(check(), 0U);
  }
  replace_file(pack, whole + std::string(64, '\0'));
  assert_u64(check(), 0U);
  replace_file(pack, std::string(whole.size(), '\0'));
  assert_u64(check(), 0U);
  // While it is open: an index in memory that the file no longer agrees with.
  replace_file(pack, whole);
  Folder reader = open_folder(scratch.path("net"), "r");
  assert_string_equal(get(reader, 0).c_str(), blobs[0].c_str());
  std::string swapped = whole;
  std::swap_ranges(swapped.begin() + 32, swapped.begin() + 92, swapped.begin() + 92);
  std::ofstream(pack, std::ios::binary) << swapped;  // in place, which nobody does
  for (unsigned i = 0; i < 4; ++i) {
    const std::string got = get(reader, i);
    assert_true(got.empty() || got == blobs[i]);
  }
}

void test_gone_while_known(void**) {
  const Scratch scratch;
  Folder a = open_folder(scratch.path("net"), "a");
  Folder reader = open_folder(scratch.path("net"), "r");
  for (unsigned i = 0; i < 3; ++i) assert_done(put(a, i, blob_of(i)));
  assert_string_equal(get(reader, 0).c_str(), blob_of(0).c_str());
  fs::remove(packs(scratch.path("net"))[0]);
  unsigned found = 0;
  for (unsigned i = 0; i < 3; ++i) found += get(reader, i).empty() ? 0 : 1;
  assert_u64(found, 2U);
  fs::remove_all(scratch.path("net"));
  assert_true(get(reader, 1).empty());
  assert_done(put(a, 1, blob_of(1)));
  assert_string_equal(get(reader, 1).c_str(), blob_of(1).c_str());
}

void test_owner_rule(void**) {
  const Scratch scratch;
  const std::string path = scratch.path("net");
  Options options;
  options.path = path;
  options.host = "a";
  const auto opened = [&] { return Folder(options).open(); };
  assert_done(opened());
  for (const char* inner : {"", "/tlcdir1"}) {
    ::chmod((path + inner).c_str(), 0770);
    const Failure failure = opened();
    assert_int_equal(failure.status, TLC_E_DENIED);
    assert_non_null(std::strstr(failure.message.c_str(), "chmod go-w"));
    ::chmod((path + inner).c_str(), 0700);
  }
  fs::create_symlink(path, scratch.path("link"));
  options.path = scratch.path("link");
  assert_int_equal(opened().status, TLC_E_DENIED);
  options.path = scratch.path("file");
  std::ofstream(options.path) << "x";
  assert_int_equal(opened().status, TLC_E_DENIED);
  // Packs that others can write, or that are links, are not used.
  Folder a = open_folder(path, "a");
  assert_done(put(a, 1, blob_of(1)));
  const fs::path pack = packs(path)[0];
  ::chmod(pack.c_str(), 0620);
  Folder reader = open_folder(path, "r");
  assert_true(get(reader, 1).empty());
  assert_true(get(a, 1).empty());  // nor by who knows its index already
  ::chmod(pack.c_str(), 0600);
  fs::rename(pack, scratch.path("elsewhere"));
  fs::create_symlink(scratch.path("elsewhere"), pack);
  Folder other = open_folder(path, "o");
  assert_true(get(other, 1).empty());
  if (::geteuid() != 0) return;
  fs::remove(pack);
  fs::rename(scratch.path("elsewhere"), pack);
  assert_int_equal(::chown(pack.c_str(), 65534, 65534), 0);
  Folder third = open_folder(path, "t");
  assert_true(get(third, 1).empty());
  assert_int_equal(::chown((path + "/tlcdir1").c_str(), 65534, 65534), 0);
  std::vector<std::uint8_t> bytes;
  assert_int_equal(third.get(digest_of(1), kLater, bytes).status, TLC_E_DENIED);  // also of one that is open
  options.path = path;
  const Failure failure = opened();
  assert_int_equal(failure.status, TLC_E_DENIED);
  assert_non_null(std::strstr(failure.message.c_str(), "65534"));
}

// kill -9 at each place of a put and a merge: everything that was put is found, and what was half done goes.
void test_killed(void**) {
  for (const char* step : {"dir.written", "dir.before_rename", "dir.renamed", "dir.merged", "dir.dropped"}) {
    const Scratch scratch;
    const std::string path = scratch.path("net");
    {
      Folder a = open_folder(path, "a");
      for (unsigned i = 0; i < 16; ++i) assert_done(put(a, i, blob_of(i)));
    }
    const int code = in_child([&] {
      ::setenv("TLC_TEST_KILL", step, 1);
      Folder a = open_folder(path, "a");
      (void)put(a, 16, blob_of(16));  // the 17th: merges
      return 0;
    });
    assert_true_msg(code == 1000 + SIGKILL, "%s was not reached: %d", step, code);
    Folder a = open_folder(path, "a");
    Folder reader = open_folder(path, "r");
    for (unsigned i = 0; i < 16; ++i) assert_string_equal(get(reader, i).c_str(), blob_of(i).c_str());
    const std::string last = get(reader, 16);
    assert_true(last.empty() || last == blob_of(16));
    const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
    for (const auto& entry : fs::directory_iterator(path + "/tlcdir1"))
      if (!parse_pack_name(entry.path().filename().string())) fs::last_write_time(entry.path(), long_ago);
    assert_done(put(a, 17, blob_of(17)));
    assert_done(put(a, 16, blob_of(16)));
    for (unsigned i = 0; i < 18; ++i) assert_string_equal(get(reader, i).c_str(), blob_of(i).c_str());
    assert_true(packs(path).size() <= 16);
    for (const auto& entry : fs::directory_iterator(path + "/tlcdir1"))
      assert_true_msg(parse_pack_name(entry.path().filename().string()).has_value(), "%s left %s", step,
                      entry.path().c_str());
  }
}

// Two writers and two readers at once, with merges all the time: nobody ever misses what was put before, or sees else.
void test_many_at_once(void**) {
  const Scratch scratch;
  const std::string path = scratch.path("net");
  (void)open_folder(path, "a");
  constexpr unsigned kEach = 150;
  std::vector<pid_t> children;
  for (const unsigned writer : {0U, 1U})
    children.push_back(start_child([&, writer] {
      Folder own = open_folder(path, writer == 0 ? "a" : "b");
      for (unsigned i = 0; i < kEach; ++i) {
        if (put(own, writer * 1000 + i, blob_of(writer * 1000 + i))) return 1;
        if (get(own, writer * 1000 + i / 2) != blob_of(writer * 1000 + i / 2)) return 2;
      }
      return 0;
    }));
  for (unsigned reader = 0; reader < 2; ++reader)
    children.push_back(start_child([&] {
      Folder own = open_folder(path, "r");
      std::map<unsigned, bool> seen;
      for (unsigned round = 0; round < 2000; ++round) {
        const unsigned number = round % 2 * 1000 + round * 7 % kEach;
        const std::string got = get(own, number);
        if (!got.empty() && got != blob_of(number)) return 3;
        if (got.empty() && seen[number]) return 4;
        seen[number] = !got.empty();
      }
      return 0;
    }));
  for (const pid_t child : children) assert_int_equal(wait_for(child), 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_crc),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_hosts_see_each_other),
      cmocka_unit_test(test_two_hosts_with_one_name),
      cmocka_unit_test(test_packs_stay_few),
      cmocka_unit_test(test_forsaken_packs_are_merged),
      cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_damage),
      cmocka_unit_test(test_gone_while_known),
      cmocka_unit_test(test_owner_rule),
      cmocka_unit_test(test_killed),
      cmocka_unit_test(test_many_at_once),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
