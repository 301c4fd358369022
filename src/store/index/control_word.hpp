// SPDX-License-Identifier: MIT
// The control word: how writers tell readers which snapshot of the index may be read.
//
// It lives in the store's shared control mapping. Only the holder of the write lock stores to it;
// readers, possibly through a read-only mapping, only load. The protocol and its proof are in
// snapshot.hpp.
//
//   txnid       last transaction known committed. A writer stores it twice a transaction: before
//   its first write
//               (own id - 1) and after its commit.
//   file_*      what fstat said of data.mdb after the last commit: a writer that opens the file in
//   the same boot may
//               skip the whole-index validation if they still match. Readers do not use them.
//
// One control word belongs to one data.mdb. When another index is swapped in, the store resets it
// under the write lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace tlc::store {

struct IndexControl {
  alignas(64) std::atomic<std::uint64_t> txnid;
  std::atomic<std::uint64_t> file_size;
  std::atomic<std::uint64_t> file_mtime_ns;
  std::atomic<std::uint64_t> file_ctime_ns;
  std::atomic<std::uint64_t> file_ino;
};
static_assert(sizeof(IndexControl) == 64);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

}  // namespace tlc::store
