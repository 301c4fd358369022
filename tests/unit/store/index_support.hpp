// SPDX-License-Identifier: MIT
// What the index's tests share: a scratch folder, keys and records made from numbers, an open
// index.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "port/fd.hpp"
#include "port/file.hpp"
#include "store/index/control_word.hpp"
#include "store/index/data_file.hpp"
#include "store/index/page.hpp"
#include "store/index/reader.hpp"
#include "store/index/record.hpp"
#include "store/index/validate.hpp"
#include "store/index/writer.hpp"

namespace tlc::test {

using store::IndexControl;
using store::IndexReader;
using store::IndexRecord;
using store::IndexWriter;
using store::Lookup;
using trust::Digest;

inline constexpr std::size_t kMapSize = std::size_t{1} << 30;

/// Ends the program: set-up failed, so no test can say anything.
[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "test set-up failed: %s\n", why.c_str());
  std::_Exit(2);
}

template <class T>
T need(Result<T> result) {
  if (!result.ok()) give_up(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline std::uint64_t mix(std::uint64_t x) {  // splitmix64's finaliser
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

struct Random {
  std::uint64_t state;
  std::uint64_t operator()() { return mix(state += 0x9e3779b97f4a7c15U); }
  std::uint64_t below(std::uint64_t limit) { return (*this)() % limit; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
};

inline Digest make_key(std::uint64_t number) {
  Digest key;
  for (std::uint64_t word = 0; word < 4; ++word) {
    const std::uint64_t value = mix(number * 4 + word + 12345);
    std::memcpy(key.bytes.data() + 8 * word, &value, 8);
  }
  return key;
}

/// A sealed record that tells its version in every field.
inline IndexRecord make_record(const Digest& key, std::uint64_t version) {
  IndexRecord record;
  record.kind = 1;
  record.sequence = version;
  record.slot = static_cast<std::uint32_t>(mix(version));
  record.segment = mix(version + 1);
  record.offset = mix(version + 2);
  record.length = mix(version + 3);
  record.hash_lo = mix(version + 4);
  record.hash_hi = mix(version + 5);
  record.created_ns = mix(version + 6);
  record.label_hash = mix(version + 7);
  store::seal(record, key);
  return record;
}

class ScratchFolder {
 public:
  ScratchFolder() {
    path_ = (std::filesystem::temp_directory_path() / "tlc-index-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) give_up("mkdtemp " + path_);
    fd_ = need(port::open_at(AT_FDCWD, path_.c_str(), O_RDONLY | O_DIRECTORY));
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    if (owner_ != getpid()) return;  // a forked child that returned early
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  std::string path_;
  port::Fd fd_;
  pid_t owner_ = getpid();
};

/// A control word in memory shared with children.
class SharedControl {
 public:
  SharedControl() {
    void* room = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) give_up("mmap");
    word_ = new (room) IndexControl{};
  }
  SharedControl(const SharedControl&) = delete;
  SharedControl& operator=(const SharedControl&) = delete;
  ~SharedControl() { munmap(word_, 4096); }

  IndexControl* get() { return word_; }
  IndexControl* operator->() { return word_; }

 private:
  IndexControl* word_;
};

/// What a file holds.
inline std::vector<std::uint8_t> read_all(int fd) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)));
  const std::size_t got = need(port::pread_full(fd, bytes.data(), bytes.size(), 0));
  bytes.resize(got);
  return bytes;
}

/// Makes a file of exactly these bytes: a new one, since some file systems write out at once what takes the place of
/// what was truncated.
inline port::Fd write_all(const std::string& path, const std::vector<std::uint8_t>& bytes) {
  std::filesystem::remove(path);
  port::Fd file = need(port::open_at(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
  need(port::pwrite_full(file.get(), bytes.data(), bytes.size(), 0));
  return file;
}

/// The metas of an empty index with pages of this size. liblmdb goes on with the size that it finds in a file, so on
/// any kernel it can be made to write the files of others.
inline std::vector<std::uint8_t> empty_metas(std::size_t page_size, std::size_t map_size) {
  std::vector<std::uint8_t> bytes(2 * page_size);
  store::Meta meta{};
  meta.magic = store::kLmdbMagic;
  meta.version = store::kLmdbDataVersion;
  meta.map_size = map_size;
  meta.free_list.pad = static_cast<std::uint32_t>(page_size);
  meta.free_list.flags = 8;
  meta.free_list.root = meta.main.root = store::kEmptyTree;
  meta.last_page = 1;
  for (const std::uint64_t number : {0U, 1U}) {
    std::uint8_t* page = bytes.data() + number * page_size;
    const std::uint16_t flags = store::kMetaPage;
    std::memcpy(page, &number, sizeof number);
    std::memcpy(page + 10, &flags, sizeof flags);
    std::memcpy(page + store::kPageHeaderSize, &meta, sizeof meta);
  }
  return bytes;
}

/// A folder with an index, its control word and an open writer.
struct Index {
  explicit Index(std::size_t size = kMapSize) : map_size(size) { open(); }

  void open() {
    writer =
        std::make_unique<IndexWriter>(need(IndexWriter::open(folder.fd(), folder.path(), control.get(), map_size)));
  }
  /// Starts over with an empty index of another page size. Its readers and validators must be told of it.
  void start_with_pages(std::size_t page_size) {
    writer.reset();
    const port::Fd file = write_all(folder.file(store::kDataFileName), empty_metas(page_size, map_size));
    control->txnid = 0;
    store::store_signature(file.get(), *control.get());  // so that it is not validated, with the system's page size
    writer = std::make_unique<IndexWriter>(
        need(IndexWriter::open(folder.fd(), folder.path(), control.get(), map_size, true)));
  }
  [[nodiscard]] port::Fd data(int flags = O_RDONLY) const {
    return need(port::open_at(folder.fd(), store::kDataFileName, flags));
  }
  [[nodiscard]] IndexReader reader(bool use_pread = false) {
    return need(IndexReader::open(data(), control.get(), map_size, use_pread));
  }
  /// One transaction that puts the keys `from` to `to` - 1 with this version.
  void put(std::uint64_t from, std::uint64_t to, std::uint64_t version) {
    need(writer->begin());
    for (std::uint64_t number = from; number < to; ++number) {
      const Digest key = make_key(number);
      need(writer->put(key, make_record(key, version)));
    }
    need(writer->commit());
  }
  void remove(std::uint64_t from, std::uint64_t to) {
    need(writer->begin());
    for (std::uint64_t number = from; number < to; ++number) need(writer->remove(make_key(number)));
    need(writer->commit());
  }
  store::ValidationReport validate(bool check_records = true) {
    return need(store::validate(data().get(), map_size, control.get(), check_records));
  }

  std::size_t map_size;
  ScratchFolder folder;
  SharedControl control;
  std::unique_ptr<IndexWriter> writer;
};

}  // namespace tlc::test
