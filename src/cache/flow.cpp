// SPDX-License-Identifier: MIT
// Look up, publish, and one compile for many.
#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "cache/cache.hpp"
#include "cache/log.hpp"
#include "port/clock.hpp"
#include "port/fork.hpp"
#include "port/step.hpp"
#include "store/format.hpp"

namespace tlc::cache {
namespace {

constexpr std::int64_t kDefaultWaitMs = std::int64_t{10} * 60 * 1000;
constexpr std::uint64_t kFirstNapNs = 1'000'000;
constexpr std::uint64_t kLongestNapNs = 20'000'000;
constexpr std::uint64_t kFailureKeptNs = 24ULL * 3600 * 1'000'000'000;
constexpr std::string_view kFailureMember = "failure";

port::Deadline deadline_of(std::int64_t timeout_ms) {
  if (timeout_ms == TLC_WAIT_NONE) return port::Deadline::already();
  return port::Deadline::after_ms(static_cast<std::uint64_t>(timeout_ms < 0 ? kDefaultWaitMs : timeout_ms));
}

void nap(std::uint64_t ns) {
  const timespec time{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  ::nanosleep(&time, nullptr);
}

std::string join_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

store::RecordContent content_of(const key::Key& key, const Bundle& bundle, std::span<const store::MemberView> members,
                                const PublishMode& mode) {
  store::RecordContent content;
  content.key = key.digest();
  content.name_space = key.name_space();
  content.label = bundle.label().empty() ? mode.label : std::string_view(bundle.label());
  content.key_encoding = key.encoding();
  content.requirements = bundle.requirements();
  content.members = members;
  content.compile_us = bundle.compile_us() != 0 ? bundle.compile_us() : mode.compile_us;
  return content;
}

}  // namespace

// ---- look up

Look Cache::look_in_store(store::Store& store, const trust::Digest& digest, bool quiet) {
  store::Found found = store.get(digest, quiet);
  return {found.outcome, std::move(found.artifact), std::move(found.reason)};
}

// Whatever kind of record the key has.
Look Cache::look(const trust::Digest& digest, bool quiet) {
  Local& under = local();
  Look result;
  if (settings_.disabled) return result;
  if (store::Store* store = under.store()) {
    result = look_in_store(*store, digest, quiet);
    if (result.outcome == store::Outcome::hit) return result;
    if (result.outcome == store::Outcome::miss && store->replaced() && reopen(under) && local().store() != nullptr)
      result = look_in_store(*local().store(), digest, quiet);
  }
  if (store::Artifact* kept = local().memory_get(digest))
    result = Look{store::Outcome::hit, store::ArtifactRef(kept), {}};
  return result;
}

Look Cache::get(const key::Key& key) {
  Look result = look(key.digest());
  if (result.outcome == store::Outcome::hit && result.artifact->kind() == store::Kind::link)
    result = follow(*result.artifact);
  if (result.outcome == store::Outcome::hit && result.artifact->kind() != store::Kind::artifact) result = {};
  if (result.outcome == store::Outcome::hit) return result;
  const bool rejected = result.outcome == store::Outcome::rejected;
  count(key.name_space(), rejected ? store::Counter::rejections : store::Counter::misses);
  if (store::Trace* trace = local().trace()) trace->note(rejected ? 'r' : 'm', key.digest(), 0, 0, key.name_space());
  return result;
}

bool Cache::requirements_met(const store::Artifact& artifact) {
  const auto& wanted = artifact.meta().requirements;
  for (std::size_t at = 0; at + 32 <= wanted.size(); at += 32) {
    trust::Digest digest;
    std::memcpy(digest.bytes.data(), wanted.data() + at, 32);
    if (look(digest).outcome != store::Outcome::hit) return false;
  }
  return true;
}

// ---- publish

Published Cache::keep_in_memory(const store::RecordContent& content, Published published) {
  Result<std::unique_ptr<store::Artifact>> made = make_memory_artifact(content);
  if (!made) return published;
  // A store that cannot take it now must not keep this process from finding it; a disabled cache finds nothing.
  Local& under = local();
  published.artifact = store::ArtifactRef(settings_.disabled ? under.memory().adopt(std::move(*made))
                                                             : under.remember(std::move(*made)));
  return published;
}

Published Cache::publish_content(const store::RecordContent& content, const PublishMode& mode) {
  Local& under = local();
  store::Store* store = under.store();
  Published published;
  if (store == nullptr) {
    store::ArtifactRef kept;
    if (!settings_.disabled) kept = store::ArtifactRef(under.memory_get(content.key));
    const bool present = kept && kept->kind() != store::Kind::failure;
    if (!mode.replace && present) return {TLC_EXISTED, std::move(kept), "the key is already kept", 0};
    const std::uint64_t sequence = present ? kept->header().sequence : 0;
    if (mode.replace && sequence != mode.expected)
      return {TLC_CONFLICT, {}, "another generation of the key is kept", 0};
    published.status = settings_.memory ? TLC_OK : TLC_NOT_STORED;
    published.reason = under.reason();
    return keep_in_memory(content, std::move(published));
  }
  store::PutResult put = store->put(content, {mode.replace, mode.expected});
  // A folder that was removed shows as one or the other, by what is touched first.
  const bool gone = put.status == store::kReplaced || (put.status == TLC_NOT_STORED && store->replaced());
  if (gone && reopen(under) && local().store() != nullptr)
    put = local().store()->put(content, {mode.replace, mode.expected});
  published.status = put.status == store::kReplaced ? tlc_status{TLC_NOT_STORED} : put.status;
  published.reason = std::move(put.reason);
  published.sys_errno = put.sys_errno;
  if (published.status == TLC_NOT_STORED || published.status == TLC_TOO_LARGE) {
    note_not_stored(published.reason);
    return keep_in_memory(content, std::move(published));
  }
  if (published.status == TLC_OK) share(content, mode);
  if (!mode.want_artifact || (published.status != TLC_OK && published.status != TLC_EXISTED)) return published;
  Look found = look(content.key, true);
  if (found.outcome == store::Outcome::hit)
    published.artifact = std::move(found.artifact);
  else
    published = keep_in_memory(content, std::move(published));
  return published;
}

// What stands under the key may be a link. If it leads to an artifact, that is what exists; if its files have changed,
// it gives way.
Published Cache::publish_plain(const key::Key& key, const store::RecordContent& content, const PublishMode& mode) {
  Published published = publish_content(content, mode);
  if (published.status != TLC_EXISTED) return published;
  Look now = look(key.digest(), true);
  if (now.outcome != store::Outcome::hit || now.artifact->kind() != store::Kind::link) return published;
  Look led_to = follow(*now.artifact, true);
  if (led_to.outcome == store::Outcome::hit) {
    published.artifact = std::move(led_to.artifact);
    return published;
  }
  PublishMode instead = mode;
  instead.replace = true;
  instead.expected = now.artifact->header().sequence;
  return publish_content(content, instead);
}

// With guards the artifact goes under a key of its own, and the request's key becomes a link to it.
Published Cache::publish(const key::Key& key, const Bundle& bundle, const PublishMode& mode) {
  const std::vector<store::MemberView> members = bundle.members();
  const store::RecordContent plain = content_of(key, bundle, members, mode);
  if (bundle.guards().empty()) return publish_plain(key, plain, mode);
  const auto failed = [](const Error& error) { return Published{error.status, {}, error.message, error.sys_errno}; };
  Result<std::vector<key::Guard>> guards = read_guards(bundle);
  if (!guards) return failed(guards.error());
  Result<key::Key> content = key::content_key(key, *guards);
  if (!content) return failed(content.error());
  Published published = publish_content(content_of(*content, bundle, members, mode), mode);
  if (published.status != TLC_OK && published.status != TLC_EXISTED) return published;
  TLC_STEP("publish.before_link");
  if (Result<void> linked = add_variant(key, {std::move(*guards), content->digest()}, plain.label); !linked) {
    note_not_stored(linked.error().message);
    published.status = TLC_NOT_STORED;
    published.reason = linked.error().message;
  }
  return published;
}

Result<Published> Cache::put(const key::Key& key, const Bundle& bundle, const PublishMode& mode) {
  if (bundle.empty()) return make_error(TLC_E_INVALID, "an artifact needs at least one member");
  if (!bundle.guards().empty() && mode.replace)
    return make_error(TLC_E_INVALID, "a bundle with guards cannot replace a generation: its key is made from them");
  return publish(key, bundle, mode);
}

Result<Published> Cache::amend(const key::Key& key, const store::Artifact& seen, const Bundle& bundle) {
  if (bundle.empty()) return make_error(TLC_E_INVALID, "nothing to add: the bundle has no members");
  if (seen.key() != key.digest()) return make_error(TLC_E_INVALID, "the artifact belongs to another key");
  std::vector<store::MemberView> members;
  for (const store::MemberView& member : seen.members())
    if (!bundle.has(member.name)) members.push_back(member);
  const std::vector<store::MemberView> added = bundle.members();
  members.insert(members.end(), added.begin(), added.end());
  PublishMode mode;
  mode.replace = true;
  mode.expected = seen.header().sequence;
  mode.label = seen.meta().label;
  mode.compile_us = seen.header().compile_us;
  return publish_content(content_of(key, bundle, members, mode), mode);
}

namespace {

/// The store's files were replaced, and what is there now cannot be used.
Result<tlc_status> cannot_be_written(Result<tlc_status> done) {
  if (done || done.error().status != store::kReplaced) return done;
  Error error = std::move(done).error();
  error.status = TLC_NOT_STORED;
  return error;
}

}  // namespace

Result<tlc_status> Cache::remove(const key::Key& key) {
  Local& under = local();
  under.memory().drop(key.digest());
  unshare(key.digest());
  if (under.store() == nullptr) return tlc_status{TLC_OK};
  return cannot_be_written(with_store([&](store::Store& store) {
    // A link's artifact goes too: it was this request's.
    Look found = look_in_store(store, key.digest(), true);
    if (found.outcome == store::Outcome::hit && found.artifact->kind() == store::Kind::link) {
      Look target = follow(*found.artifact, true);
      if (target.outcome == store::Outcome::hit) {
        unshare(target.artifact->key());
        (void)store.remove(target.artifact->key(), target.artifact->header().sequence, store::RemovalReason::removed);
      }
    }
    return store.remove(key.digest(), 0, store::RemovalReason::removed);
  }));
}

Result<tlc_status> Cache::invalidate(const store::Artifact& artifact) {
  Local& under = local();
  unshare(artifact.key());
  if (artifact.tier() == store::Tier::memory) {
    under.memory().drop(artifact.key());
    return tlc_status{TLC_OK};
  }
  if (under.store() == nullptr) return tlc_status{TLC_MISS};
  return cannot_be_written(with_store([&](store::Store& store) {
    return store.remove(artifact.key(), artifact.header().sequence, store::RemovalReason::invalidated);
  }));
}

Result<std::uint64_t> Cache::clear(const std::string& name_space) {
  Local& under = local();
  under.memory().drop_if(
      [&](const store::Artifact& artifact) { return name_space.empty() || artifact.meta().name_space == name_space; },
      false);
  if (under.store() == nullptr) return std::uint64_t{0};
  return with_store([&](store::Store& store) { return store.clear(name_space); });
}

// ---- one compile for many

Result<Begun> Cache::begin(const key::Key& key, std::int64_t timeout_ms, const tlc_cancel* cancel) {
  const port::Deadline deadline = deadline_of(timeout_ms);
  const trust::Digest& digest = key.digest();
  for (;;) {
    Look found = get(key);
    if (found.outcome == store::Outcome::hit) return Begun{TLC_OK, std::move(found.artifact), nullptr};
    Local& under = local();
    const Flights::Boarding boarding = under.flights().board(digest);
    if (!boarding.took_off) {
      // Its own thread would wait for itself.
      if (boarding.flight->mine()) return Begun{TLC_TIMEOUT, {}, nullptr};
      const Flight::Wait waited = boarding.flight->wait(deadline, cancel);
      if (waited == Flight::Wait::timeout) return Begun{TLC_TIMEOUT, {}, nullptr};
      if (waited == Flight::Wait::cancelled) return make_error(TLC_E_CANCELLED, "the wait was cancelled");
      if (boarding.flight->status() != TLC_OK) return make_error(boarding.flight->status(), boarding.flight->message());
      continue;
    }
    return take_off(under, key, boarding.flight, deadline, cancel);
  }
}

// This thread speaks for the process: it waits for the compile lock, looking again and again.
Result<Begun> Cache::take_off(Local& under, const key::Key& key, const std::shared_ptr<Flight>& flight,
                              port::Deadline deadline, const tlc_cancel* cancel) {
  const trust::Digest& digest = key.digest();
  store::Store* store = under.store();
  const auto hit = [&](Look& found) {
    under.flights().land(digest, flight);
    return Begun{TLC_OK, std::move(found.artifact), nullptr};
  };
  bool locked = false;
  if (store != nullptr && !store->read_only()) {
    for (std::uint64_t pause = kFirstNapNs;; pause = std::min(pause * 2, kLongestNapNs)) {
      const Result<bool> got = store->compile_locks().try_take(digest);
      locked = got && *got;
      if (!got || locked) break;  // where locks cannot be had, each process compiles for itself
      if (is_cancelled(cancel) || deadline.passed()) {
        under.flights().land(digest, flight);
        if (is_cancelled(cancel)) return make_error(TLC_E_CANCELLED, "the wait was cancelled");
        return Begun{TLC_TIMEOUT, {}, nullptr};
      }
      nap(std::min(pause, deadline.remaining_ns()));
      if (Look found = get_quietly(key); found.outcome == store::Outcome::hit) return hit(found);
    }
  }
  if (Look found = get_quietly(key); found.outcome == store::Outcome::hit) {
    if (locked) store->compile_locks().give_back(digest);
    return hit(found);
  }
  if (Look found = fetch(key); found.outcome == store::Outcome::hit) {
    if (locked) store->compile_locks().give_back(digest);
    return hit(found);
  }
  TLC_STEP("begin.locked");
  auto lock = std::make_unique<tlc_lock>(
      tlc_lock{shared_from_this(), &under, key, flight, locked, port::fork_epoch(), port::monotonic_ns()});
  return Begun{TLC_LOCKED, {}, std::move(lock)};
}

Look Cache::get_quietly(const key::Key& key) {
  Look result = look(key.digest(), true);
  if (result.outcome == store::Outcome::hit && result.artifact->kind() == store::Kind::link)
    result = follow(*result.artifact, true);
  if (result.outcome == store::Outcome::hit && result.artifact->kind() != store::Kind::artifact) result = {};
  return result;
}

void Cache::end(tlc_lock& lock, tlc_status status, std::string message) {
  if (lock.fork_epoch != port::fork_epoch()) return;
  if (lock.between_processes) lock.local->store()->compile_locks().give_back(lock.key.digest());
  lock.local->flights().land(lock.key.digest(), lock.flight, status, std::move(message));
}

Result<Published> Cache::publish_compiled(const tlc_lock& lock, const Bundle& bundle, PublishMode mode) {
  mode.compile_us = (port::monotonic_ns() - lock.taken_ns) / 1000;
  count(lock.key.name_space(), store::Counter::compiles);
  count(lock.key.name_space(), store::Counter::compile_us,
        bundle.compile_us() != 0 ? bundle.compile_us() : mode.compile_us);
  return put(lock.key, bundle, mode);
}

// ---- get or compile

Result<void> Cache::run_compile(const tlc_request& request, const key::Key& key, const CompileOptions& options,
                                tlc_bundle& bundle, tlc_log& log) {
  if (options.compile) {
    const tlc_key_ref made(new tlc_key(key));  // the callback may retain it
    return options.compile(request, *made, bundle, log);
  }
  const std::string_view target = key.library_text(key::kFieldTarget);
  if (target.empty()) return make_error(TLC_E_INVALID, "the request has no target, and brings no way to compile");
  const std::string_view kind = target.substr(0, target.find(':'));
  Result<std::shared_ptr<backend::Entry>> found = registry().find(kind, key.library_text(key::kFieldEngine));
  if (!found) return std::move(found).error();
  const backend::Entry::Call backend(**found);
  if (!backend) return backend.refused();
  tlc_call call{this, backend->name(), options.cancel};
  return backend->compile(&call, &request, target, &bundle, &log);
}

void Cache::keep_failure(const key::Key& key, const Error& error) {
  std::vector<std::uint8_t> text(sizeof error.status);
  std::memcpy(text.data(), &error.status, sizeof error.status);
  text.insert(text.end(), error.message.begin(), error.message.end());
  const store::MemberView member{kFailureMember, TLC_MEMBER_OPAQUE, text};
  store::RecordContent content;
  content.kind = store::Kind::failure;
  content.key = key.digest();
  content.name_space = key.name_space();
  content.key_encoding = key.encoding();
  content.members = {&member, 1};
  PublishMode mode;
  mode.want_artifact = false;
  (void)publish_content(content, mode);
}

std::optional<Error> Cache::kept_failure(const key::Key& key) {
  const Look found = look(key.digest(), true);
  if (found.outcome != store::Outcome::hit || found.artifact->kind() != store::Kind::failure) return std::nullopt;
  if (port::wall_ns() > found.artifact->header().created_ns + kFailureKeptNs) return std::nullopt;
  const store::MemberView* member = found.artifact->find(kFailureMember);
  Error error;
  if (member == nullptr || member->data.size() < sizeof error.status) return std::nullopt;
  std::memcpy(&error.status, member->data.data(), sizeof error.status);
  error.message.assign(reinterpret_cast<const char*>(member->data.data()) + sizeof error.status,
                       member->data.size() - sizeof error.status);
  return error;
}

// Compiles and publishes. The artifact is the caller's whether or not it could be stored.
Result<store::ArtifactRef> Cache::compile(const tlc_request& request, const key::Key& key,
                                          const CompileOptions& options, std::optional<std::string>* log) {
  tlc_bundle bundle;
  tlc_log output;
  const std::uint64_t start = port::monotonic_ns();
  Result<void> done = run_compile(request, key, options, bundle, output);
  const std::uint64_t took_us = (port::monotonic_ns() - start) / 1000;
  if (log != nullptr) *log = std::move(output.text);
  if (!done) {
    if ((options.flags & TLC_COMPILE_KEEP_FAILURE) != 0 && done.error().status == TLC_E_COMPILE)
      keep_failure(key, done.error());
    return std::move(done).error();
  }
  if (bundle.bundle.empty()) return make_error(TLC_E_COMPILE, "the compile made no members");
  std::vector<std::string> absent;
  for (const std::string& name : request.request.required_members())
    if (!bundle.bundle.has(name)) absent.push_back(name);
  if (!absent.empty())
    return make_error(TLC_E_COMPILE, "the compile did not make what the request requires: " + join_names(absent));
  if (bundle.bundle.compile_us() == 0) bundle.bundle.set_compile_us(took_us);
  count(key.name_space(), store::Counter::compiles);
  count(key.name_space(), store::Counter::compile_us, bundle.bundle.compile_us());
  PublishMode mode;
  mode.label = request.request.label();
  Published published = publish(key, bundle.bundle, mode);
  if (published.artifact) return std::move(published.artifact);
  const std::vector<store::MemberView> members = bundle.bundle.members();
  published = keep_in_memory(content_of(key, bundle.bundle, members, mode), std::move(published));
  if (published.artifact) return std::move(published.artifact);
  return make_error(published.status < 0 ? published.status : tlc_status{TLC_E_INTERNAL}, published.reason);
}

Result<store::ArtifactRef> Cache::get_or_compile(const tlc_request& request, const CompileOptions& options,
                                                 std::optional<std::string>* log) {
  Result<key::Key> key = make_key(request, options.cancel);
  if (!key) return std::move(key).error();
  const auto complete = [&](const store::Artifact& artifact) {
    const auto& names = request.request.required_members();
    return std::all_of(names.begin(), names.end(), [&](const auto& name) { return artifact.find(name) != nullptr; }) &&
           ((options.flags & TLC_COMPILE_CLOSED) == 0 || requirements_met(artifact));
  };
  if (store::Artifact* known = get_known(*key)) {
    store::ArtifactRef artifact(known);
    if (complete(*artifact)) return artifact;
  }
  if ((options.flags & TLC_COMPILE_NEVER) != 0) {
    Look found = get(*key);
    if (found.outcome == store::Outcome::hit && complete(*found.artifact)) return std::move(found.artifact);
    return make_error(found.outcome == store::Outcome::rejected ? TLC_REJECTED : TLC_MISS, found.reason);
  }
  if ((options.flags & TLC_COMPILE_KEEP_FAILURE) != 0)
    if (std::optional<Error> failure = kept_failure(*key)) return std::move(*failure);
  for (;;) {
    Result<Begun> begun = begin(*key, options.timeout_ms, options.cancel);
    if (!begun) return std::move(begun).error();
    if (begun->status == TLC_OK) {
      if (complete(*begun->artifact)) return std::move(begun->artifact);
      (void)invalidate(*begun->artifact);  // incomplete: a miss that the next publish replaces
      continue;
    }
    if (begun->status == TLC_TIMEOUT) return compile(request, *key, options, log);
    tlc_lock& lock = *begun->lock;
    Result<store::ArtifactRef> made = make_error(TLC_E_INTERNAL, "");
    try {
      made = compile(request, *key, options, log);
    } catch (...) {
      end(lock, TLC_OK, {});
      throw;
    }
    if (made)
      end(lock, TLC_OK, {});
    else
      end(lock, made.error().status, made.error().message);
    return made;
  }
}

}  // namespace tlc::cache
