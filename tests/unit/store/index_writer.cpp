// SPDX-License-Identifier: MIT
// The writer: which liblmdb it takes, how it opens and heals, and that every failure is an Error it
// recovers from.
#include "tlc_test.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "index_support.hpp"
#include "store/index/page_source.hpp"

namespace {

using namespace tlc::test;

bool readable(Index& index, std::uint64_t number) {
  IndexRecord record;
  return index.reader().get(make_key(number), record) == Lookup::hit && tlc::store::intact(record, make_key(number));
}

void only_tested_versions(void**) {
  for (const int patch : {24, 29, 31, 33, 35}) {
    assert_true(tlc::store::check_lmdb_version(0, 9, patch).ok());
  }
  const int refused[][3] = {{0, 9, 23}, {0, 9, 36}, {0, 9, 70}, {0, 9, 90}, {0, 8, 30}, {1, 0, 0}};
  for (const auto& version : refused) {
    const auto answer = tlc::store::check_lmdb_version(version[0], version[1], version[2]);
    assert_false(answer.ok());
    assert_int_equal(answer.error().status, TLC_E_UNSUPPORTED);
    const std::string number =
        std::to_string(version[0]) + "." + std::to_string(version[1]) + "." + std::to_string(version[2]);
    assert_non_null(strstr(answer.error().message.c_str(), number.c_str()));
  }
}

void create_leaves_only_the_data_file(void**) {
  Index index;
  const auto names = need(tlc::port::list_dir_at(index.folder.fd(), "."));
  assert_int_equal(names.size(), 1);
  assert_string_equal(names[0].c_str(), "data.mdb");  // no lock file, no half-made file
}

// Killed in the middle of creating: what is left over is replaced.
void half_made_file_is_replaced(void**) {
  Index index;
  index.writer.reset();
  auto half = read_all(index.data().get());
  half.resize(tlc::store::native_index_page_size());
  std::filesystem::remove(index.folder.file("data.mdb"));
  write_all(index.folder.file("data.mdb.new"), half);
  index.open();
  index.put(0, 10, 1);
  assert_true(readable(index, 5));
}

void empty_commit_repeats_the_id(void**) {
  Index index;
  index.put(0, 10, 1);
  const std::uint64_t before = index.control->txnid;
  index.remove(100, 110);  // none of them is there
  assert_u64(index.control->txnid, before);
  assert_true(readable(index, 5));
  need(index.writer->begin());
  assert_u64(index.writer->txnid(), before + 1);
  index.writer->abort();
}

void two_writers_take_turns(void**) {
  Index index;
  IndexWriter other =
      need(IndexWriter::open(index.folder.fd(), index.folder.path(), index.control.get(), index.map_size));
  for (std::uint64_t number = 0; number < 200; ++number) {
    IndexWriter& writer = number % 3 == 0 ? other : *index.writer;
    need(writer.begin());
    if (number > 0) {
      IndexRecord record;
      assert_true(need(writer.get(make_key(number - 1), record)) == Lookup::hit);
    }
    need(writer.put(make_key(number), make_record(make_key(number), 1)));
    need(writer.commit());
  }
  assert_u64(index.reader().entries(), 200U);
  assert_true(index.validate().valid);
}

void damaged_file_is_refused_at_open(void**) {
  Index index;
  index.put(0, 1000, 1);
  index.writer.reset();
  const auto file = index.data(O_RDWR);
  const std::vector<std::uint8_t> zeros(tlc::store::native_index_page_size());
  need(tlc::port::pwrite_full(file.get(), zeros.data(), zeros.size(), static_cast<off_t>(zeros.size() * 5)));
  auto opened = IndexWriter::open(index.folder.fd(), index.folder.path(), index.control.get(), kMapSize);
  assert_false(opened.ok());
  assert_int_equal(opened.error().status, TLC_E_CORRUPT);
  assert_non_null(strstr(opened.error().message.c_str(), "data.mdb"));
}

// In a boot without an unclean stop, a file as the last commit left it is not validated again.
void validation_is_skipped_only_for_the_known_file(void**) {
  const auto reopens = [](bool trusted, bool touched) {
    Index index;
    index.put(0, 1000, 1);
    index.writer.reset();
    // Damage that only the validator sees: a page that leaked. Made before the signature is taken.
    const auto file = index.data(O_RDWR);
    auto bytes = read_all(file.get());
    for (const std::size_t meta : {std::size_t{0}, tlc::store::native_index_page_size()}) {
      std::uint64_t last = 0;
      memcpy(&last, &bytes[meta + 136], 8);
      ++last;
      need(tlc::port::pwrite_full(file.get(), &last, 8, static_cast<off_t>(meta + 136)));
    }
    struct stat status {};
    assert_int_equal(fstat(file.get(), &status), 0);
    index.control->file_size = static_cast<std::uint64_t>(status.st_size);
    index.control->file_ino = status.st_ino;
    index.control->file_mtime_ns =
        static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1000000000U + status.st_mtim.tv_nsec;
    index.control->file_ctime_ns =
        static_cast<std::uint64_t>(status.st_ctim.tv_sec) * 1000000000U + status.st_ctim.tv_nsec;
    if (touched) index.control->file_mtime_ns += 1;
    return IndexWriter::open(index.folder.fd(), index.folder.path(), index.control.get(), kMapSize, trusted).ok();
  };
  assert_true(reopens(true, false));
  assert_false(reopens(true, true));
  assert_false(reopens(false, false));
}

void commit_stores_the_signature(void**) {
  Index index;
  index.put(0, 10, 1);
  struct stat status {};
  assert_int_equal(fstat(index.data().get(), &status), 0);
  assert_u64(index.control->file_size, static_cast<std::uint64_t>(status.st_size));
  assert_u64(index.control->file_ino, status.st_ino);
  index.writer.reset();
  assert_true(IndexWriter::open(index.folder.fd(), index.folder.path(), index.control.get(), kMapSize, true).ok());
}

void another_map_size_is_refused(void**) {
  Index index;
  index.put(0, 10, 1);
  index.writer.reset();
  auto opened = IndexWriter::open(index.folder.fd(), index.folder.path(), index.control.get(), kMapSize / 2);
  assert_false(opened.ok());
}

void replaced_folder_is_noticed(void**) {
  Index index;
  const ScratchFolder other;
  std::filesystem::copy(index.folder.file("data.mdb"), other.file("data.mdb"));
  auto opened = IndexWriter::open(index.folder.fd(), other.path(), index.control.get(), index.map_size);
  assert_false(opened.ok());
  assert_non_null(strstr(opened.error().message.c_str(), "replaced"));
}

void misuse_is_an_error(void**) {
  Index index;
  const Digest key = make_key(1);
  IndexRecord record = make_record(key, 1);
  assert_false(index.writer->put(key, record).ok());
  assert_false(index.writer->remove(key).ok());
  assert_false(index.writer->get(key, record).ok());
  assert_false(index.writer->commit().ok());
  index.writer->abort();  // nothing to do
  need(index.writer->begin());
  assert_false(index.writer->begin().ok());
  index.writer->abort();
}

/// Lets no file grow beyond `bytes`: writes past it fail as on a full disk (with EFBIG).
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

// A disk that is full: begin says so before anything is written, or the commit fails; then all goes
// on as before.
void full_disk_is_an_error_and_passes(void**) {
  Index index;
  index.put(0, 1000, 1);
  const std::uint64_t published = index.control->txnid;
  struct stat status {};
  assert_int_equal(fstat(index.data().get(), &status), 0);
  tlc::Error error;
  std::uint64_t stored = 1000;
  {
    const FileSizeLimit full(static_cast<rlim_t>(status.st_size));
    while (error.message.empty()) {
      if (auto begun = index.writer->begin(); !begun.ok()) {
        error = begun.error();
        break;
      }
      for (std::uint64_t number = stored; number < stored + 3000; ++number) {
        need(index.writer->put(make_key(number), make_record(make_key(number), 1)));
      }
      if (auto committed = index.writer->commit(); !committed.ok()) {
        error = committed.error();
      } else {
        stored += 3000;
      }
      assert_true(stored < 100000);
    }
    assert_false(index.writer->in_transaction());
    assert_true(readable(index, stored - 1));  // readers go on
    assert_true(index.control->txnid >= published);
    assert_u64(index.reader().entries(), stored);
  }
  assert_true(error.status == TLC_NOT_STORED || error.status == TLC_E_IO);
  index.put(200000, 201000, 2);
  assert_u64(index.reader().entries(), stored + 1000);
  const auto report = index.validate();
  assert_true_msg(report.valid, "%s", report.error);
}

// On a full disk small removals still work: that is how room is made.
void removal_on_a_full_disk(void**) {
  Index index;
  for (std::uint64_t from = 0; from < 20000; from += 1000) index.put(from, from + 1000, 1);
  struct stat status {};
  assert_int_equal(fstat(index.data().get(), &status), 0);
  {
    const FileSizeLimit full(static_cast<rlim_t>(status.st_size));
    for (std::uint64_t from = 0; from < 10000; from += 20) index.remove(from, from + 20);
  }
  assert_u64(index.reader().entries(), 10000U);
  assert_true(index.validate().valid);
}

void forked_child_abandons_and_opens_its_own(void**) {
  Index index;
  index.put(0, 100, 1);
  const pid_t child = fork();
  if (child == 0) {
    index.writer->abandon();
    index.writer.reset();
    index.open();
    index.put(100, 200, 2);
    _exit(readable(index, 150) ? 0 : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  index.put(200, 300, 3);
  assert_u64(index.reader().entries(), 300U);
  assert_true(index.validate().valid);
}

}  // namespace

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_tested_versions),
      cmocka_unit_test(create_leaves_only_the_data_file),
      cmocka_unit_test(half_made_file_is_replaced),
      cmocka_unit_test(empty_commit_repeats_the_id),
      cmocka_unit_test(two_writers_take_turns),
      cmocka_unit_test(damaged_file_is_refused_at_open),
      cmocka_unit_test(validation_is_skipped_only_for_the_known_file),
      cmocka_unit_test(commit_stores_the_signature),
      cmocka_unit_test(another_map_size_is_refused),
      cmocka_unit_test(replaced_folder_is_noticed),
      cmocka_unit_test(misuse_is_an_error),
      cmocka_unit_test(full_disk_is_an_error_and_passes),
      cmocka_unit_test(removal_on_a_full_disk),
      cmocka_unit_test(forked_child_abandons_and_opens_its_own),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
