// SPDX-License-Identifier: MIT
#include "tier/client.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "port/step.hpp"

namespace tlc::tier {
namespace {

constexpr std::size_t kBatchKeys = 64;
constexpr std::size_t kBatchBytes = std::size_t{8} << 20;
constexpr std::size_t kMostRemembered = 65536;
constexpr std::uint64_t kLingerNs = 300'000'000;  // publishes come in bursts, and a batch is one file
constexpr std::uint64_t kRetryLockNs = 200'000'000;
constexpr std::uint64_t kMaxLinkBlob = std::uint64_t{64} << 20;

template <typename Fn>
class AtEnd {
 public:
  explicit AtEnd(Fn fn) : fn_(std::move(fn)) {}
  ~AtEnd() { fn_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  Fn fn_;
};

}  // namespace

Client::Client(ClientOptions options) : state_(std::make_shared<State>()) {
  state_->source = std::move(options.source);
  state_->log = options.log;
  for (RemoteUrl& url : options.remotes) {
    const std::string id = url.id();
    const bool read_only = url.read_only;
    auto& member = state_->members.emplace_back(
        std::make_unique<Member>(std::make_shared<Remote>(std::move(url), options.host, options.log)));
    if (options.store_dir < 0 || read_only) continue;
    Result<std::unique_ptr<Outbox>> outbox = Outbox::open(options.store_dir, id);
    if (outbox)
      member->outbox = std::move(*outbox);
    else
      member->outbox_fault = outbox.error().message;
  }
  worker_ = std::make_shared<Worker>([state = state_] { return state->write(); });
}

std::size_t Client::size() const {
  return state_->members.size();
}

Result<std::vector<std::uint8_t>> Client::get(std::size_t remote, const trust::Digest& key, std::uint64_t cap,
                                              bool& asked) {
  const std::shared_ptr<Remote> one = state_->members[remote]->remote;
  asked = one->available();
  if (!asked) return make_error(TLC_E_UNAVAILABLE, "the remote is left alone for a while");
  using Bytes = Result<std::vector<std::uint8_t>>;
  const auto answer = std::make_shared<Bytes>(make_error(TLC_E_INTERNAL, ""));
  const auto deadline = port::Deadline::after_ms(static_cast<std::uint64_t>(one->url().timeout_ms));
  switch (worker_->run([one, answer, key, cap] { *answer = one->get(key, cap); }, deadline)) {
    case Worker::Outcome::done:
      return std::move(*answer);
    case Worker::Outcome::late:
      one->late();
      return make_error(TLC_TIMEOUT, "the remote did not answer in time");
    case Worker::Outcome::none:
      break;
  }
  asked = false;
  return make_error(TLC_E_UNAVAILABLE, "there is no thread to ask the remote on");
}

void Client::note_hit(std::size_t remote, const trust::Digest& key, bool usable, const std::string& reason) {
  state_->members[remote]->remote->note_hit(usable, reason);
  if (usable) return;
  const std::lock_guard lock(mutex_);
  if (to_replace_.size() < kMostRemembered) to_replace_.insert(key);
}

void Client::queue(const trust::Digest& key, Outbox::Op op) {
  {
    const std::lock_guard lock(mutex_);
    if (op == Outbox::Op::remove) {
      if (shunned_.size() < kMostRemembered) shunned_.insert(key);
    } else {
      shunned_.erase(key);
      if (to_replace_.erase(key) != 0) op = Outbox::Op::replace;
    }
  }
  bool queued = false;
  for (const auto& member : state_->members) {
    if (member->outbox == nullptr) continue;
    const Result<void> noted = member->outbox->note(key, op);
    queued = queued || noted;
    if (noted) continue;
    const std::lock_guard lock(mutex_);
    if (!std::exchange(full_said_, true))
      state_->log(TLC_LOG_WARN, "remote",
                  "not queued for " + member->remote->url().shown() + ": " + noted.error().message);
  }
  if (queued) worker_->wake(kLingerNs);
}

bool Client::shunned(const trust::Digest& key) {
  {
    const std::lock_guard lock(mutex_);
    if (shunned_.contains(key)) return true;
  }
  return std::any_of(state_->members.begin(), state_->members.end(),
                     [&](const auto& member) { return member->outbox != nullptr && member->outbox->has(key); });
}

void Client::resume() {
  for (const auto& member : state_->members) {
    if (member->outbox == nullptr) continue;
    const Result<std::vector<trust::Digest>> pending = member->outbox->pending(1);
    if (pending && !pending->empty()) worker_->wake(kLingerNs);
  }
}

void Client::close(std::uint64_t within_ms) {
  worker_->stop(port::Deadline::after_ms(within_ms), [state = state_] {
    for (const auto& member : state->members) member->remote->shut();
  });
}

std::vector<RemoteReport> Client::report(bool ask) {
  std::vector<RemoteReport> reports;
  for (const auto& member : state_->members) {
    const std::shared_ptr<Remote> one = member->remote;
    if (ask && one->rest_ns() == 0) {
      const auto deadline = port::Deadline::after_ms(static_cast<std::uint64_t>(one->url().timeout_ms));
      if (worker_->run([one] { (void)one->open(); }, deadline) == Worker::Outcome::late) one->late();
    }
    RemoteReport& report = reports.emplace_back(one->report());
    if (member->outbox != nullptr)
      report.queued = member->outbox->size();
    else
      report.writable = false;
    if (report.reason.empty() && !member->outbox_fault.empty())
      report.reason = "nothing can be queued for it: " + member->outbox_fault;
  }
  return reports;
}

// ---- on the thread

std::uint64_t Client::State::write() {
  std::uint64_t again = Worker::kNever;
  for (const auto& member : members) again = std::min(again, write_to(*member));
  return again;
}

// One batch. A remote whose put hangs on a thread that was left behind is not written to by the next thread.
std::uint64_t Client::State::write_to(Member& member) {
  if (member.outbox == nullptr || member.writing.exchange(true)) return Worker::kNever;
  const AtEnd written([&] { member.writing.store(false); });
  const Result<std::vector<trust::Digest>> pending = member.outbox->pending(1);
  if (!pending || pending->empty()) return Worker::kNever;
  if (const std::uint64_t rest = member.remote->rest_ns(true); rest != 0) return rest;
  const Result<bool> locked = member.outbox->try_lock();
  if (!locked || !*locked) return kRetryLockNs;
  const AtEnd unlocked([&] { member.outbox->unlock(); });
  const Result<bool> more = write_batch(member);
  if (!more) return std::max<std::uint64_t>(member.remote->rest_ns(true), kRetryLockNs);
  return *more ? 0 : Worker::kNever;
}

// True if there may be more. Lock of the queue held.
Result<bool> Client::State::write_batch(Member& member) {
  if (Result<void> ready = member.remote->open(); !ready) return std::move(ready).error();
  Result<std::vector<trust::Digest>> pending = member.outbox->pending(kBatchKeys);
  if (!pending) return std::move(pending).error();
  const bool writable = member.remote->writable();
  std::vector<Item> items;
  std::map<std::string, std::uint64_t> counts;
  std::size_t bytes = 0;
  bool all = true;
  std::vector<trust::Digest> taken;
  for (const trust::Digest& key : *pending) {
    if (bytes >= kBatchBytes) {
      all = false;
      break;
    }
    const Outbox::Wanted wanted = member.outbox->begin(key);
    taken.push_back(key);
    if (!wanted.anything || !writable) continue;
    std::optional<Source::Loaded> loaded = source->load(key, member.remote->takes_names());
    if (loaded && loaded->link) {
      const Result<std::vector<std::uint8_t>> theirs = member.remote->get(key, kMaxLinkBlob);
      if (!theirs && theirs.error().status != TLC_MISS && theirs.error().status != TLC_TOO_LARGE) return theirs.error();
      if (theirs) loaded->blob = source->merge_link(key, *theirs);
      if (loaded->blob.empty()) continue;
    }
    if (!loaded && !wanted.remove) continue;
    if (loaded) ++counts[loaded->name_space];
    Item& item = items.emplace_back();
    item.digest = key;
    item.replace = wanted.replace || (loaded && loaded->link);
    if (loaded) item.bytes = std::move(loaded->blob);
    bytes += item.bytes.size();
  }
  TLC_STEP("remote.before_put");
  if (!items.empty()) {
    const Result<void> done = member.remote->put(items);
    if (!done && done.error().status != TLC_TOO_LARGE) {
      for (const auto& [name_space, amount] : counts) source->count(name_space, Count::errors, 1);
      return done.error();
    }
    for (const auto& [name_space, amount] : counts) source->count(name_space, Count::puts, done ? amount : 0);
  }
  for (const trust::Digest& key : taken) member.outbox->end(key);
  return !all || taken.size() == kBatchKeys;
}

}  // namespace tlc::tier
