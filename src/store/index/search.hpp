// SPDX-License-Identifier: MIT
// Walks of the main tree inside one snapshot: find one key, or copy out one leaf.
//
// They run on bytes that may be changing or damaged: each visits at most kMaxDepth pages and halves
// each page's nodes.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "store/index/lookup.hpp"
#include "store/index/page.hpp"
#include "store/index/record.hpp"
#include "store/index/snapshot.hpp"
#include "trust/digest.hpp"

namespace tlc::store {

/// The first 8 bytes of a key, so that they compare as the key does. Keys are digests: they nearly always decide.
inline std::uint64_t first_word(const std::uint8_t* key) {
  return __builtin_bswap64(load<std::uint64_t>(key));
}
/// <0, 0, >0 as memcmp of what follows the first words.
inline int compare_rest(const std::uint8_t* a, const std::uint8_t* b) {
  return std::memcmp(a + sizeof(std::uint64_t), b + sizeof(std::uint64_t), kKeySize - sizeof(std::uint64_t));
}
/// <0, 0, >0 as memcmp of two keys.
inline int compare_keys(const std::uint8_t* a, const std::uint8_t* b) {
  const std::uint64_t first_a = first_word(a);
  const std::uint64_t first_b = first_word(b);
  if (first_a != first_b) return first_a < first_b ? -1 : 1;
  return compare_rest(a, b);
}

/// Opens node `index` and checks that it has the form our trees have.
inline bool open_node(const TreePage& page, unsigned index, bool leaf, Node& node) {
  if (!node.open(page, index, leaf) || node.key_size != kKeySize) return false;
  return !leaf || (node.flags == 0 && node.data_size == kRecordSize);
}

/// Where a binary search ended.
struct Position {
  unsigned index;  // of the first node whose key is greater than the one sought
  bool exact;      // the node before it has that very key
  bool damaged;
};

/// The key of node `index`, which has the size of ours and lies inside its page; else nullptr. A search needs no more
/// of the nodes that it passes.
inline const std::uint8_t* key_at(const TreePage& page, unsigned index) {
  const unsigned offset = load16(page.bytes + kPageHeaderSize + std::size_t{2} * index);
  if ((offset & 1) != 0 || offset < kPageHeaderSize || offset > page.size - kNodeHeaderSize - kKeySize ||
      load16(page.bytes + offset + 6) != kKeySize) {
    return nullptr;
  }
  return page.bytes + offset + kNodeHeaderSize;
}

/// Searches nodes first..count-1. In a branch `first` is 1: the first key counts as lower than all.
inline Position upper_bound(const TreePage& page, bool leaf, const std::uint8_t* key) {
  unsigned low = leaf ? 0 : 1;
  unsigned high = page.nodes;
  const std::uint64_t wanted = first_word(key);
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    const std::uint8_t* other = key_at(page, middle);
    if (other == nullptr) return {0, false, true};
    const std::uint64_t first = first_word(other);
    bool below = wanted < first;
    if (wanted == first) {
      const int order = compare_rest(key, other);
      if (order == 0) return {middle + 1, true, false};
      below = order < 0;
    }
    high = below ? middle : high;
    low = below ? low : middle + 1;
  }
  return {low, false, false};
}

