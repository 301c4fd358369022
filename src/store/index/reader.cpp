// SPDX-License-Identifier: MIT
#include "store/index/reader.hpp"

#include <utility>

#include "store/index/retry.hpp"
#include "store/index/search.hpp"
#include "store/index/snapshot.hpp"

namespace tlc::store {

Result<IndexReader> IndexReader::open(port::Fd data_file, const IndexControl* control, std::size_t map_size,
                                      bool use_pread, std::size_t page_size) {
  auto pages = PageSource::open(std::move(data_file), map_size, use_pread, page_size);
  if (!pages.ok()) return std::move(pages).error();
  return IndexReader(std::move(*pages), control);
}

Lookup IndexReader::get(const trust::Digest& key, IndexRecord& out) const {
  NoHooks none;
  return read_snapshot(pages_, control_, none, [&](const Meta& meta) { return find(pages_, meta, key, out, none); });
}

Lookup IndexReader::for_each(const Visitor& visit) const {
  NoHooks none;
  LeafCopy leaf;
  trust::Digest from;  // all zero: the lowest key
  for (;;) {
    const Lookup read = read_snapshot(pages_, control_, none,
                                      [&](const Meta& meta) { return copy_leaf(pages_, meta, from, leaf, none); });
    if (read != Lookup::hit) return read;
    for (const auto& [key, record] : leaf.entries) {
      if (!visit(key, record)) return Lookup::hit;
    }
    if (leaf.last) return Lookup::hit;
    from = leaf.next;
  }
}

std::uint64_t IndexReader::entries() const {
  NoHooks none;
  std::uint64_t count = 0;
  const Lookup read = read_snapshot(pages_, control_, none, [&](const Meta& meta) {
    count = meta.main.entries;
    return Lookup::hit;
  });
  return read == Lookup::hit ? count : 0;
}

std::uint64_t IndexReader::used_bytes() const {
  NoHooks none;
  std::uint64_t pages = 0;
  const Lookup read = read_snapshot(pages_, control_, none, [&](const Meta& meta) {
    pages = meta.last_page + 1;
    return Lookup::hit;
  });
  return read == Lookup::hit ? pages * pages_.page_size() : 0;
}

}  // namespace tlc::store
