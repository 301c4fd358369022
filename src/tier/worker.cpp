// SPDX-License-Identifier: MIT
#include "tier/worker.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace tlc::tier {
namespace {

constexpr std::uint64_t kStuckNs = 15ULL * 1'000'000'000;  // of background work, longer than a put may take

/// Blocks all signals of this thread, which a new one inherits.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_{};
};

constexpr std::uint64_t kAfterFaultNs = 5ULL * 1'000'000'000;

/// What is thrown here (there is no memory, say) must not end the program: who waits finds no answer.
template <typename Work>
void guarded(const Work& work) {
  try {
    work();
  } catch (...) {  // NOLINT(bugprone-empty-catch): see above
  }
}

std::chrono::nanoseconds nap(std::uint64_t ns) {
  return std::chrono::nanoseconds(std::min<std::uint64_t>(ns, 60ULL * 1'000'000'000));
}

}  // namespace

bool Worker::start_thread() {
  if (running_) return true;
  if (thread_.joinable()) thread_.join();
  const BlockSignals blocked;
  try {
    thread_ = std::thread([self = shared_from_this(), turn = ++turn_] { self->main(turn); });
  } catch (const std::system_error&) {
    return false;  // no thread can be had: as if the remotes did not answer
  }
  running_ = true;
  return true;
}

// The thread finds that its turn is over when it comes back.
void Worker::leave_behind() {
  ++turn_;
  running_ = false;
  background_since_ = 0;
  if (thread_.joinable()) thread_.detach();
  to_do_.notify_all();
}

void Worker::main(std::uint64_t turn) {
  std::unique_lock lock(mutex_);
  const auto due = [&] { return background_at_ <= port::monotonic_ns(); };
  while (turn == turn_) {
    if (!jobs_.empty()) {
      const std::shared_ptr<Job> job = std::move(jobs_.front());
      jobs_.pop_front();
      job->started = true;
      lock.unlock();
      guarded(job->task);
      lock.lock();
      job->done = true;
      done_.notify_all();
    } else if (due() && (!stopping_ || port::monotonic_ns() < stop_at_)) {
      background_at_ = kNever;
      background_since_ = port::monotonic_ns();
      lock.unlock();
      std::uint64_t again = kAfterFaultNs;
      guarded([&] { again = background_(); });
      lock.lock();
      if (turn != turn_) break;
      background_since_ = 0;
      if (again != kNever) background_at_ = std::min(background_at_, port::monotonic_ns() + again);
    } else if (stopping_) {
      break;
    } else {
      const std::uint64_t now = port::monotonic_ns();
      to_do_.wait_for(lock, nap(background_at_ > now ? background_at_ - now : 0));
    }
  }
  if (turn != turn_) return;
  if (const auto last = std::move(last_)) {
    lock.unlock();
    guarded(last);
    lock.lock();
    if (turn != turn_) return;
  }
  running_ = false;
  done_.notify_all();
}

Worker::Outcome Worker::run(std::function<void()> task, port::Deadline deadline) {
  const auto job = std::make_shared<Job>();
  job->task = std::move(task);
  std::unique_lock lock(mutex_);
  if (stopping_) return Outcome::none;
  if (background_since_ != 0 && port::monotonic_ns() - background_since_ > kStuckNs) leave_behind();
  if (!start_thread()) return Outcome::none;
  jobs_.push_back(job);
  to_do_.notify_one();
  const std::uint64_t turn = turn_;
  while (!job->done) {
    const std::uint64_t left = deadline.remaining_ns();
    if (left == 0) break;
    done_.wait_for(lock, nap(left));
  }
  if (job->done) return Outcome::done;
  if (!job->started)
    std::erase(jobs_, job);
  else if (turn == turn_)
    leave_behind();
  return Outcome::late;
}

void Worker::wake(std::uint64_t in_ns) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || !start_thread()) return;
  background_at_ = std::min(background_at_, port::monotonic_ns() + in_ns);
  to_do_.notify_one();
}

void Worker::stop(port::Deadline deadline, std::function<void()> last) {
  std::unique_lock lock(mutex_);
  if (stopping_) return;
  stopping_ = true;
  if (!running_) {
    if (thread_.joinable()) thread_.join();
    return;
  }
  last_ = std::move(last);
  stop_at_ = deadline.at_ns;
  if (background_at_ != kNever) background_at_ = port::monotonic_ns();
  to_do_.notify_all();
  while (running_) {
    const std::uint64_t left = deadline.remaining_ns();
    if (left == 0) break;
    done_.wait_for(lock, nap(left));
  }
  if (running_) {
    leave_behind();
    return;
  }
  lock.unlock();
  if (thread_.joinable()) thread_.join();
}

}  // namespace tlc::tier
