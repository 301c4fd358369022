// SPDX-License-Identifier: MIT
// Pages of an LMDB 0.9 data file (data version 1, 64-bit, little-endian), decoded with every offset
// checked.
//
// The file is an array of pages of `page_size` bytes (the system's, at most 32768). Pages 0 and 1
// are metas: transaction N writes page N & 1. All others are pages of two B+trees (0: the free
// list; 1: the main tree, ours) or free.
//
//   page header                          meta page: header, flags meta, then at 16
//     0  8  number of this page            16  4  magic 0xBEEFC0DE
//     8  2  not initialised by liblmdb     20  4  data version, 1
//    10  2  flags: 1 branch 2 leaf         24  8  address (0)
//           4 overflow 8 meta              32  8  map size
//    12  2  lower: end of node table       40 48  tree 0, free list (its pad is the page size)
//    14  2  upper: start of nodes          88 48  tree 1, main
//    12  4  (overflow) pages in the run   136  8  last page used
//    16     node table, u16 offsets       144  8  transaction id
//
//   node, at an even offset              tree
//     0  2  low 16 bits  of data size,     0  4  pad
//     2  2  high 16 bits or of the child   4  2  flags (free list: 8, integer keys)
//     4  2  flags (1: the data is an       6  2  depth
//           8-byte overflow page number);  8  8  branch pages
//           branch: bits 32..47 of child  16  8  leaf pages
//     6  2  key size                      24  8  overflow pages
//     8     key, then data                32  8  entries
//                                         40  8  root page; all ones: empty
//
// A branch's first key is not used (liblmdb leaves it empty or old): it counts as lower than all.
//
// The bytes may change while they are read (a writer reuses the page; snapshot.hpp finds out
// afterwards). So each 16-bit field is loaded once, checked, and only the checked copy is used.
// Then whatever the bytes are, nothing outside the page is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "store/index/page_source.hpp"

namespace tlc::store {

inline constexpr std::uint32_t kLmdbMagic = 0xBEEFC0DE;
inline constexpr std::uint32_t kLmdbDataVersion = 1;
inline constexpr std::uint64_t kEmptyTree = ~std::uint64_t{0};
inline constexpr unsigned kPageHeaderSize = 16;
inline constexpr unsigned kNodeHeaderSize = 8;
inline constexpr unsigned kBigDataNode = 1;
/// Bounds a walk in a damaged file. A million entries make a depth of 4; liblmdb's limit is 32.
inline constexpr unsigned kMaxDepth = 16;

enum PageFlags : std::uint16_t { kBranchPage = 1, kLeafPage = 2, kOverflowPage = 4, kMetaPage = 8 };

struct Tree {
  std::uint32_t pad;
  std::uint16_t flags;
  std::uint16_t depth;
  std::uint64_t branch_pages;
  std::uint64_t leaf_pages;
  std::uint64_t overflow_pages;
  std::uint64_t entries;
  std::uint64_t root;
};
static_assert(sizeof(Tree) == 48);

struct Meta {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t address;
  std::uint64_t map_size;
  Tree free_list;
  Tree main;
  std::uint64_t last_page;
  std::uint64_t txnid;
};
static_assert(sizeof(Meta) == 136);

/// One load that the compiler cannot repeat.
inline std::uint16_t load16(const std::uint8_t* at) {
  return __atomic_load_n(reinterpret_cast<const std::uint16_t*>(at), __ATOMIC_RELAXED);
}

template <class Word>
Word load(const std::uint8_t* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// Whether `meta`, copied from page `slot`, is one of a file of ours.
inline bool acceptable(const Meta& meta, unsigned slot, const PageSource& pages) {
  return meta.magic == kLmdbMagic && meta.version == kLmdbDataVersion && meta.free_list.pad == pages.page_size() &&
         (meta.free_list.flags & 0xff) == 8 && meta.main.flags == 0 && meta.main.pad == 0 && meta.last_page >= 1 &&
         meta.last_page < pages.page_limit() && (meta.txnid == 0 || (meta.txnid & 1) == slot);
}

/// A branch or leaf page whose header was checked.
struct TreePage {
  const std::uint8_t* bytes;
  unsigned size;
  unsigned nodes;

  /// False if `bytes` is not page `number` with exactly these flags and a possible node table.
  bool open(const std::uint8_t* page, std::size_t page_size, std::uint64_t number, PageFlags flags) {
    const unsigned lower = load16(page + 12);
    const unsigned upper = load16(page + 14);
    bytes = page;
    size = static_cast<unsigned>(page_size);
    nodes = (lower - kPageHeaderSize) / 2;
    return load<std::uint64_t>(page) == number && load16(page + 10) == flags && lower >= kPageHeaderSize + 2 &&
           ((lower | upper) & 1) == 0 && lower <= upper && upper <= size;
  }
};

/// A node that lies inside its page as a whole.
struct Node {
  unsigned offset;
  unsigned key_size;
  unsigned flags;
  std::uint32_t data_size;  // of a leaf
  std::uint64_t child;      // of a branch

  bool open(const TreePage& page, unsigned index, bool leaf) {
    if (index >= page.nodes) return false;
    offset = load16(page.bytes + kPageHeaderSize + std::size_t{2} * index);
    if ((offset & 1) != 0 || offset < kPageHeaderSize + 2 * page.nodes || offset > page.size - kNodeHeaderSize) {
      return false;
    }
    const std::uint8_t* at = page.bytes + offset;
    data_size = load16(at) | static_cast<std::uint32_t>(load16(at + 2)) << 16;
    flags = load16(at + 4);
    key_size = load16(at + 6);
    child = data_size | static_cast<std::uint64_t>(flags) << 32;
    return end(leaf) <= page.size;
  }

  [[nodiscard]] std::uint64_t stored_data(bool leaf) const {
    if (!leaf) return 0;
    return (flags & kBigDataNode) != 0 ? sizeof(std::uint64_t) : data_size;
  }
  [[nodiscard]] std::uint64_t end(bool leaf) const {
    return std::uint64_t{offset} + kNodeHeaderSize + key_size + stored_data(leaf);
  }
  [[nodiscard]] const std::uint8_t* key(const TreePage& page) const { return page.bytes + offset + kNodeHeaderSize; }
  [[nodiscard]] const std::uint8_t* data(const TreePage& page) const { return key(page) + key_size; }
};

}  // namespace tlc::store
