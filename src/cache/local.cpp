// SPDX-License-Identifier: MIT
#include "cache/local.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "cache/log.hpp"
#include "cache/remotes.hpp"
#include "port/env.hpp"
#include "port/file.hpp"
#include "port/fork.hpp"
#include "trust/key_file.hpp"

namespace tlc::cache {
namespace {

constexpr std::uint64_t kMostMemory = std::uint64_t{256} << 20;

/// The key that strict records are authenticated with: <config folder>/tlcache/mac.key.
Result<trust::MacKey> user_key() {
  std::string folder;
  if (const char* config = port::secure_env("XDG_CONFIG_HOME"); config != nullptr && config[0] == '/')
    folder = config;
  else if (const auto home = port::home_dir())
    folder = *home + "/.config";
  else
    return make_error(TLC_E_UNAVAILABLE, "strict verification needs a key, and there is no home folder to keep it in");
  folder += "/tlcache";
  if (Result<void> made = port::make_dirs(folder, 0700); !made) return std::move(made).error();
  return trust::load_or_create_key(folder + "/mac.key");
}

struct Opened {
  store::Location location;
  std::shared_ptr<store::Store> store;
  std::optional<trust::MacKey> user_key;
};

/// Those of all caches on the store in this process.
std::shared_ptr<Flights> flights_of(store::Store* store) {
  const auto make = [] { return std::make_shared<Flights>(); };
  if (store == nullptr) return make();
  return std::static_pointer_cast<Flights>(store->companion(make));
}

std::shared_ptr<store::Trace> open_trace(const Settings& settings) {
  if (settings.trace.empty()) return nullptr;
  Result<std::shared_ptr<store::Trace>> trace = store::Trace::open(settings.trace);
  if (trace) return std::move(*trace);
  log(TLC_LOG_WARN, "trace", "TLC_TRACE: " + trace.error().message);
  return nullptr;
}

Result<Opened> open_store(const Settings& settings, std::shared_ptr<store::Trace> trace) {
  Result<store::Location> chosen = store::choose_location(settings.directory, settings.use_environment);
  if (!chosen) return std::move(chosen).error();
  Result<store::Location> location = store::prepare_location(std::move(*chosen), settings.read_only);
  if (!location) return std::move(location).error();
  store::StoreOptions options;
  options.root = location->root;
  options.limit = settings.limit;
  options.read_only = settings.read_only;
  options.durable = settings.durable;
  options.trace = std::move(trace);
  if (settings.verify_strict) {
    Result<trust::MacKey> key = user_key();
    if (!key) return std::move(key).error();
    options.user_key = *key;
  }
  Result<std::shared_ptr<store::Store>> store = store::Store::open(options);
  // A folder that can only be read still serves what is in it.
  if (!store && !settings.read_only && (store.error().sys_errno == EROFS || store.error().sys_errno == EACCES)) {
    options.read_only = true;
    Result<std::shared_ptr<store::Store>> readable = store::Store::open(options);
    if (readable) {
      location->warnings.push_back("the store is read-only: " + store.error().message);
      return Opened{std::move(*location), std::move(*readable), options.user_key};
    }
  }
  if (!store) return std::move(store).error();
  return Opened{std::move(*location), std::move(*store), options.user_key};
}

}  // namespace

Local::Local() : epoch_(port::fork_epoch()), memory_(store::ArtifactTable::create()) {
  memory_->add_counter();
}

Local::~Local() {
  memory_->clear();
}

Result<std::unique_ptr<Local>> Local::open(const Settings& settings) {
  std::unique_ptr<Local> local(new Local);
  if (settings.disabled) local->reason_ = "TLC_DISABLE is set";
  local->trace_ = open_trace(settings);
  if (!settings.memory && !settings.disabled) {
    Result<Opened> opened = open_store(settings, local->trace_);
    if (!opened && settings.strict_open) return std::move(opened).error();
    if (opened) {
      local->location_ = std::move(opened->location);
      local->store_ = std::move(opened->store);
      local->user_key_ = opened->user_key;
    } else {
      local->reason_ = opened.error().message;
      log(TLC_LOG_WARN, "store", "working from memory: " + local->reason_);
    }
  }
  store::Store* store = local->store_.get();
  local->flights_ = flights_of(store);
  local->files_ =
      std::make_unique<store::FileMemo>(store == nullptr ? -1 : store->dir(), store != nullptr && !store->read_only());
  if (!settings.disabled) local->remotes_ = open_remotes(settings, local->location_, local->store_, local->user_key_);
  return local;
}

store::Artifact* Local::remember(std::unique_ptr<store::Artifact> artifact) {
  store::Artifact* kept = memory_->insert(std::move(artifact), 0);
  if (memory_->memory_bytes() > kMostMemory) memory_->drop_if([](const store::Artifact&) { return true; }, true);
  return kept;
}

}  // namespace tlc::cache
