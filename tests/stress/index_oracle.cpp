// SPDX-License-Identifier: MIT
// The page-reuse oracle: measures, against the liblmdb that is linked, what the readers' proof
// assumes of it.
//
// Three writers take turns on one index. After each commit all pages of that snapshot, both trees,
// are hashed. Then, while each later transaction runs and after it, every older snapshot is hashed
// again. Claim (snapshot.hpp): snapshot T is whole until transaction T+3 writes. So while T+1 and
// T+2 run and after their commits, no snapshot T may be damaged; and after T+3 some must be, else
// the test looks at the wrong pages (the bound is tight).
//
// Arguments: keys, transactions, seed.
#include <sys/mman.h>

#include <deque>

#include "../unit/store/index_support.hpp"
#include "store/index/page.hpp"
#include "store/index/snapshot.hpp"
#include "trust/hash.hpp"

namespace {

using namespace tlc::test;
using tlc::store::Meta;
using tlc::store::Node;
using tlc::store::PageBuffer;
using tlc::store::PageSource;
using tlc::store::TreePage;

constexpr std::size_t kAges = 6;

struct Snapshot {
  std::uint64_t txnid = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pages;  // number, hash
};

class Oracle {
 public:
  Oracle(std::uint64_t keys, std::uint64_t seed) : keys_(keys), random_{seed} {
    for (unsigned more = 0; more < 2; ++more) {
      others_.push_back(
          need(IndexWriter::open(index_.folder.fd(), index_.folder.path(), index_.control.get(), index_.map_size)));
    }
  }

  void run(std::uint64_t transactions) {
    for (std::uint64_t number = 1; number <= transactions; ++number) transaction(number);
  }

  /// Prints what was seen; true if it is what the proof assumes.
  [[nodiscard]] bool report() {
    const auto valid = index_.validate();
    std::printf("valid at the end: %s; snapshots at most 2 old damaged while a transaction ran: %llu\n",
                valid.valid ? "yes" : valid.error, (unsigned long long)early_);
    for (std::size_t age = 1; age < kAges; ++age) {
      std::printf("after the commit of T+%zu: snapshot T damaged in %llu of %llu cases\n", age,
                  (unsigned long long)damaged_[age], (unsigned long long)checked_[age]);
    }
    return valid.valid && early_ == 0 && damaged_[1] == 0 && damaged_[2] == 0 && damaged_[3] > 0;
  }

 private:
  void transaction(std::uint64_t number) {
    const std::uint64_t turn = random_.below(3);
    IndexWriter& writer = turn == 0 ? *index_.writer : others_[turn - 1];
    need(writer.begin());
    const std::uint64_t txnid = writer.txnid();
    const std::uint64_t sizes[] = {6, 6, 6, 6, random_.one_in(8) ? 3000U : 64U};
    const std::uint64_t operations = 1 + random_.below(sizes[random_.below(5)]);
    const std::uint64_t bias = 9 + number / 300 % 3;  // the index grows and shrinks
    for (std::uint64_t operation = 0; operation < operations; ++operation) {
      const Digest key = make_key(random_.below(keys_));
      if (random_.below(20) < bias) {
        need(writer.put(key, make_record(key, number)));
      } else {
        need(writer.remove(key));
      }
    }
    check_while_running(txnid);
    if (random_.one_in(10)) {
      writer.abort();
      check_while_running(txnid);
      return;
    }
    need(writer.commit());
    const std::uint64_t now = index_.control->txnid;
    if (!snapshots_.empty() && snapshots_.back().txnid == now) return;  // nothing had changed
    check_after(now);
    remember(now);
  }

  [[nodiscard]] std::uint64_t hash(std::uint64_t number) const {
    PageBuffer unused;
    const std::uint8_t* page = pages_.page(number, unused);
    return page == nullptr ? 0 : tlc::trust::xxh3_64(page, pages_.page_size(), 0);
  }

  [[nodiscard]] bool damaged(const Snapshot& snapshot) const {
    for (const auto& [number, before] : snapshot.pages) {
      if (hash(number) != before) return true;
    }
    return false;
  }

  /// Transaction `running` has not committed: snapshots up to running-1 and running-2 must be
  /// whole.
  void check_while_running(std::uint64_t running) {
    for (const Snapshot& snapshot : snapshots_) {
      if (running - snapshot.txnid <= 2 && damaged(snapshot)) ++early_;
    }
  }

  void check_after(std::uint64_t committed) {
    for (const Snapshot& snapshot : snapshots_) {
      const std::uint64_t age = committed - snapshot.txnid;
      if (age >= kAges) continue;
      ++checked_[age];
      damaged_[age] += damaged(snapshot) ? 1U : 0U;
    }
  }

  void remember(std::uint64_t txnid) {
    Meta meta;
    if (!tlc::store::newest_meta(pages_, meta) || meta.txnid != txnid) give_up("no meta");
    Snapshot snapshot;
    snapshot.txnid = txnid;
    for (const auto& tree : {meta.free_list, meta.main}) {
      if (tree.root != tlc::store::kEmptyTree) collect(tree.root, tree.depth, snapshot);
    }
    snapshots_.push_back(std::move(snapshot));
    if (snapshots_.size() > kAges) snapshots_.pop_front();
  }

  void add(std::uint64_t number, Snapshot& into) const { into.pages.emplace_back(number, hash(number)); }

  void collect(std::uint64_t number, unsigned height, Snapshot& into) const {
    const bool leaf = height == 1;
    PageBuffer unused;
    TreePage page;
    const std::uint8_t* bytes = pages_.page(number, unused);
    if (bytes == nullptr ||
        !page.open(bytes, pages_.page_size(), number, leaf ? tlc::store::kLeafPage : tlc::store::kBranchPage)) {
      give_up("a page of a committed snapshot is damaged");
    }
    add(number, into);
    for (unsigned position = 0; position < page.nodes; ++position) {
      Node node;
      if (!node.open(page, position, leaf)) give_up("a node of a committed snapshot is damaged");
      if (!leaf) {
        collect(node.child, height - 1, into);
      } else if ((node.flags & tlc::store::kBigDataNode) != 0) {
        const auto first = tlc::store::load<std::uint64_t>(node.data(page));
        const std::uint8_t* header = pages_.page(first, unused);
        const auto run = header == nullptr ? 0 : tlc::store::load<std::uint32_t>(header + 12);
        for (std::uint32_t more = 0; more < run; ++more) add(first + more, into);
      }
    }
  }

  Index index_;
  std::vector<IndexWriter> others_;
  PageSource pages_ = need(PageSource::open(index_.data(), index_.map_size, false));
  std::uint64_t keys_;
  Random random_;
  std::deque<Snapshot> snapshots_;
  std::uint64_t early_ = 0;
  std::uint64_t checked_[kAges] = {};
  std::uint64_t damaged_[kAges] = {};
};

std::uint64_t argument(int argc, char** argv, int position, std::uint64_t otherwise) {
  return argc > position ? std::strtoull(argv[position], nullptr, 10) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  Oracle oracle(argument(argc, argv, 1, 3000), argument(argc, argv, 3, 1));
  oracle.run(argument(argc, argv, 2, 3000));
  return oracle.report() ? 0 : 1;
}
