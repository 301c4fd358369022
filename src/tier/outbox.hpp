// SPDX-License-Identifier: MIT
// Outbox: what is still to be written to one remote, kept in the store, so that a later process does what this one
// could not.
//
//   <format folder>/outbox/<id of the remote>/lock              OFD lock on byte 0: who writes to the remote now
//   <format folder>/outbox/<id of the remote>/<digest>.<op>     an empty file; op: put, new (replace), del (remove)
//   <format folder>/outbox/<id of the remote>/<digest>.<op>.now the same, while it is being written
//
// A file says only that the remote is to be brought in line with the store for this key. Before the key is looked up
// its files are renamed to `.now`, and unlinked when the remote has answered: a key that changes meanwhile is queued
// anew, and a process that is killed leaves files that count as before. At most 4096 of them; what comes then is not
// queued. Queues of remotes that nobody used for 30 days are removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "port/fd.hpp"
#include "port/lock_files.hpp"
#include "port/result.hpp"
#include "trust/digest.hpp"

namespace tlc::tier {

class Outbox {
 public:
  static constexpr std::size_t kMost = 4096;
  enum class Op : std::uint8_t { put, replace, remove };

  /// Of the remote with this id, made if missing. store_dir: the format folder.
  static Result<std::unique_ptr<Outbox>> open(int store_dir, const std::string& id);

  /// TLC_NOT_STORED when it is full.
  Result<void> note(const trust::Digest& key, Op op);
  [[nodiscard]] bool has(const trust::Digest& key) const;
  /// Keys that something is queued for, `most` of them.
  [[nodiscard]] Result<std::vector<trust::Digest>> pending(std::size_t most) const;
  [[nodiscard]] std::size_t size() const;

  /// The right to write to the remote; false: another process of this host is at it. Given back by unlock, or by death.
  Result<bool> try_lock();
  void unlock();

  struct Wanted {
    bool anything = false, replace = false, remove = false;
  };
  /// Lock held: what is queued for the key, now under way.
  [[nodiscard]] Wanted begin(const trust::Digest& key);
  /// Lock held: what begin took is done.
  void end(const trust::Digest& key);

 private:
  Outbox(port::Fd dir, port::LockFile lock) : dir_(std::move(dir)), lock_(std::move(lock)) {}

  port::Fd dir_;
  port::LockFile lock_;
  std::atomic<std::size_t> noted_{0};
};

}  // namespace tlc::tier
