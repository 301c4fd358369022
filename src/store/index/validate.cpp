// SPDX-License-Identifier: MIT
// What a valid index is:
//
//   metas      both of a file of ours, of our map size; ids differ by one at most; the last page is
//              in the map
//   pages      number and type are right; nodes lie inside, and tile it from `upper` to the end
//              without a gap or an overlap
//   keys       of the tree's size, ascending, within the bounds that the branches above set
//   trees      all leaves at the meta's depth; branches of at least two nodes; counters as the meta
//              has them
//   records    128 bytes, in the leaf
//   free list  ids from 1 to the newest transaction; page numbers descend; lists lie in the leaf or
//              in a run of overflow pages
//   use        every page from 2 to the last is used exactly once: by a tree, an overflow run or a
//              free list
//
// Each page is entered once, so the time is bounded by the file. The page header's pad is not
// looked at: liblmdb leaves it uninitialised.
#include "store/index/validate.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "store/index/page.hpp"
#include "store/index/page_source.hpp"
#include "store/index/record.hpp"
#include "store/index/snapshot.hpp"
#include "trust/digest.hpp"

namespace tlc::store {
namespace {

/// liblmdb moves larger data to overflow pages (me_nodemax): a node over it was not made by
/// liblmdb.
unsigned largest_node(std::size_t page_size) {
  return static_cast<unsigned>((((page_size - kPageHeaderSize) / 2) & ~std::size_t{1}) - 2);
}

class TreeKind {
 public:
  static TreeKind main() { return TreeKind(kKeySize); }
  static TreeKind free_list() { return TreeKind(sizeof(std::uint64_t)); }

  [[nodiscard]] unsigned key_size() const { return key_size_; }
  [[nodiscard]] bool is_main() const { return key_size_ == kKeySize; }
  /// The free list's keys are native integers.
  [[nodiscard]] bool less(const std::uint8_t* a, const std::uint8_t* b) const {
    if (is_main()) return std::memcmp(a, b, kKeySize) < 0;
    return load<std::uint64_t>(a) < load<std::uint64_t>(b);
  }

 private:
  explicit TreeKind(unsigned key_size) : key_size_(key_size) {}
  unsigned key_size_;
};

/// The keys a subtree may hold: from `low` up to, not including, `high`; nullptr: no bound.
struct Bounds {
  const std::uint8_t* low = nullptr;
  const std::uint8_t* high = nullptr;
};

class Validator {
 public:
  Validator(const PageSource& pages, const Meta& meta, bool check_records, ValidationReport& report)
      : pages_(pages), meta_(meta), check_records_(check_records), report_(report) {
    used_.assign(static_cast<std::size_t>(meta.last_page + 1), false);
  }

  bool run() {
    if (!tree(TreeKind::free_list(), meta_.free_list) || !tree(TreeKind::main(), meta_.main)) {
      return false;
    }
    if (report_.pages == meta_.last_page - 1) return true;
    const auto leaked = std::find(used_.begin() + 2, used_.end(), false);
    return fail("page leaked: in no tree and no free list", static_cast<std::uint64_t>(leaked - used_.begin()));
  }

 private:
  bool fail(const char* error, std::uint64_t page) {
    report_.error = error;
    report_.error_page = page;
    return false;
  }

  bool use(std::uint64_t page) {
    if (page < 2 || page > meta_.last_page) return fail("page number out of range", page);
    if (used_[page]) return fail("page used twice", page);
    used_[page] = true;
    ++report_.pages;
    return true;
  }

  bool tree(TreeKind kind, const Tree& expected) {
    counted_ = {};
    const bool empty = expected.root == kEmptyTree;
    if (empty ? expected.depth != 0 : expected.depth == 0 || expected.depth > kMaxDepth) {
      return fail("tree depth impossible", 0);
    }
    if (!empty && !subtree(kind, expected.root, expected.depth, {})) return false;
    if (counted_.branch_pages != expected.branch_pages || counted_.leaf_pages != expected.leaf_pages ||
        counted_.overflow_pages != expected.overflow_pages || counted_.entries != expected.entries) {
      return fail("tree counters wrong", meta_.txnid & 1);
    }
    if (kind.is_main()) report_.entries = counted_.entries;
    return true;
  }