/// Goes from the root to the leaf where `key` belongs. `on_branch(page, child)` sees each branch
/// and the index taken. miss: the tree is empty; hit: `leaf_page` is open.
template <class Hooks, class OnBranch>
Lookup descend(const PageSource& pages, const Meta& meta, const std::uint8_t* key, PageBuffer& buffer,
               TreePage& leaf_page, Hooks& hooks, OnBranch&& on_branch) {
  const unsigned depth = meta.main.depth;
  std::uint64_t number = meta.main.root;
  if (number == kEmptyTree) return Lookup::miss;
  if (depth == 0 || depth > kMaxDepth) return Lookup::corrupt;
  for (unsigned level = 1;; ++level) {
    const bool leaf = level == depth;
    if (number < 2 || number > meta.last_page) return Lookup::corrupt;
    const std::uint8_t* bytes = pages.page(number, buffer);
    TreePage page;
    if (bytes == nullptr || !page.open(bytes, pages.page_size(), number, leaf ? kLeafPage : kBranchPage)) {
      return Lookup::corrupt;
    }
    hooks.at(ReadStep::page_opened);
    if (leaf) {
      leaf_page = page;
      return Lookup::hit;
    }
    Node node;
    const Position at = upper_bound(page, false, key);
    if (at.damaged || !node.open(page, at.index - 1, false)) return Lookup::corrupt;
    if (!on_branch(page, at.index)) return Lookup::corrupt;
    number = node.child;
  }
}

/// The record of `key`: hit, miss or corrupt.
template <class Hooks>
Lookup find(const PageSource& pages, const Meta& meta, const trust::Digest& key, IndexRecord& out, Hooks& hooks) {
  PageBuffer buffer;
  TreePage leaf;
  const Lookup reached =
      descend(pages, meta, key.bytes.data(), buffer, leaf, hooks, [](const TreePage&, unsigned) { return true; });
  if (reached != Lookup::hit) return reached;
  Node node;
  const Position at = upper_bound(leaf, true, key.bytes.data());
  if (at.damaged) return Lookup::corrupt;
  if (!at.exact) return Lookup::miss;
  if (!open_node(leaf, at.index - 1, true, node)) return Lookup::corrupt;
  hooks.at(ReadStep::record_found);
  std::memcpy(static_cast<void*>(&out), node.data(leaf), kRecordSize);
  return Lookup::hit;
}

using Entry = std::pair<trust::Digest, IndexRecord>;

/// One leaf, copied out: its entries from a key on, and the key where the next leaf begins.
struct LeafCopy {
  std::vector<Entry> entries;
  trust::Digest next;
  bool last = true;  // no leaf after this one
};

/// Copies the leaf where `from` belongs: its entries not less than `from`. hit (also when there are
/// none) or corrupt. `next` is greater than `from`, and the entries ascend between them, else
/// corrupt: a visit that goes on from `next` ends.
template <class Hooks>
Lookup copy_leaf(const PageSource& pages, const Meta& meta, const trust::Digest& from, LeafCopy& out, Hooks& hooks) {
  out.entries.clear();
  out.last = true;
  PageBuffer buffer;
  TreePage leaf;
  // Each branch that has a node after the child taken bounds the leaf from above, a lower branch
  // more tightly.
  const auto bound = [&out](const TreePage& page, unsigned after) {
    if (after >= page.nodes) return true;
    Node node;
    if (!open_node(page, after, false, node)) return false;
    std::memcpy(out.next.bytes.data(), node.key(page), kKeySize);
    out.last = false;
    return true;
  };
  const Lookup reached = descend(pages, meta, from.bytes.data(), buffer, leaf, hooks, bound);
  if (reached == Lookup::miss) return Lookup::hit;
  if (reached == Lookup::corrupt) return reached;
  if (!out.last && !(from < out.next)) return Lookup::corrupt;
  for (unsigned index = 0; index < leaf.nodes; ++index) {
    Node node;
    if (!open_node(leaf, index, true, node)) return Lookup::corrupt;
    if (compare_keys(node.key(leaf), from.bytes.data()) < 0) continue;
    Entry& entry = out.entries.emplace_back();
    std::memcpy(entry.first.bytes.data(), node.key(leaf), kKeySize);
    std::memcpy(static_cast<void*>(&entry.second), node.data(leaf), kRecordSize);
    const std::size_t count = out.entries.size();
    if (count > 1 && !(out.entries[count - 2].first < entry.first)) return Lookup::corrupt;
    if (!out.last && !(entry.first < out.next)) return Lookup::corrupt;
  }
  return Lookup::hit;
}

}  // namespace tlc::store
