// SPDX-License-Identifier: MIT
// What a backend adds to tlcache-worker: a source file that is linked into it defines one WorkerHandler, and is then
// given the tasks of its name. The worker itself knows no backend.
#pragma once

#include <functional>
#include <string_view>

namespace tlcb {

class WorkerHandler {
 public:
  /// Sends one answer; there may be several, in an order that means something.
  using Answer = std::function<void(std::string_view)>;
  using Run = void (*)(std::string_view body, const Answer& answer);

  WorkerHandler(const char* name, Run task) noexcept : name_(name), run_(task), next_(first) { first = this; }
  WorkerHandler(const WorkerHandler&) = delete;
  WorkerHandler& operator=(const WorkerHandler&) = delete;

  /// NULL where this worker was built without it.
  [[nodiscard]] static const WorkerHandler* find(std::string_view name) {
    const WorkerHandler* one = first;
    while (one != nullptr && name != one->name_) one = one->next_;
    return one;
  }
  void run(std::string_view body, const Answer& answer) const { run_(body, answer); }

 private:
  static inline const WorkerHandler* first = nullptr;

  const char* name_;
  Run run_;
  const WorkerHandler* next_;
};

}  // namespace tlcb
