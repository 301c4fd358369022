// SPDX-License-Identifier: MIT
// IndexWriter: the only user of liblmdb. One per process and index folder.
//
// Contract: every call, open and the destructor included, is made under the store's write lock,
// which excludes all threads and processes (liblmdb runs with MDB_NOLOCK). A forked child must not
// use, close or destroy the writer it inherits (liblmdb writes through the shared file offset): it
// calls abandon() and opens its own.
//
//   begin   reopen if the last commit failed; preallocate; mdb_txn_begin; publish id-1; full fence
//   put...  liblmdb copies pages; it may already write some (spill)
//   commit  mdb_txn_commit; publish the environment's last id; store the file's signature
//
// Nothing is ever synced: after a power loss the index is validated or rebuilt (facts: the store's
// boot id).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "port/result.hpp"
#include "store/index/control_word.hpp"
#include "store/index/lookup.hpp"
#include "store/index/record.hpp"
#include "trust/digest.hpp"

namespace tlc::store {

/// An error, naming the version, unless this liblmdb is one whose page reuse was tested (0.9.24 to
/// 0.9.35).
Result<void> check_lmdb_version(int major, int minor, int patch);

/// The name of the data file in its index folder.
inline constexpr const char* kDataFileName = "data.mdb";

class IndexWriter {
 public:
  /// Opens, or creates, `data.mdb` in the folder. The file is validated first (TLC_E_CORRUPT if it
  /// fails: the caller swaps in an empty index), unless `trusted_boot` is set (no unclean stop
  /// since the boot) and the signature in `control` is the file's. Publishes the file's last
  /// transaction, which ends a stale control word.
  static Result<IndexWriter> open(int index_dirfd, const std::string& index_path, IndexControl* control,
                                  std::size_t map_size, bool trusted_boot = false);

  IndexWriter(IndexWriter&&) noexcept;
  IndexWriter& operator=(IndexWriter&&) noexcept;
  ~IndexWriter();

  Result<void> begin();
  /// In a transaction. put: true if the key was new; TLC_NOT_STORED when the map is nearly full.
  /// remove: true if it was there. get: hit or miss, as the transaction sees it; corrupt if the
  /// record has the wrong size. After an error the caller aborts.
  Result<bool> put(const trust::Digest& key, const IndexRecord& record);
  Result<bool> remove(const trust::Digest& key);
  Result<Lookup> get(const trust::Digest& key, IndexRecord& out);
  /// Ends the transaction, also when it fails; then nothing of it was stored, or (an error of the
  /// last write) all.
  Result<void> commit();
  /// Ends the transaction, if one is open, without a trace.
  void abort();

  /// Over 70 % of the map is in use (free pages do not count): only removals are taken.
  [[nodiscard]] bool nearly_full() const;
  [[nodiscard]] std::uint64_t entries() const;
  /// Id of the open transaction; it repeats after an abort or an empty commit, so it is no sequence
  /// number.
  [[nodiscard]] std::uint64_t txnid() const;
  [[nodiscard]] bool in_transaction() const;

  /// In a forked child: forget the environment without touching it.
  void abandon();

 private:
  struct State;
  explicit IndexWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tlc::store
