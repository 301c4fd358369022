// SPDX-License-Identifier: MIT
// The reader's protocol, step by step: a writer does its worst at the very moment each rule of
// snapshot.hpp is about. Where a rule is weakened the same script must give a wrong answer, else
// the script would prove nothing.
#include "tlc_test.hpp"

#include <functional>

#include "index_support.hpp"
#include "store/index/retry.hpp"
#include "store/index/search.hpp"
#include "store/index/snapshot.hpp"

namespace {

using namespace tlc::test;
using tlc::store::PageSource;
using tlc::store::ReadStep;

/// Does something once, at one step of the reader; can weaken the two checks.
struct Interference {
  ReadStep step;
  std::function<void()> action;
  bool any_meta = false;
  std::uint64_t most_advance = 1;

  void at(ReadStep now) {
    if (now != step || !action) return;
    const std::function<void()> once = std::exchange(action, nullptr);
    once();
  }
  [[nodiscard]] bool accept_meta(std::uint64_t before, std::uint64_t now) const { return any_meta || before == now; }
  [[nodiscard]] bool accept_pages(std::uint64_t before, std::uint64_t now) const {
    return now - before <= most_advance;
  }
};

/// 600 keys of version 1, and a reader's view of them.
struct Scene {
  static constexpr std::uint64_t kKeys = 600;
  Index index;
  PageSource pages = need(PageSource::open(index.data(), index.map_size, false));
  std::uint64_t version = 1;

  Scene() { index.put(0, kKeys, version); }

  /// A transaction that gives every key the next version.
  void commit_all() { index.put(0, kKeys, ++version); }

