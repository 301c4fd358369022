// SPDX-License-Identifier: MIT
// A writer of the index torture: random transactions, until it is killed or told to stop. It
// announces what it is about to change, so that its successor can say whether a whole transaction,
// or nothing, was kept.
#pragma once

#include "index_torture_shared.hpp"

namespace tlc::test::torture {

class TortureWriter {
 public:
  TortureWriter(const std::string& path, std::uint64_t seed) : place_(path, true), random_{seed} {
    kp::dice.state = seed * 77;
    // What begin heals is a death between commit and publish: have many.
    if (options.mutation == Mutation::no_prepublish) kp::one_in = 300;
  }

  [[noreturn]] void run() {
    while (shared->stop == 0) {
      if (!writer_) writer_ = std::make_unique<IndexWriter>(place_.open_writer());
      kp::arm = kp::Arm::random;
      transaction();
      if (random_.one_in(300)) writer_.reset();
      if (random_.one_in(8)) kp::nap(2000000);
    }
    _exit(0);
  }

 private:
  void check(const tlc::Result<void>& result) { check(result.ok(), result.ok() ? "" : result.error().message); }
  void check(bool ok, const std::string& message) {
    if (ok) return;
    shared->writer_error++;
    std::fprintf(stderr, "FAILED: writer: %s\n", message.c_str());
    _exit(1);
  }

  std::uint64_t stored_state(std::uint64_t key) {
    IndexRecord record;
    auto answer = writer_->get(make_key(key), record);
    check(answer.ok() && *answer != Lookup::corrupt, "get");
    if (*answer == Lookup::miss) return 0;
    if (!tlc::store::intact(record, make_key(key))) fail(shared->lost, "a writer sees a bad record", key);
    return state_of(record.sequence, true);
  }

  /// Whether the index holds `state` for the key; of a removed key only its absence shows.
  bool holds(std::uint64_t key, std::uint64_t state) { return stored_state(key) == ((state & 1) != 0 ? state : 0); }

  /// A predecessor died: all of its transaction is there, or nothing.
  void resume() {
    const std::uint64_t count = shared->intents;
    bool all = true;
    bool none = true;
    for (std::uint64_t n = 0; n < count; ++n) {
      const Intent& intent = shared->intent[n];
      all = all && holds(intent.key, intent.state);
      none = none && holds(intent.key, shared->last[intent.key]);
    }
    if (!all && !none) fail(shared->torn, "half a transaction is stored", shared->intent[0].key);
    for (std::uint64_t n = 0; n < count; ++n) {
      if (all) shared->last[shared->intent[n].key] = shared->intent[n].state;
      shared->pending[shared->intent[n].key] = 0;
    }
    shared->resumed += count > 0 ? 1U : 0U;
    shared->intents = 0;
  }

  void forget_intents(bool committed) {
    for (std::uint64_t n = 0; n < shared->intents; ++n) {
      const Intent& intent = shared->intent[n];
      if (committed) shared->last[intent.key] = intent.state;
      shared->pending[intent.key] = 0;
    }
    shared->intents = 0;
  }

  void operate(std::uint64_t key) {
    if (shared->pending[key] != 0) return;  // once a transaction
    const bool remove = !permanent(key) && random_.below(5) < 2;
    const std::uint64_t version = ++shared->version;
    const std::uint64_t n = shared->intents;
    shared->intent[n] = {key, state_of(version, !remove)};
    shared->intents = n + 1;
    shared->pending[key] = 1;
    const auto done =
        remove ? writer_->remove(make_key(key)) : writer_->put(make_key(key), make_record(make_key(key), version));
    check(done.ok(), done.ok() ? "" : done.error().message);
    if (kp::dice.one_in(60000)) kp::die();
  }

  void transaction() {
    place_.take();
    const std::uint64_t before = place_.control->txnid;
    check(writer_->begin());
    if (options.mutation == Mutation::no_prepublish) place_.control->txnid = before;
    resume();
    for (unsigned sample = 0; sample < 2; ++sample) {
      const std::uint64_t key = random_.below(options.keys);
      if (!holds(key, shared->last[key])) fail(shared->lost, "a writer does not see the last state", key);
    }
    const std::uint64_t operations = 1 + random_.below(random_.below(4) != 0 ? 8 : kLargestTransaction);
    for (std::uint64_t n = 0; n < operations; ++n) operate(random_.below(options.keys));
    const bool abort = random_.one_in(40);
    if (abort) {
      writer_->abort();
    } else {
      check(writer_->commit());
      if (kp::dice.one_in(2000)) kp::die();
      shared->transactions++;
    }
    forget_intents(!abort);
    place_.give();
  }

  Place place_;
  Random random_;
  std::unique_ptr<IndexWriter> writer_;
};

}  // namespace tlc::test::torture
