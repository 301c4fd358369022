// SPDX-License-Identifier: MIT
// What is opened by the first call that needs it, and looked for again by every call as long as it is not there.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "support/failure.hpp"

namespace tlcb {

template <typename T>
class FoundOnce {
 public:
  explicit FoundOnce(std::unique_ptr<T> (*open)()) : open_(open) {}

  /// Throws what opening it throws: Failure, with the reason.
  [[nodiscard]] T& get() {
    const std::scoped_lock lock(mutex_);
    if (found_ == nullptr) found_ = open_();
    return *found_;
  }

  /// NULL, and the reason, where get() would throw.
  [[nodiscard]] T* try_get(std::string* reason = nullptr) {
    try {
      return &get();
    } catch (const Failure& failure) {
      if (reason != nullptr) *reason = failure.what();
      return nullptr;
    }
  }

 private:
  std::unique_ptr<T> (*open_)();
  std::mutex mutex_;
  std::unique_ptr<T> found_;
};

}  // namespace tlcb
