// SPDX-License-Identifier: MIT
// Client: the remotes of one cache. Asks them on behalf of who holds a compile lock, and writes to them from a queue.
//
// Nothing here touches a remote, or starts a thread, before there is something to ask or to write. All calls of slots
// are made by one thread (worker.hpp); what they need is kept alive by shared ownership, so that a slot that hangs
// hangs alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "port/result.hpp"
#include "tier/outbox.hpp"
#include "tier/remote.hpp"
#include "tier/url.hpp"
#include "tier/worker.hpp"
#include "trust/digest.hpp"

namespace tlc::tier {

enum class Count : std::uint8_t { gets, hits, puts, errors };

/// Where the queue's thread finds what is to be written. Called on that thread.
class Source {
 public:
  virtual ~Source() = default;
  struct Loaded {
    std::vector<std::uint8_t> blob;
    std::string name_space;
    bool link = false;
  };
  /// The key's blob as the store has it now; nothing if it is gone or may not leave. `names`: labels and paths may go
  /// there.
  virtual std::optional<Loaded> load(const trust::Digest& key, bool names) = 0;
  /// The link's blob with what the remote's has beside it; empty: the remote's has all of it.
  virtual std::vector<std::uint8_t> merge_link(const trust::Digest& key, std::span<const std::uint8_t> theirs) = 0;
  virtual void count(std::string_view name_space, Count what, std::uint64_t amount) = 0;
};

struct ClientOptions {
  std::vector<RemoteUrl> remotes;
  int store_dir = -1;  ///< the format folder that keeps the queues; -1: nothing can be queued
  std::shared_ptr<Source> source;
  const tlc_host_api* host = nullptr;
  LogFn log = nullptr;
};

class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client() { close(2000); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] std::size_t size() const;
  /// Asks one remote, waiting as long as its deadline. TLC_MISS; TLC_TIMEOUT, TLC_E_UNAVAILABLE (left alone now) and
  /// what the slot says. `asked` tells whether it was asked at all.
  [[nodiscard]] Result<std::vector<std::uint8_t>> get(std::size_t remote, const trust::Digest& key, std::uint64_t cap,
                                                      bool& asked);
  /// What came of an answer. One that was unusable is replaced by the next publish.
  void note_hit(std::size_t remote, const trust::Digest& key, bool usable, const std::string& reason);

  /// Brings the remotes in line with the store for this key, soon. A reason of why it could not be queued, once.
  void queue(const trust::Digest& key, Outbox::Op op);
  /// Whether remotes must not be asked for it: it was removed or found unusable here, and they may not know that yet.
  [[nodiscard]] bool shunned(const trust::Digest& key);
  /// Starts on what an earlier process left in the queues, if there is anything.
  void resume();

  /// Writes what is queued and ends the thread, in this time at most. What is left stays queued.
  void close(std::uint64_t within_ms);
  /// `ask`: opens those that were not, in the time of a get.
  [[nodiscard]] std::vector<RemoteReport> report(bool ask);

 private:
  struct Member {
    explicit Member(std::shared_ptr<Remote> made) : remote(std::move(made)) {}
    std::shared_ptr<Remote> remote;
    std::unique_ptr<Outbox> outbox;  ///< none: it cannot be written to from here
    std::string outbox_fault;
    std::atomic<bool> writing{false};
  };
  /// All that the thread needs; shared with it.
  struct State {
    std::vector<std::unique_ptr<Member>> members;
    std::shared_ptr<Source> source;
    LogFn log = nullptr;
    std::uint64_t write();
    std::uint64_t write_to(Member& member);
    Result<bool> write_batch(Member& member);
  };

  std::shared_ptr<State> state_;
  std::shared_ptr<Worker> worker_;
  std::mutex mutex_;
  std::unordered_set<trust::Digest, trust::DigestHash> shunned_;
  std::unordered_set<trust::Digest, trust::DigestHash> to_replace_;
  bool full_said_ = false;
};

}  // namespace tlc::tier
