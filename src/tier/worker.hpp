// SPDX-License-Identifier: MIT
// Worker: the library's one thread. It runs what callers wait for and, between that, work of its own.
//
// The thread is started by the first thing there is to do, with all signals blocked. Who waits does so until a
// deadline. If the thread is then still at it (a slot hangs in a system call, say), it is left behind: it ends when it
// comes back, what it runs keeps alive all it touches, and the next thing to do starts another thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "port/clock.hpp"

namespace tlc::tier {

class Worker : public std::enable_shared_from_this<Worker> {
 public:
  static constexpr std::uint64_t kNever = port::Deadline::kNever;
  /// Does a part of the background work; answers in how many nanoseconds it wants to be called again, kNever: when
  /// woken.
  using Background = std::function<std::uint64_t()>;

  explicit Worker(Background background) : background_(std::move(background)) {}

  enum class Outcome : std::uint8_t { done, late, none };
  /// Runs `task` on the thread and waits for it. late: it may still be running, or never run. none: there is no thread
  /// and none could be started, or it was stopped.
  Outcome run(std::function<void()> task, port::Deadline deadline);
  /// The background work has something to do in this many nanoseconds.
  void wake(std::uint64_t in_ns);
  /// Lets the background work go on until it has nothing to do at once, then runs `last` on the thread and ends it. At
  /// the deadline the thread is left behind.
  void stop(port::Deadline deadline, std::function<void()> last);

 private:
  struct Job {
    std::function<void()> task;
    bool started = false, done = false;
  };
  bool start_thread();
  void leave_behind();
  void main(std::uint64_t turn);

  const Background background_;
  std::mutex mutex_;
  std::condition_variable to_do_;
  std::condition_variable done_;
  std::deque<std::shared_ptr<Job>> jobs_;
  std::thread thread_;
  std::uint64_t turn_ = 0;  // of the thread that counts; others end
  bool running_ = false;    // that thread has not ended
  std::uint64_t background_at_ = kNever;
  std::uint64_t background_since_ = 0;  // when it began, 0: it is not at it
  bool stopping_ = false;
  std::uint64_t stop_at_ = 0;
  std::function<void()> last_;
};

}  // namespace tlc::tier