  bool subtree(TreeKind kind, std::uint64_t number, unsigned height, Bounds bounds) {
    const bool leaf = height == 1;
    PageBuffer buffer;
    if (!use(number)) return false;
    const std::uint8_t* bytes = pages_.page(number, buffer);
    TreePage page;
    if (bytes == nullptr) return fail("page outside the file", number);
    if (!page.open(bytes, pages_.page_size(), number, leaf ? kLeafPage : kBranchPage)) {
      return fail("page header wrong", number);
    }
    if (!leaf && page.nodes < 2) return fail("branch with one child", number);
    if (!nodes_tile(page, leaf, number) || !keys_ascend(kind, page, leaf, number, bounds)) {
      return false;
    }
    ++(leaf ? counted_.leaf_pages : counted_.branch_pages);
    return leaf ? leaf_data(kind, page, number) : children(kind, page, height, bounds);
  }

  /// All nodes lie in the page, and together fill it from `upper` to its end.
  bool nodes_tile(const TreePage& page, bool leaf, std::uint64_t number) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> spans(page.nodes);
    for (unsigned index = 0; index < page.nodes; ++index) {
      Node node;
      if (!node.open(page, index, leaf)) return fail("node outside its page", number);
      if (leaf && node.end(leaf) - node.offset > largest_node(pages_.page_size())) {
        return fail("node too large", number);
      }
      spans[index] = {node.offset, (node.end(leaf) + 1) & ~std::uint64_t{1}};
    }
    std::sort(spans.begin(), spans.end());
    std::uint64_t at = load16(page.bytes + 14);
    for (const auto& [start, end] : spans) {
      if (start != at) return fail("nodes overlap or leave a gap", number);
      at = end;
    }
    return at == page.size || fail("nodes overlap or leave a gap", number);
  }

  bool keys_ascend(TreeKind kind, const TreePage& page, bool leaf, std::uint64_t number, Bounds bounds) {
    const std::uint8_t* previous = nullptr;
    for (unsigned index = 0; index < page.nodes; ++index) {
      const Node node = checked_node(page, index, leaf);
      const bool unused = !leaf && index == 0;  // a branch's first key
      if (unused && node.key_size == 0) continue;
      if (node.key_size != kind.key_size()) return fail("key size wrong", number);
      if (unused) continue;
      const std::uint8_t* key = node.key(page);
      if (previous != nullptr && !kind.less(previous, key)) return fail("keys out of order", number);
      if ((bounds.low != nullptr && kind.less(key, bounds.low)) ||
          (bounds.high != nullptr && !kind.less(key, bounds.high))) {
        return fail("key outside the bounds of its branch", number);
      }
      previous = key;
    }
    return true;
  }

  bool children(TreeKind kind, const TreePage& page, unsigned height, Bounds bounds) {
    for (unsigned index = 0; index < page.nodes; ++index) {
      const Node node = checked_node(page, index, false);
      Bounds inner = bounds;
      if (index > 0) inner.low = node.key(page);
      if (index + 1 < page.nodes) inner.high = checked_node(page, index + 1, false).key(page);
      if (!subtree(kind, node.child, height - 1, inner)) return false;
    }
    return true;
  }

  bool leaf_data(TreeKind kind, const TreePage& page, std::uint64_t number) {
    counted_.entries += page.nodes;
    for (unsigned index = 0; index < page.nodes; ++index) {
      const Node node = checked_node(page, index, true);
      const std::uint8_t* data = node.data(page);
      if (kind.is_main()) {
        if (!record(node, node.key(page), data, number)) return false;
        continue;
      }
      if (node.flags > kBigDataNode) return fail("free list node wrong", number);
      const auto id = load<std::uint64_t>(node.key(page));
      if (id == 0 || id > meta_.txnid) return fail("free list of an unknown transaction", number);
      const bool listed = node.flags == kBigDataNode ? overflow_list(load<std::uint64_t>(data), node.data_size)
                                                     : page_list(data, node.data_size, number);
      if (!listed) return false;
    }
    return true;
  }

  bool record(const Node& node, const std::uint8_t* key, const std::uint8_t* data, std::uint64_t number) {
    if (node.flags != 0 || node.data_size != kRecordSize) return fail("record size wrong", number);
    if (!check_records_) return true;
    trust::Digest digest;
    IndexRecord copy;
    std::memcpy(digest.bytes.data(), key, kKeySize);
    std::memcpy(static_cast<void*>(&copy), data, kRecordSize);
    return intact(copy, digest) || fail("record checksum wrong", number);
  }

