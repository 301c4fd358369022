// SPDX-License-Identifier: MIT
#include "tier/remote.hpp"

#include <algorithm>
#include <utility>

#include "port/clock.hpp"

namespace tlc::tier {
namespace {

constexpr std::uint64_t kFirstRestNs = 1'000'000'000;
constexpr std::uint64_t kLongestRestNs = 300ULL * 1'000'000'000;
constexpr std::int64_t kPutTimeoutMs = 10'000;
constexpr unsigned kMostDoublings = 10;

/// Answers that say nothing against the remote.
bool is_answer(tlc_status status) {
  return status == TLC_OK || status == TLC_MISS || status == TLC_TOO_LARGE;
}

}  // namespace

/// The right to call slots; false if a slot is running.
class Remote::Calling {
 public:
  explicit Calling(Remote& remote) : remote_(remote), mine_(!remote.calling_.exchange(true)) {}
  ~Calling() {
    if (mine_) remote_.calling_.store(false);
  }
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;
  explicit operator bool() const { return mine_; }

 private:
  Remote& remote_;
  bool mine_;
};

bool Remote::available() {
  const bool free = rest_ns() == 0;
  const std::lock_guard lock(mutex_);
  if (!free) ++counts_.skipped;
  return free;
}

std::uint64_t Remote::rest_ns(bool to_write) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now = port::monotonic_ns();
  const std::uint64_t until = std::max(reads_.closed_at, to_write ? writes_.closed_at : 0);
  if (until > now) return until - now;
  return calling_.load() && reads_.failures != 0 ? kFirstRestNs : 0;
}

void Remote::succeeded(bool writing) {
  const std::lock_guard lock(mutex_);
  if (reads_.failures + (writing ? writes_.failures : 0) != 0)
    log_(TLC_LOG_INFO, "remote", "the remote " + url_.shown() + " answers again");
  reads_ = {};
  if (writing) writes_ = {};
  if (writes_.failures != 0) return;
  last_status_ = TLC_OK;
  last_reason_.clear();
}

void Remote::failed(const Error& error, bool writing) {
  const std::lock_guard lock(mutex_);
  Breaker& breaker = writing ? writes_ : reads_;
  ++counts_.errors;
  last_status_ = error.status;
  last_reason_ = error.message;
  const std::uint64_t rest = std::min(kFirstRestNs << std::min(breaker.failures, kMostDoublings), kLongestRestNs);
  breaker.closed_at = port::monotonic_ns() + rest;
  if (breaker.failures++ == 0)
    log_(TLC_LOG_WARN, "remote",
         "the remote " + url_.shown() + (writing ? " is not written to" : " is left alone") +
             " for a while: " + error.message);
}

void Remote::late() {
  failed(make_error(TLC_TIMEOUT, "it did not answer within " + std::to_string(url_.timeout_ms) + " ms"));
}

void Remote::note_hit(bool usable, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (usable) {
    ++counts_.hits;
    return;
  }
  ++counts_.errors;
  last_reason_ = reason;
  if (counts_.errors == 1) log_(TLC_LOG_WARN, "remote", "the remote " + url_.shown() + ": " + reason);
}

Result<void> Remote::open() {
  const Calling calling(*this);
  if (!calling) return make_error(TLC_E_BUSY, "an earlier call of the remote has not come back");
  if (opened_.load()) return {};
  const Result<std::shared_ptr<const Kind>> kind = process_kinds(host_).find(url_.scheme);
  Result<void*> state = kind ? (*kind)->open(url_.url) : Result<void*>(kind.error());
  if (!state) {
    failed(state.error());
    return std::move(state).error();
  }
  kind_ = *kind;
  state_ = *state;
  opened_.store(true);
  const std::lock_guard lock(mutex_);
  writable_ = writable();
  name_ = kind_->name();
  return {};
}

template <typename T>
T Remote::settle(T done, std::uint64_t started_ns, std::int64_t timeout_ms, bool writing) {
  const std::uint64_t took_ms = (port::monotonic_ns() - started_ns) / 1'000'000;
  if (!done && !is_answer(done.error().status))
    failed(done.error(), writing);
  else if (took_ms <= static_cast<std::uint64_t>(timeout_ms))
    succeeded(writing);
  // else: who waited for it has said that it was late, or the next who waits will
  return done;
}

Result<std::vector<std::uint8_t>> Remote::get(const trust::Digest& digest, std::uint64_t cap) {
  if (Result<void> ready = open(); !ready) return std::move(ready).error();
  const Calling calling(*this);
  if (!calling) return make_error(TLC_E_BUSY, "an earlier call of the remote has not come back");
  {
    const std::lock_guard lock(mutex_);
    ++counts_.gets;
  }
  const std::uint64_t start = port::monotonic_ns();
  return settle(kind_->get(state_, digest, cap, url_.timeout_ms), start, url_.timeout_ms, false);
}

Result<void> Remote::put(std::span<const Item> items) {
  if (Result<void> ready = open(); !ready) return ready;
  const Calling calling(*this);
  if (!calling) return make_error(TLC_E_BUSY, "an earlier call of the remote has not come back");
  const std::uint64_t start = port::monotonic_ns();
  Result<void> done = settle(kind_->put(state_, items, kPutTimeoutMs), start, kPutTimeoutMs, true);
  const std::lock_guard lock(mutex_);
  if (done) counts_.puts += items.size();
  return done;
}

void Remote::shut() {
  const Calling calling(*this);
  if (!calling || !opened_.exchange(false)) return;
  kind_->close(state_);
  state_ = nullptr;
}

RemoteReport Remote::report() {
  const std::uint64_t rest = rest_ns(true);
  const std::lock_guard lock(mutex_);
  RemoteReport report = counts_;
  report.url = url_.shown();
  report.origin = url_.origin;
  report.name = name_.empty() ? url_.scheme : name_;
  report.writable = writable_;
  report.reason = last_reason_;
  report.retry_ms = rest / 1'000'000;
  const bool refused = last_status_ == TLC_E_DENIED || last_status_ == TLC_E_NOT_FOUND || last_status_ == TLC_E_INVALID;
  const bool failing = reads_.failures + writes_.failures != 0;
  report.state = refused ? "refused" : failing ? "failing" : opened_.load() ? "ready" : "not asked";
  return report;
}

}  // namespace tlc::tier
