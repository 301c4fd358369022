// SPDX-License-Identifier: MIT
// The reader's protocol: how to read a snapshot when writers do not know that it is being read.
//
// What liblmdb 0.9.24 to 0.9.35 does under MDB_NOLOCK (mdb_page_alloc, `oldest = txnid - 1`):
//   Transaction N takes free pages only from free-list records of transactions <= N-2. Record F
//   lists pages that snapshots up to F-1 used and F no longer does. So N overwrites pages of
//   snapshots <= N-3 only: snapshot T is whole until transaction T+3 writes. The meta page of T
//   (page T & 1) is rewritten earlier: by T+2, at its commit.
//   tests/stress/index_oracle measures this of the liblmdb that is linked; the bound is tight.
//
// What a writer does, under the write lock (writer.cpp):
//   In transaction N it stores control = N-1 before its first write, then a full fence; after the
//   commit it stores control = N. So if control <= n is loaded after some bytes, no transaction
//   > n+1 had begun to write when those bytes were loaded.
//
// What a reader does, and why that is enough:
//   1. c := control (acquire).
//   2. Copy meta page c & 1.
//   3. Acquire fence; control must still be c, else start over.
//      Proof: c+2 had not begun to write, and after c it is the next to write this page. So the
//      copy is not torn, and it is c's own. If its id is another, file and control disagree
//      (stale); if it is no meta of ours, the page is damaged (corrupt).
//   4. Walk the tree from the root that was copied; copy out what is wanted. All bytes are suspect:
//      every offset is checked (page.hpp), every loop is bounded (search.hpp).
//   5. Acquire fence; control must be c or c+1, else start over and forget what was seen, errors
//      too.
//      Proof: c+3 had not begun to write, so every page of snapshot c was whole: all that was
//      copied is of snapshot c. The difference is unsigned, so a control that went back is refused.
//
// What a caller may rely on: nobody sees a state older than one that he, or whoever told him, has
// seen published. A writer that dies between commit and publish leaves control one behind until the
// next begin or open: readers then see the state before, which is still whole, and nobody was told
// of the newer one.
//
// Hooks are for the tests: they stop the reader at each step, and weaken steps 3 and 5 to show that
// the tests notice. The library instantiates NoHooks only, which leaves no trace in its code.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "store/index/control_word.hpp"
#include "store/index/lookup.hpp"
#include "store/index/page.hpp"
#include "store/index/page_source.hpp"

namespace tlc::store {

enum class ReadStep { meta_half_copied, meta_copied, page_opened, record_found };

struct NoHooks {
  static void at(ReadStep) {}
  /// Step 3: whether the meta copied while control went from `before` to `now` may be used.
  static bool accept_meta(std::uint64_t before, std::uint64_t now) { return before == now; }
  /// Step 5: whether what was copied since control was `before` may be used.
  static bool accept_pages(std::uint64_t before, std::uint64_t now) { return now - before <= 1; }
};

/// Copies the meta page of `slot`; false if it is none of ours.
template <class Hooks>
bool copy_meta(const PageSource& pages, unsigned slot, Meta& meta, Hooks& hooks) {
  constexpr std::size_t kHalf = 120;  // where the test stops between roots and txnid
  PageBuffer buffer;
  const std::uint8_t* page = pages.page(slot, buffer);
  if (page == nullptr) return false;
  auto* into = reinterpret_cast<std::uint8_t*>(&meta);
  std::memcpy(into, page + kPageHeaderSize, kHalf);
  hooks.at(ReadStep::meta_half_copied);
  std::memcpy(into + kHalf, page + kPageHeaderSize + kHalf, sizeof meta - kHalf);
  return load<std::uint64_t>(page) == slot && load16(page + 10) == kMetaPage && acceptable(meta, slot, pages);
}

/// The newest meta of a file that nobody writes.
inline bool newest_meta(const PageSource& pages, Meta& meta) {
  NoHooks none;
  Meta other;
  if (!copy_meta(pages, 0, meta, none) || !copy_meta(pages, 1, other, none)) return false;
  if (meta.txnid < other.txnid) meta = other;
  return true;
}

/// Steps 1 to 5, once. `walk(meta)` is step 4: it answers hit, miss or corrupt. busy: start over.
template <class Hooks, class Walk>
Lookup read_once(const PageSource& pages, const IndexControl* control, Hooks& hooks, Walk&& walk) {
  Meta meta;
  if (control == nullptr) return newest_meta(pages, meta) ? walk(meta) : Lookup::corrupt;

  const std::uint64_t before = control->txnid.load(std::memory_order_acquire);
  const bool is_meta = copy_meta(pages, static_cast<unsigned>(before & 1), meta, hooks);
  hooks.at(ReadStep::meta_copied);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (!hooks.accept_meta(before, control->txnid.load(std::memory_order_relaxed))) {
    return Lookup::busy;
  }
  if (!is_meta) return Lookup::corrupt;
  if (meta.txnid != before) return Lookup::stale;

  const Lookup found = walk(meta);
  std::atomic_thread_fence(std::memory_order_acquire);
  const std::uint64_t after = control->txnid.load(std::memory_order_relaxed);
  return hooks.accept_pages(before, after) ? found : Lookup::busy;
}

}  // namespace tlc::store
