// SPDX-License-Identifier: MIT
#include "cache/flight.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tlc::cache {
namespace {

// A token is triggered from anywhere, signal handlers too, and so cannot wake a sleeper: it is looked at this often.
constexpr std::uint64_t kLookNs = 10'000'000;

}  // namespace

Flight::Wait Flight::wait(port::Deadline deadline, const tlc_cancel* cancel) {
  std::unique_lock lock(mutex_);
  while (!landed_) {
    if (is_cancelled(cancel)) return Wait::cancelled;
    const std::uint64_t left = deadline.remaining_ns();
    if (left == 0) return Wait::timeout;
    const std::uint64_t nap =
        cancel == nullptr ? std::min<std::uint64_t>(left, 1'000'000'000) : std::min(left, kLookNs);
    changed_.wait_for(lock, std::chrono::nanoseconds(nap));
  }
  return Wait::landed;
}

Flights::Boarding Flights::board(const trust::Digest& key) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Flight>& place = flights_[key];
  if (place != nullptr) return {place, false};
  place = std::make_shared<Flight>(std::this_thread::get_id());
  return {place, true};
}

void Flights::land(const trust::Digest& key, const std::shared_ptr<Flight>& flight, tlc_status status,
                   std::string message) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = flights_.find(key);
    if (found != flights_.end() && found->second == flight) flights_.erase(found);
  }
  const std::lock_guard lock(flight->mutex_);
  flight->landed_ = true;
  // Whose compile was cancelled has not failed: the next one compiles.
  flight->status_ = status < 0 && status != TLC_E_CANCELLED ? status : tlc_status{TLC_OK};
  flight->message_ = std::move(message);
  flight->changed_.notify_all();
}

}  // namespace tlc::cache