  /// A free list: how many, then that many page numbers, descending.
  bool page_list(const std::uint8_t* data, std::uint64_t bytes, std::uint64_t number) {
    if (bytes < 8 || bytes % 8 != 0) return fail("free list size wrong", number);
    const auto count = load<std::uint64_t>(data);
    if (count > bytes / 8 - 1) return fail("free list count wrong", number);
    std::uint64_t previous = ~std::uint64_t{0};
    for (std::uint64_t index = 1; index <= count; ++index) {
      const auto page = load<std::uint64_t>(data + 8 * index);
      if (page >= previous) return fail("free list out of order", number);
      if (!use(page)) return false;
      previous = page;
    }
    report_.free_pages += count;
    return true;
  }

  /// A list in a run of overflow pages: one page header, then the data across all pages.
  bool overflow_list(std::uint64_t first, std::uint32_t bytes) {
    const std::size_t page_size = pages_.page_size();
    PageBuffer buffer;
    const std::uint8_t* header = first >= 2 && first <= meta_.last_page ? pages_.page(first, buffer) : nullptr;
    if (header == nullptr) return fail("overflow page outside the file", first);
    const auto run = load<std::uint32_t>(header + 12);
    const std::uint64_t needed = (kPageHeaderSize + std::uint64_t{bytes} + page_size - 1) / page_size;
    if (load<std::uint64_t>(header) != first || load16(header + 10) != kOverflowPage || run < needed ||
        run > meta_.last_page) {
      return fail("overflow page header wrong", first);
    }
    std::vector<std::uint8_t> content(needed * page_size);
    for (std::uint64_t index = 0; index < run; ++index) {
      if (!use(first + index)) return false;
      if (index >= needed) continue;
      const std::uint8_t* page = pages_.page(first + index, buffer);
      if (page == nullptr) return fail("overflow page outside the file", first + index);
      std::memcpy(content.data() + index * page_size, page, page_size);
    }
    counted_.overflow_pages += run;
    return page_list(content.data() + kPageHeaderSize, bytes, first);
  }

  /// A node that nodes_tile has opened before: the file is not being written.
  static Node checked_node(const TreePage& page, unsigned index, bool leaf) {
    Node node;
    (void)node.open(page, index, leaf);
    return node;
  }

  const PageSource& pages_;
  const Meta& meta_;
  bool check_records_;
  ValidationReport& report_;
  Tree counted_{};
  std::vector<bool> used_;
};

const char* meta_fault(const Meta& newest, const Meta& other, std::size_t map_size, const IndexControl* control) {
  if (newest.txnid - other.txnid > 1) return "the two metas are not neighbours";
  if (newest.map_size != map_size || other.map_size != map_size) return "map size wrong";
  if (control != nullptr) {
    const std::uint64_t word = control->txnid.load(std::memory_order_acquire);
    if (newest.txnid - word > 1) return "control word and newest meta disagree";
  }
  return nullptr;
}

Result<PageSource> open_pages(int data_file, std::size_t map_size, std::size_t page_size) {
  for (const bool use_pread : {false, true}) {
    port::Fd own(fcntl(data_file, F_DUPFD_CLOEXEC, 3));
    if (!own) return io_error(errno, "cannot validate the index");
    auto pages = PageSource::open(std::move(own), map_size, use_pread, page_size);
    if (pages.ok() || use_pread) return pages;
  }
  return make_error(TLC_E_INTERNAL, "cannot validate the index");
}

}  // namespace

Result<ValidationReport> validate(int data_file, std::size_t map_size, const IndexControl* control, bool check_records,
                                  std::size_t page_size) {
  auto pages = open_pages(data_file, map_size, page_size);
  if (!pages.ok()) return std::move(pages).error();
  ValidationReport report;
  NoHooks none;
  Meta metas[2];
  for (unsigned slot = 0; slot < 2; ++slot) {
    if (copy_meta(*pages, slot, metas[slot], none)) continue;
    report.error = "meta page wrong";
    report.error_page = slot;
    return report;
  }
  const unsigned newest = metas[0].txnid < metas[1].txnid ? 1 : 0;
  report.txnid = metas[newest].txnid;
  if (const char* fault = meta_fault(metas[newest], metas[1 - newest], map_size, control)) {
    report.error = fault;
    report.error_page = newest;
    return report;
  }
  report.valid = Validator(*pages, metas[newest], check_records, report).run();
  return report;
}

}  // namespace tlc::store
