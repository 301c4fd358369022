// SPDX-License-Identifier: MIT
// A data.mdb in memory, for tests that damage it.
#pragma once

#include "index_support.hpp"
#include "store/index/page.hpp"
#include "store/index/page_source.hpp"

namespace tlc::test {

class Image {
 public:
  explicit Image(std::vector<std::uint8_t> content) : bytes(std::move(content)) {}

  static std::size_t page_size() { return store::native_index_page_size(); }
  std::uint8_t* page(std::uint64_t number) { return bytes.data() + number * page_size(); }
  [[nodiscard]] std::uint64_t pages() const { return bytes.size() / page_size(); }

  store::Meta meta(unsigned slot) {
    store::Meta meta;
    std::memcpy(&meta, page(slot) + store::kPageHeaderSize, sizeof meta);
    return meta;
  }
  void set_meta(unsigned slot, const store::Meta& meta) {
    std::memcpy(page(slot) + store::kPageHeaderSize, &meta, sizeof meta);
  }
  unsigned newest() { return meta(0).txnid < meta(1).txnid ? 1 : 0; }

  /// All pages of a tree: its branches, and its leaves.
  struct TreePages {
    std::vector<std::uint64_t> branches, leaves, overflow;
  };
  TreePages tree(bool main) {
    TreePages found;
    const store::Meta current = meta(newest());
    const store::Tree& tree = main ? current.main : current.free_list;
    if (tree.root != store::kEmptyTree) collect(tree.root, tree.depth, found);
    return found;
  }
  store::TreePage open(std::uint64_t number, bool leaf) {
    store::TreePage opened;
    if (!opened.open(page(number), page_size(), number, leaf ? store::kLeafPage : store::kBranchPage)) {
      give_up("the image is damaged already");
    }
    return opened;
  }
  /// Where a node begins in the image.
  std::uint8_t* node(std::uint64_t number, bool leaf, unsigned index) {
    store::Node node;
    if (!node.open(open(number, leaf), index, leaf)) give_up("no such node");
    return page(number) + node.offset;
  }

  std::vector<std::uint8_t> bytes;

 private:
  void collect(std::uint64_t number, unsigned height, TreePages& found) {
    const bool leaf = height == 1;
    (leaf ? found.leaves : found.branches).push_back(number);
    const store::TreePage opened = open(number, leaf);
    for (unsigned index = 0; index < opened.nodes; ++index) {
      store::Node node;
      if (!node.open(opened, index, leaf)) give_up("the image is damaged already");
      if (!leaf) {
        collect(node.child, height - 1, found);
      } else if ((node.flags & store::kBigDataNode) != 0) {
        found.overflow.push_back(store::load<std::uint64_t>(node.data(opened)));
      }
    }
  }
};

template <class Word>
void store_word(std::uint8_t* at, Word value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace tlc::test