  struct Answer {
    Lookup lookup;
    bool sound;             // the record is intact
    std::uint64_t version;  // of the record
  };
  Answer read(std::uint64_t number, Interference& hooks) {
    const Digest key = make_key(number);
    IndexRecord record;
    const Lookup lookup = tlc::store::read_once(pages, index.control.get(), hooks, [&](const tlc::store::Meta& meta) {
      return tlc::store::find(pages, meta, key, record, hooks);
    });
    return {lookup, tlc::store::intact(record, key), record.sequence};
  }
};

void undisturbed_is_a_hit(void**) {
  Scene scene;
  Interference none{ReadStep::meta_copied, nullptr};
  const auto answer = scene.read(5, none);
  assert_true(answer.lookup == Lookup::hit && answer.sound);
  assert_u64(answer.version, 1U);
}

// Step 3: any commit between the load of the control word and the check of the meta starts the read
// over.
void commit_during_meta_copy_is_refused(void**) {
  for (const ReadStep step : {ReadStep::meta_half_copied, ReadStep::meta_copied}) {
    for (unsigned commits = 1; commits <= 4; ++commits) {
      Scene scene;
      Interference hooks{step, [&] {
                           for (unsigned count = 0; count < commits; ++count) scene.commit_all();
                         }};
      assert_true(scene.read(5, hooks).lookup == Lookup::busy);
      const auto again = scene.read(5, hooks);
      assert_true(again.lookup == Lookup::hit && again.sound);
      assert_u64(again.version, 1U + commits);
    }
  }
}

// A meta torn by two commits has roots of one snapshot and the id of another. Without step 3 the
// reader takes that for a file at odds with its control word, and the store would discard it.
void torn_meta_would_be_called_stale(void**) {
  for (const bool weak : {true, false}) {
    for (std::uint64_t round = 0; round < 20; ++round) {
      Scene scene;
      Interference hooks{ReadStep::meta_half_copied, [&] {
                           scene.commit_all();
                           scene.commit_all();
                         }};
      hooks.any_meta = weak;
      assert_true(scene.read(round, hooks).lookup == (weak ? Lookup::stale : Lookup::busy));
    }
  }
}

// Step 5, what it allows: one transaction more, committed or not, and the next one not begun.
void one_transaction_later_is_accepted(void**) {
  for (const ReadStep step : {ReadStep::page_opened, ReadStep::record_found}) {
    Scene scene;
    Interference hooks{step, [&] { scene.commit_all(); }};
    const auto committed = scene.read(5, hooks);
    assert_true(committed.lookup == Lookup::hit && committed.sound);
    assert_u64(committed.version, 1U);  // its own snapshot, not the newer one

    // The second transaction has begun, has written all its pages early, but c+3 has not begun.
    Scene second;
    Interference later{step, [&] {
                         second.commit_all();
                         need(second.index.writer->begin());
                         need(second.index.writer->put(make_key(5), make_record(make_key(5), 99)));
                       }};
    const auto begun = second.read(5, later);
    assert_true(begun.lookup == Lookup::hit && begun.sound);
    assert_u64(begun.version, 1U);
    second.index.writer->abort();
  }
}

// Step 5, what it refuses: a second commit, and a third transaction.
void two_transactions_later_is_refused(void**) {
  for (const ReadStep step : {ReadStep::page_opened, ReadStep::record_found}) {
    for (unsigned commits = 2; commits <= 5; ++commits) {
      Scene scene;
      Interference hooks{step, [&] {
                           for (unsigned count = 0; count < commits; ++count) scene.commit_all();
                         }};
      assert_true(scene.read(5, hooks).lookup == Lookup::busy);
    }
  }
}

// Three commits later the pages of the snapshot are in use for something else. Without step 5 the
// reader sees that.
void reused_pages_would_be_believed(void**) {
  unsigned wrong = 0;
  for (const bool weak : {true, false}) {
    for (std::uint64_t number = 0; number < 60; ++number) {
      Scene scene;
      Interference hooks{ReadStep::record_found, [&] {
                           for (unsigned count = 0; count < 4; ++count) scene.commit_all();
                         }};
      if (weak) hooks.most_advance = 1000;
      const auto answer = scene.read(number, hooks);
      if (weak) {
        wrong += answer.lookup != Lookup::hit || !answer.sound || answer.version != 1 ? 1U : 0U;
      } else {
        assert_true(answer.lookup == Lookup::busy);
      }
    }
  }
  assert_true_msg(wrong > 20, "only %u of 60 reads of reused pages were wrong", wrong);
}

// begin publishes before the first write: a transaction that aborts, or dies, has lapped the
// readers just as well.
void begin_publishes_before_it_writes(void**) {
  Scene scene;
  const std::uint64_t committed = scene.index.control->txnid;
  need(scene.index.writer->begin());
  assert_u64(scene.index.writer->txnid(), committed + 1);
  assert_u64(scene.index.control->txnid, committed);
  // As if the writer before had died between its commit and its publish:
  scene.index.writer->abort();
  scene.index.control->txnid = committed - 1;
  Interference hooks{ReadStep::record_found, nullptr};
  const auto behind = scene.read(5, hooks);
  assert_true(behind.lookup == Lookup::miss);  // the state before: empty
  need(scene.index.writer->begin());
  assert_u64(scene.index.control->txnid, committed);
  assert_true(scene.read(5, hooks).lookup == Lookup::hit);
  scene.index.writer->abort();
}

void control_that_goes_back_is_refused(void**) {
  Scene scene;
  scene.commit_all();
  Interference hooks{ReadStep::record_found, [&] { scene.index.control->txnid -= 1; }};
  assert_true(scene.read(5, hooks).lookup == Lookup::busy);
}

void control_of_another_file_is_stale(void**) {
  Scene scene;
  const std::uint64_t right = scene.index.control->txnid;
  const IndexReader reader = scene.index.reader();
  IndexRecord record;
  for (const std::uint64_t wrong : {right + 1, right + 2, right + 1000, right - 2, std::uint64_t{0}}) {
    if (wrong == right - 1) continue;
    scene.index.control->txnid = wrong;
    assert_true(reader.get(make_key(5), record) == Lookup::stale);
    assert_u64(reader.entries(), 0U);
    assert_true(reader.for_each([](const Digest&, const IndexRecord&) { return true; }) == Lookup::stale);
  }
  scene.index.open();  // a writer that opens the index ends it
  assert_u64(scene.index.control->txnid, right);
  assert_true(reader.get(make_key(5), record) == Lookup::hit);
}

/// Commits at every walk: no walk can be accepted.
struct AlwaysLapped {
  Scene* scene;
  unsigned walks = 0;
  void at(ReadStep step) {
    if (step != ReadStep::meta_copied) return;
    ++walks;
    scene->commit_all();
  }
  static bool accept_meta(std::uint64_t before, std::uint64_t now) { return before == now; }
  static bool accept_pages(std::uint64_t before, std::uint64_t now) { return now - before <= 1; }
};

void endless_overtaking_ends_as_busy(void**) {
  Scene scene;
  AlwaysLapped hooks{&scene};
  const Lookup answer = tlc::store::read_snapshot(scene.pages, scene.index.control.get(), hooks,
                                                  [](const tlc::store::Meta&) { return Lookup::hit; });
  assert_true(answer == Lookup::busy);
  assert_u64(hooks.walks, tlc::store::kMaxWalks);
}

// What a damaged page made a lapped reader believe is forgotten with the rest.
void error_of_a_lapped_walk_is_no_error(void**) {
  Scene scene;
  Interference hooks{ReadStep::record_found, nullptr};
  const Lookup answer =
      tlc::store::read_once(scene.pages, scene.index.control.get(), hooks, [&](const tlc::store::Meta&) {
        scene.commit_all();
        scene.commit_all();
        return Lookup::corrupt;
      });
  assert_true(answer == Lookup::busy);
}

}  // namespace

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(undisturbed_is_a_hit),
      cmocka_unit_test(commit_during_meta_copy_is_refused),
      cmocka_unit_test(torn_meta_would_be_called_stale),
      cmocka_unit_test(one_transaction_later_is_accepted),
      cmocka_unit_test(two_transactions_later_is_refused),
      cmocka_unit_test(reused_pages_would_be_believed),
      cmocka_unit_test(begin_publishes_before_it_writes),
      cmocka_unit_test(control_that_goes_back_is_refused),
      cmocka_unit_test(control_of_another_file_is_stale),
      cmocka_unit_test(endless_overtaking_ends_as_busy),
      cmocka_unit_test(error_of_a_lapped_walk_is_no_error),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
