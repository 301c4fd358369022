// SPDX-License-Identifier: MIT
// IndexReader: look-ups in data.mdb without liblmdb, without a lock and, on the hit path, without a
// system call.
//
// It is safe from any thread, in a forked child, in another PID namespace, and on a read-only
// mount. Nothing in the file can make it crash, loop or read outside the file (tests:
// index_corruption, fuzz_index). The one exception is a file truncated while mapped, which no
// process of ours does; pread mode is immune to that too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "port/fd.hpp"
#include "port/result.hpp"
#include "store/index/control_word.hpp"
#include "store/index/lookup.hpp"
#include "store/index/page_source.hpp"
#include "store/index/record.hpp"
#include "trust/digest.hpp"

namespace tlc::store {

class IndexReader {
 public:
  /// Called with each record; false stops the visit.
  using Visitor = std::function<bool(const trust::Digest&, const IndexRecord&)>;

  /// `control` outlives the reader; nullptr says that nobody writes the file. `map_size` is the
  /// store's fixed map size. With `use_pread` pages are read, not mapped (some 5 us a look-up):
  /// where mapping fails or the file is not trusted to keep its length. `page_size` is the file's.
  static Result<IndexReader> open(port::Fd data_file, const IndexControl* control, std::size_t map_size, bool use_pread,
                                  std::size_t page_size = native_index_page_size());

  /// The record of `key`. The caller checks it with intact().
  Lookup get(const trust::Digest& key, IndexRecord& out) const;

  /// Visits every record in key order, page by page, each page from one committed snapshot (a later
  /// page may be of a later snapshot). `hit`: came to the end or was stopped. Else it could not go
  /// on.
  Lookup for_each(const Visitor& visit) const;

  /// Of the newest snapshot; 0 if there is none to read. used_bytes: up to the last page ever used.
  [[nodiscard]] std::uint64_t entries() const;
  [[nodiscard]] std::uint64_t used_bytes() const;

 private:
  IndexReader(PageSource pages, const IndexControl* control) : pages_(std::move(pages)), control_(control) {}

  PageSource pages_;
  const IndexControl* control_;
};

}  // namespace tlc::store
