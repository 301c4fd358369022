// SPDX-License-Identifier: MIT
// Compile locks between processes: the right to compile a key on this host.
//
// One byte per key, in one of 16 files (compile/0 to compile/f), at an offset of 62 bits of the digest: no file is made
// or removed for a lock, and the kernel lets go when its holder dies. Threads of one process are kept apart by the
// caller (cache/flight.hpp), since they share the open files.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "port/lock_files.hpp"
#include "port/result.hpp"
#include "trust/digest.hpp"

namespace tlc::store {

class CompileLocks {
 public:
  explicit CompileLocks(int format_dir) : dir_(format_dir) {}

  /// True if the lock is now this process's. An Error where locks cannot be had at all (read-only folder).
  Result<bool> try_take(const trust::Digest& key);
  void give_back(const trust::Digest& key);

 private:
  static constexpr std::size_t kFiles = 16;
  Result<int> file_for(const trust::Digest& key);

  int dir_;
  std::mutex mutex_;
  std::array<port::LockFile, kFiles> files_;
};

}  // namespace tlc::store
