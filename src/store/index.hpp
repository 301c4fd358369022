// SPDX-License-Identifier: MIT
// Index: the current index folder of a store, read without a lock and written under the write lock.
//
// Which folder is current says control's index_generation. A damaged one is set aside by making the next, empty, and
// raising the generation; readers notice at their next look-up. The rebuild (rebuild.cpp) then fills it from the
// segments.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "port/result.hpp"
#include "store/control.hpp"
#include "store/index/reader.hpp"
#include "store/index/writer.hpp"
#include "store/opening_mark.hpp"
#include "store/write_lock.hpp"

namespace tlc::store {

class Index {
 public:
  /// `format_path` names the folder that `format_dir` is; both outlive the index, and so does the control.
  Index(int format_dir, std::string format_path, const Control& control, WriteLock* write_lock);
  ~Index();

  [[nodiscard]] Lookup get(const trust::Digest& key, IndexRecord& out);
  [[nodiscard]] Lookup for_each(const IndexReader::Visitor& visit);
  [[nodiscard]] std::uint64_t entries();
  [[nodiscard]] std::uint64_t used_bytes();

  /// One transaction under the write lock. fn may put, remove and get; what it returns decides: an Error aborts.
  /// TLC_NOT_STORED when it cannot be written (lock, disk, map), kReplaced when the store must be opened anew.
  Result<void> update(const std::function<Result<void>(IndexWriter&)>& fn);

  /// The index was last opened for writing by another boot of the machine, or nobody knows.
  [[nodiscard]] bool from_another_boot() const;
  /// Then: validates it, and has the segments indexed again where durable records are. Nothing else in this boot did.
  Result<void> settle_boot();

  /// Write lock held: makes the next generation, empty, current. The segments must be indexed again.
  Result<void> swap_in_empty();

  /// Checks the whole current index; sets it aside if it is damaged. Returns what was found, "" if it is whole.
  Result<std::string> validate_now(bool repair);

 private:
  struct Open {
    std::uint64_t generation;
    IndexReader reader;
  };

  IndexReader* reader();
  IndexReader* open_reader(std::uint64_t generation);
  [[nodiscard]] bool is_open() const;
  Result<IndexWriter*> writer(Suspect suspect);
  Result<void> open_writer(std::uint64_t generation);
  void begin_boot();
  void report(Lookup outcome);

  int dir_;
  std::string path_;
  const Control& control_;
  WriteLock* write_lock_;

  std::atomic<Open*> current_{nullptr};
  std::mutex readers_mutex_;
  std::vector<std::unique_ptr<Open>> readers_;  // all generations seen; others may still be walking an old one

  // Under the write lock.
  std::optional<IndexWriter> writer_;
  std::uint64_t writer_generation_ = 0;
  port::Fd writer_dir_;
};

}  // namespace tlc::store
