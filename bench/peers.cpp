// SPDX-License-Identifier: MIT
#include "peers.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "support.hpp"

namespace bench {
namespace {

void check(int code, const char* what) {
  if (code != 0) fail(std::string(what) + ": " + mdb_strerror(code));
}

MDB_val value_of(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

}  // namespace

Lmdb::Lmdb(const std::string& folder) {
  std::filesystem::create_directories(folder);
  check(mdb_env_create(&environment_), "mdb_env_create");
  check(mdb_env_set_mapsize(environment_, std::size_t{4} << 30), "mdb_env_set_mapsize");
  check(mdb_env_open(environment_, folder.c_str(), MDB_NOSYNC | MDB_NOTLS, 0600), "mdb_env_open");
  MDB_txn* transaction = nullptr;
  check(mdb_txn_begin(environment_, nullptr, 0, &transaction), "mdb_txn_begin");
  check(mdb_dbi_open(transaction, nullptr, 0, &tree_), "mdb_dbi_open");
  check(mdb_txn_commit(transaction), "mdb_txn_commit");
}

Lmdb::~Lmdb() {
  mdb_env_close(environment_);
}

void Lmdb::put(std::string_view key, std::string_view value) {
  Batch(*this).put(key, value);
}

Lmdb::Batch::Batch(Lmdb& into) : tree_(into.tree_) {
  check(mdb_txn_begin(into.environment_, nullptr, 0, &transaction_), "mdb_txn_begin");
}

Lmdb::Batch::~Batch() {
  check(mdb_txn_commit(transaction_), "mdb_txn_commit");
}

void Lmdb::Batch::put(std::string_view key, std::string_view value) {
  MDB_val name = value_of(key);
  MDB_val bytes = value_of(value);
  check(mdb_put(transaction_, tree_, &name, &bytes, 0), "mdb_put");
}

Lmdb::Reader::Reader(Lmdb& from) : tree_(from.tree_) {
  check(mdb_txn_begin(from.environment_, nullptr, MDB_RDONLY, &transaction_), "mdb_txn_begin");
  mdb_txn_reset(transaction_);
}

Lmdb::Reader::~Reader() {
  mdb_txn_abort(transaction_);
}

bool Lmdb::Reader::has(std::string_view key) {
  if (mdb_txn_renew(transaction_) != 0) failed();
  MDB_val name = value_of(key);
  MDB_val value{};
  const int found = mdb_get(transaction_, tree_, &name, &value);
  mdb_txn_reset(transaction_);
  if (found != 0 && found != MDB_NOTFOUND) failed();
  return found == 0;
}

void Lmdb::Reader::failed() {
  fail("a look-up in LMDB failed");
}

Sqlite::Sqlite(const std::string& file, int page_size) {
  if (sqlite3_open(file.c_str(), &database_) != SQLITE_OK) fail("cannot open " + file);
  sqlite3_busy_timeout(database_, 10000);
  run(("PRAGMA page_size=" + std::to_string(page_size)).c_str());
  run("PRAGMA journal_mode=WAL");
  run("PRAGMA synchronous=OFF");
  run("PRAGMA mmap_size=4294967296");
  run("CREATE TABLE IF NOT EXISTS entry(key BLOB PRIMARY KEY, value BLOB)");
  if (sqlite3_prepare_v3(database_, "SELECT value FROM entry WHERE key=?", -1, SQLITE_PREPARE_PERSISTENT, &select_,
                         nullptr) != SQLITE_OK ||
      sqlite3_prepare_v3(database_, "INSERT OR REPLACE INTO entry VALUES(?,?)", -1, SQLITE_PREPARE_PERSISTENT, &insert_,
                         nullptr) != SQLITE_OK)
    fail(sqlite3_errmsg(database_));
}

Sqlite::~Sqlite() {
  sqlite3_finalize(select_);
  sqlite3_finalize(insert_);
  sqlite3_close(database_);
}

void Sqlite::run(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(sqlite3_errmsg(database_));
}

void Sqlite::put(std::string_view key, std::string_view value) {
  sqlite3_bind_blob(insert_, 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
  sqlite3_bind_blob(insert_, 2, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  if (sqlite3_step(insert_) != SQLITE_DONE) fail(sqlite3_errmsg(database_));
  sqlite3_reset(insert_);
}

int Sqlite::step(std::string_view key) {
  sqlite3_bind_blob(select_, 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
  return sqlite3_step(select_);
}

void Sqlite::step_to(std::string_view key) {
  if (step(key) != SQLITE_ROW) fail(sqlite3_errmsg(database_));
}

bool Sqlite::has(std::string_view key) {
  const int found = step(key);
  if (found == SQLITE_ROW) use(reinterpret_cast<std::uintptr_t>(sqlite3_column_blob(select_, 0)));
  sqlite3_reset(select_);
  if (found != SQLITE_ROW && found != SQLITE_DONE) fail(sqlite3_errmsg(database_));
  return found == SQLITE_ROW;
}

Files::Files(std::string folder) : folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
}

std::string Files::path_of(std::string_view key) const {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string path = folder_ + "/";
  for (const char c : key) {
    path += kHex[static_cast<unsigned char>(c) >> 4];
    path += kHex[static_cast<unsigned char>(c) & 15];
  }
  return path;
}

void Files::put(std::string_view key, std::string_view value) const {
  const std::string path = path_of(key);
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  require(fd >= 0, "cannot make a file");
  require(::write(fd, value.data(), value.size()) == static_cast<ssize_t>(value.size()), "cannot write a file");
  ::close(fd);
  require(::rename(fresh.c_str(), path.c_str()) == 0, "cannot rename a file");
}

Bytes read_file(const std::string& path, std::string& buffer) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(fd >= 0, "cannot open a file");
  struct stat st {};
  require(::fstat(fd, &st) == 0, "cannot stat a file");
  const auto size = static_cast<std::size_t>(st.st_size);
  if (buffer.size() < size) buffer.resize(size);
  require(::read(fd, buffer.data(), size) == st.st_size, "cannot read a file");
  ::close(fd);
  return {buffer.data(), size};
}

MappedFile::MappedFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(fd >= 0, "cannot open a file");
  struct stat st {};
  require(::fstat(fd, &st) == 0, "cannot stat a file");
  size_ = static_cast<std::size_t>(st.st_size);
  data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
  require(data_ != MAP_FAILED, "cannot map a file");
  ::close(fd);
}

MappedFile::~MappedFile() {
  ::munmap(data_, size_);
}

}  // namespace bench
