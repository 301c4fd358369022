// SPDX-License-Identifier: MIT
// The queue in the store, and the thread that empties it.
#include <fcntl.h>

#include <atomic>
#include <string>
#include <thread>

#include "port/file.hpp"
#include "scratch.hpp"
#include "tier/outbox.hpp"
#include "tier/worker.hpp"
#include "tlc_test.hpp"

using namespace tlc;        // NOLINT
using namespace tlc::tier;  // NOLINT
using tlc::test::Scratch;

namespace {

trust::Digest digest_of(std::uint32_t number) {
  trust::Digest digest;
  for (std::size_t i = 0; i < 4; ++i) digest.bytes[i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
  return digest;
}

std::unique_ptr<Outbox> open_outbox(const Scratch& scratch, const char* id = "0123456789abcdef") {
  const auto dir = port::open_at(AT_FDCWD, scratch.path().c_str(), O_RDONLY | O_DIRECTORY);
  auto made = Outbox::open(dir->get(), id);
  assert_true_msg(made.ok(), "%s", made.error().message.c_str());
  return std::move(*made);
}

void test_what_is_noted_is_pending_until_it_is_done(void**) {
  const Scratch scratch;
  auto one = open_outbox(scratch);
  assert_true(one->note(digest_of(1), Outbox::Op::put).ok());
  assert_true(one->note(digest_of(1), Outbox::Op::remove).ok());
  assert_true(one->note(digest_of(2), Outbox::Op::put).ok());
  assert_u64(one->size(), 2U);
  assert_true(one->has(digest_of(1)) && !one->has(digest_of(3)));
  const Outbox::Wanted first = one->begin(digest_of(1));
  assert_true(first.anything && first.replace && first.remove);
  assert_true(one->has(digest_of(1)));
  // Noted again while it is being written: it is pending when that is done.
  assert_true(one->note(digest_of(1), Outbox::Op::put).ok());
  one->end(digest_of(1));
  assert_u64(one->size(), 2U);
  const Outbox::Wanted again = one->begin(digest_of(1));
  assert_true(again.anything && !again.replace && !again.remove);
  // A process that dies here leaves it to the next.
  auto next = open_outbox(scratch);
  assert_u64(next->size(), 2U);
  assert_true(next->begin(digest_of(1)).anything);
  next->end(digest_of(1));
  assert_true(next->begin(digest_of(2)).anything);
  next->end(digest_of(2));
  assert_u64(next->size(), 0U);
  assert_false(next->begin(digest_of(2)).anything);
  assert_u64(open_outbox(scratch, "fedcba9876543210")->size(), 0U);
}

void test_one_writes_at_a_time(void**) {
  const Scratch scratch;
  auto one = open_outbox(scratch);
  auto other = open_outbox(scratch);
  assert_true(*one->try_lock());
  assert_false(*other->try_lock());
  one->unlock();
  assert_true(*other->try_lock());
}

void test_it_is_bounded(void**) {
  const Scratch scratch;
  auto one = open_outbox(scratch);
  for (std::uint32_t i = 0; i < Outbox::kMost; ++i) assert_true(one->note(digest_of(i), Outbox::Op::put).ok());
  const auto full = one->note(digest_of(1U << 30), Outbox::Op::put);
  assert_true(!full && full.error().status == TLC_NOT_STORED);
  (void)one->begin(digest_of(0));
  one->end(digest_of(0));
  assert_true(one->note(digest_of(1U << 30), Outbox::Op::put).ok());
}

void test_queues_that_nobody_uses_go(void**) {
  const Scratch scratch;
  assert_true(open_outbox(scratch, "old")->note(digest_of(1), Outbox::Op::put).ok());
  assert_true(open_outbox(scratch, "young")->note(digest_of(1), Outbox::Op::put).ok());
  std::filesystem::last_write_time(scratch.path("outbox/old"),
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(31 * 24));
  (void)open_outbox(scratch);
  assert_false(std::filesystem::exists(scratch.path("outbox/old")));
  assert_true(std::filesystem::exists(scratch.path("outbox/young")));
}

void test_the_thread(void**) {
  std::atomic<int> rounds{0};
  std::atomic<bool> last{false};
  const auto worker = std::make_shared<Worker>([&]() -> std::uint64_t { return ++rounds < 3 ? 0 : Worker::kNever; });
  const std::thread::id here = std::this_thread::get_id();
  std::thread::id there = here;
  assert_true(worker->run([&] { there = std::this_thread::get_id(); }, port::Deadline::never()) ==
              Worker::Outcome::done);
  assert_true(there != here);
  worker->wake(Worker::kNever / 4);  // far away, but closing does what there is to do
  worker->stop(port::Deadline::never(), [&] { last = true; });
  assert_int_equal(rounds.load(), 3);
  assert_true(last.load());
  assert_true(worker->run([] {}, port::Deadline::never()) == Worker::Outcome::none);
}

void test_a_task_that_hangs_is_left_behind(void**) {
  const auto worker = std::make_shared<Worker>([] { return Worker::kNever; });
  const auto may_end = std::make_shared<std::atomic<bool>>(false);
  const auto ended = std::make_shared<std::atomic<bool>>(false);
  const auto hang = [may_end, ended] {
    while (!*may_end) std::this_thread::yield();
    *ended = true;
  };
  assert_true(worker->run(hang, port::Deadline::after_ms(20)) == Worker::Outcome::late);
  bool ran = false;
  assert_true(worker->run([&] { ran = true; }, port::Deadline::never()) == Worker::Outcome::done);
  assert_true(ran);
  assert_true(worker->run(hang, port::Deadline::after_ms(20)) == Worker::Outcome::late);
  worker->stop(port::Deadline::after_ms(20), [] {});
  assert_false(ended->load());
  *may_end = true;
  while (!*ended) std::this_thread::yield();
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_noted_is_pending_until_it_is_done),
      cmocka_unit_test(test_one_writes_at_a_time),
      cmocka_unit_test(test_it_is_bounded),
      cmocka_unit_test(test_queues_that_nobody_uses_go),
      cmocka_unit_test(test_the_thread),
      cmocka_unit_test(test_a_task_that_hangs_is_left_behind),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
