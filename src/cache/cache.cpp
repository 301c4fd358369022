// SPDX-License-Identifier: MIT
// Opening a cache, and keeping a store under it.
#include "cache/cache.hpp"

#include <sched.h>

#include <utility>

#include "backend/plugin.hpp"
#include "cache/log.hpp"
#include "port/fork.hpp"

namespace tlc::cache {
namespace {

constexpr std::uint64_t kCloseMs = 1800;  // of the two seconds that are promised

}  // namespace

Cache::Cache(Settings settings) : settings_(std::move(settings)), registry_(&backend::process_registry(host_api())) {}

Result<std::shared_ptr<Cache>> Cache::open(Settings settings) {
  std::shared_ptr<Cache> cache(new Cache(std::move(settings)));
  Result<std::unique_ptr<Local>> local = Local::open(cache->settings_);
  if (!local) return std::move(local).error();
  cache->opening_.store(port::fork_epoch());
  cache->current_.store(local->release(), std::memory_order_release);
  return cache;
}

Cache::~Cache() {
  registry_.retire_all();
  Local* now = current_.load();
  // What a child inherited is the parent's: its locks may be held, its files are listed there.
  if (now != nullptr && now->epoch() == port::fork_epoch()) delete now;  // NOLINT: current_ owns it
}

void Cache::close() {
  Local* now = current_.load(std::memory_order_acquire);
  if (now == nullptr || now->epoch() != port::fork_epoch()) return;
  if (now->remotes() != nullptr) now->remotes()->close(kCloseMs);
  if (now->store() != nullptr) now->store()->fold_counters();
}

void Cache::load_plugins() {
  backend::Registry& process = backend::process_registry(host_api());
  backend::load_installed(process, host_api(), settings_.allow_plugins);
  if (!settings_.backend_path.empty())
    backend::load_search_path(process, host_api(), settings_.backend_path, settings_.allow_plugins);
}

// One thread of the child opens; the others wait for it. No mutex: it could have been held at the fork.
Local& Cache::open_in_child() {
  const std::uint64_t epoch = port::fork_epoch();
  std::uint64_t seen = opening_.load(std::memory_order_acquire);
  while (seen != epoch) {
    if (!opening_.compare_exchange_weak(seen, epoch, std::memory_order_acq_rel)) continue;
    Settings settings = settings_;
    settings.strict_open = false;  // there is no caller to hand an error to
    Result<std::unique_ptr<Local>> local = Local::open(settings);
    current_.store(local->release(), std::memory_order_release);
    break;
  }
  for (;;) {
    Local* now = current_.load(std::memory_order_acquire);
    if (now != nullptr && now->epoch() == epoch) return *now;
    ::sched_yield();
  }
}

bool Cache::reopen(Local& old) {
  const std::lock_guard lock(old.reopen);
  if (current_.load(std::memory_order_acquire) != &old) return true;
  Result<std::unique_ptr<Local>> made = Local::open(settings_);
  if (!made) return false;
  log(TLC_LOG_INFO, "store", "the store's files were replaced; it was opened anew");
  Local* fresh = made->release();
  fresh->previous.reset(&old);  // others may still be in it
  current_.store(fresh, std::memory_order_release);
  if (old.remotes() != nullptr) old.remotes()->close(100);  // its queue is gone
  return true;
}

void Cache::note_not_stored(const std::string& reason) {
  const std::lock_guard lock(problems_mutex_);
  if (not_stored_++ == 0) log(TLC_LOG_WARN, "store", "an artifact was not stored: " + reason);
  last_not_stored_ = reason;
}

void Cache::count(std::string_view name_space, store::Counter counter, std::uint64_t amount) {
  if (store::Store* store = local().store()) store->count(name_space, counter, amount);
}

}  // namespace tlc::cache
