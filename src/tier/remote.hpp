// SPDX-License-Identifier: MIT
// Remote: one remote of a cache: its state, what it may be sent, and the circuit breaker before it.
//
// get and put run on the client's thread; the rest on any. A call that fails or is late opens the breaker: the remote
// is left alone for a second, doubling with each failure in a row up to five minutes; then one call may try. While a
// slot has not come back, the remote counts as gone, whatever the breaker says: no two slots ever run on one state.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "port/result.hpp"
#include "tier/kinds.hpp"
#include "tier/url.hpp"

namespace tlc::tier {

using LogFn = void (*)(std::int32_t level, std::string_view component, std::string_view message);

/// What a cache says of one of its remotes; the numbers are this process's.
struct RemoteReport {
  std::string url, origin, name;
  std::string state;   ///< "ready", "not asked", "failing", "refused"
  std::string reason;  ///< of the last failure
  bool writable = false;
  std::uint64_t gets = 0, hits = 0, puts = 0, errors = 0, skipped = 0, queued = 0, retry_ms = 0;
};

class Remote {
 public:
  Remote(RemoteUrl url, const tlc_host_api* host, LogFn log) : url_(std::move(url)), host_(host), log_(log) {}
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;
  ~Remote() { shut(); }

  [[nodiscard]] const RemoteUrl& url() const { return url_; }
  /// Whether it may be called now; if not, counts that it was skipped.
  [[nodiscard]] bool available();
  /// Nanoseconds until it may be called; 0: now.
  [[nodiscard]] std::uint64_t rest_ns(bool to_write = false);
  /// A caller waited in vain.
  void late();
  /// The caller could not use what it got, or could.
  void note_hit(bool usable, const std::string& reason);
  [[nodiscard]] RemoteReport report();

  // ---- on the client's thread
  /// Opens it if need be.
  [[nodiscard]] Result<void> open();
  [[nodiscard]] Result<std::vector<std::uint8_t>> get(const trust::Digest& digest, std::uint64_t cap);
  [[nodiscard]] Result<void> put(std::span<const Item> items);
  /// After open: whether it takes anything, and whether labels and paths may go there.
  [[nodiscard]] bool writable() const { return kind_ != nullptr && kind_->writable() && !url_.read_only; }
  [[nodiscard]] bool takes_names() const { return kind_ != nullptr && (kind_->is_private() || url_.names); }
  /// Ends the state, if no slot is running.
  void shut();

 private:
  class Calling;
  struct Breaker {
    unsigned failures = 0;        // in a row
    std::uint64_t closed_at = 0;  // monotonic: until then the remote is left alone
  };
  template <typename T>
  T settle(T done, std::uint64_t started_ns, std::int64_t timeout_ms, bool writing);
  void succeeded(bool writing);
  void failed(const Error& error, bool writing = false);

  const RemoteUrl url_;
  const tlc_host_api* const host_;
  const LogFn log_;

  std::atomic<bool> calling_{false};
  std::shared_ptr<const Kind> kind_;  // by whom calling_ belongs to
  void* state_ = nullptr;
  std::atomic<bool> opened_{false};

  std::mutex mutex_;
  bool writable_ = false;
  std::string name_;
  Breaker reads_, writes_;
  tlc_status last_status_ = TLC_OK;
  std::string last_reason_;
  RemoteReport counts_;
};

}  // namespace tlc::tier
