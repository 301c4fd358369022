// SPDX-License-Identifier: MIT
// Flights: which keys this process is compiling, so that its other threads wait for one compile. Caches that are open
// on the same store share one object: they share the open files of its compile locks too, which do not exclude each
// other.
//
// The thread that takes off holds the key's compile lock, or is waiting for the process that does; the others wait for
// its landing. A failure is passed on to those who waited.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "port/clock.hpp"
#include "tlcache/tlcache.h"
#include "trust/digest.hpp"

/// The public token: triggered once, for ever.
struct tlc_cancel {
  std::atomic<bool> triggered{false};
  std::atomic<std::uint32_t> references{1};
};

namespace tlc::cache {

[[nodiscard]] inline bool is_cancelled(const tlc_cancel* cancel) {
  return cancel != nullptr && cancel->triggered.load(std::memory_order_relaxed);
}

class Flight {
 public:
  explicit Flight(std::thread::id pilot) : pilot_(pilot) {}

  enum class Wait : std::uint8_t { landed, timeout, cancelled };
  Wait wait(port::Deadline deadline, const tlc_cancel* cancel);

  [[nodiscard]] bool mine() const { return pilot_ == std::this_thread::get_id(); }
  /// After landing: a negative status with which it failed, else TLC_OK.
  [[nodiscard]] tlc_status status() const { return status_; }
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  friend class Flights;
  std::thread::id pilot_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool landed_ = false;
  tlc_status status_ = TLC_OK;
  std::string message_;
};

class Flights {
 public:
  struct Boarding {
    std::shared_ptr<Flight> flight;
    bool took_off = false;  ///< it is the caller's to land
  };
  /// The key's flight: one under way, or a new one.
  Boarding board(const trust::Digest& key);
  void land(const trust::Digest& key, const std::shared_ptr<Flight>& flight, tlc_status status = TLC_OK,
            std::string message = {});

 private:
  std::mutex mutex_;
  std::unordered_map<trust::Digest, std::shared_ptr<Flight>, trust::DigestHash> flights_;
};

}  // namespace tlc::cache
