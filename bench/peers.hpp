// SPDX-License-Identifier: MIT
// The peers of a comparison, each at its best: bare LMDB (payload in the tree, no sync), SQLite (WAL, memory-mapped,
// prepared statement), one file per entry (read, or mapped). A reader belongs to one thread.
#pragma once

#include <lmdb.h>
#include <sqlite3.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace bench {

/// Sees the bytes of an entry; they end with the call.
using Bytes = std::string_view;

class Lmdb {
 public:
  explicit Lmdb(const std::string& folder);
  Lmdb(const Lmdb&) = delete;
  Lmdb& operator=(const Lmdb&) = delete;
  ~Lmdb();
  void put(std::string_view key, std::string_view value);

  /// Many puts in one transaction, which ends with it.
  class Batch {
   public:
    explicit Batch(Lmdb& into);
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    ~Batch();
    void put(std::string_view key, std::string_view value);

   private:
    MDB_txn* transaction_ = nullptr;
    MDB_dbi tree_ = 0;
  };

  class Reader {
   public:
    explicit Reader(Lmdb& from);
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader();
    /// A look-up in a renewed transaction, which ends with it. `see` runs inside.
    template <typename See>
    void get(std::string_view key, const See& see) {
      if (mdb_txn_renew(transaction_) != 0) failed();
      MDB_val name{key.size(), const_cast<char*>(key.data())};
      MDB_val value{};
      if (mdb_get(transaction_, tree_, &name, &value) != 0) failed();
      see(Bytes(static_cast<const char*>(value.mv_data), value.mv_size));
      mdb_txn_reset(transaction_);
    }
    [[nodiscard]] bool has(std::string_view key);

   private:
    [[noreturn]] static void failed();
    MDB_txn* transaction_ = nullptr;
    MDB_dbi tree_ = 0;
  };

 private:
  MDB_env* environment_ = nullptr;
  MDB_dbi tree_ = 0;
};

class Sqlite {
 public:
  /// `page_size` counts for a new file only.
  Sqlite(const std::string& file, int page_size);
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;
  ~Sqlite();
  void put(std::string_view key, std::string_view value);
  /// Moves what the log holds into the file: only that is read by the mapping.
  void checkpoint() { run("PRAGMA wal_checkpoint(TRUNCATE)"); }
  [[nodiscard]] bool has(std::string_view key);
  template <typename See>
  void get(std::string_view key, const See& see) {
    step_to(key);
    see(Bytes(static_cast<const char*>(sqlite3_column_blob(select_, 0)),
              static_cast<std::size_t>(sqlite3_column_bytes(select_, 0))));
    sqlite3_reset(select_);
  }

 private:
  void step_to(std::string_view key);
  int step(std::string_view key);
  void run(const char* sql);
  sqlite3* database_ = nullptr;
  sqlite3_stmt* select_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

class Files {
 public:
  explicit Files(std::string folder);
  void put(std::string_view key, std::string_view value) const;
  [[nodiscard]] std::string path_of(std::string_view key) const;

 private:
  std::string folder_;
};

/// Opens, reads into a buffer that is kept, closes.
[[nodiscard]] Bytes read_file(const std::string& path, std::string& buffer);
/// Opens, maps, closes; unmapped at the end.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  [[nodiscard]] Bytes bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace bench
