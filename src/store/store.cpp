// SPDX-License-Identifier: MIT
// Opening and closing a store.
#include "store/store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <tuple>
#include <utility>

#include "port/file.hpp"
#include "port/fork.hpp"
#include "port/step.hpp"
#include "port/system.hpp"
#include "store/format.hpp"

namespace tlc::store {
namespace {

constexpr std::uint64_t kOpenLockMs = 5000;
constexpr std::uint64_t kLeastDefaultLimit = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostDefaultLimit = std::uint64_t{10} << 30;

// The open stores of this process. One of the two objects that must be process-wide: two stores on one folder would
// work, but would map and verify everything twice. It is not needed for safety.
struct OpenStores {
  using Id = std::tuple<dev_t, ino_t, bool, bool, bool>;  // folder; read-only, durable, strict
  std::mutex mutex;
  std::map<Id, std::weak_ptr<Store>> stores;
};

// A child starts with an empty list: what it inherited belongs to the parent. The old list is left alone, since its
// mutex may be held by a thread that is no more.
OpenStores& open_stores() {
  static std::atomic<OpenStores*> current{nullptr};
  static std::atomic<std::uint64_t> epoch{0};
  OpenStores* stores = current.load(std::memory_order_acquire);
  if (stores != nullptr && epoch.load(std::memory_order_acquire) == port::fork_epoch()) return *stores;
  auto fresh = std::make_unique<OpenStores>();
  if (!current.compare_exchange_strong(stores, fresh.get(), std::memory_order_acq_rel)) return *stores;
  epoch.store(port::fork_epoch(), std::memory_order_release);
  return *fresh.release();
}

Result<port::Fd> open_format_folder(const StoreOptions& options, std::string& path) {
  if (!options.read_only)
    if (Result<void> made = port::make_dirs(options.root, 0700); !made) return std::move(made).error();
  path = options.root + "/" + format_folder_name();
  if (!options.read_only)
    if (Result<void> made = port::make_dirs(path, 0700); !made) return std::move(made).error();
  Result<port::Fd> dir = port::open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!dir) return dir;
  struct stat st {};
  if (::fstat(dir->get(), &st) != 0) return io_error(errno, "cannot stat " + path);
  if (st.st_uid != ::geteuid())
    return make_error(TLC_E_DENIED, path + " belongs to user " + std::to_string(st.st_uid) + ", not to " +
                                        std::to_string(::geteuid()) + "; set TLC_DIR to a folder of your own");
  if ((st.st_mode & 022) != 0)
    return make_error(TLC_E_DENIED, path + " can be written by others; run: chmod 0700 " + path);
  return dir;
}

// 10 GiB, but no more than a tenth of the file system and half of what is free in it now.
std::uint64_t default_limit(int dir) {
  struct statvfs fs {};
  if (::fstatvfs(dir, &fs) != 0) return kLeastDefaultLimit;
  const std::uint64_t tenth = std::max<std::uint64_t>(fs.f_blocks * fs.f_frsize / 10, kLeastDefaultLimit);
  return std::min({kMostDefaultLimit, tenth, static_cast<std::uint64_t>(fs.f_bavail * fs.f_frsize / 2)});
}

Config new_config(int dir, std::uint64_t limit) {
  Config config;
  port::random_bytes(config.id.bytes.data(), config.id.bytes.size());
  config.limit = std::max(limit == 0 ? default_limit(dir) : limit, kMinLimit);
  config.segment_size = segment_size_for(config.limit);
  return config;
}

/// Removes all index folders and returns a generation above theirs.
std::uint64_t retire_indexes(int dir) {
  std::uint64_t highest = 0;
  Result<std::vector<std::string>> names = port::list_dir_at(dir, ".");
  if (!names) return 1;
  for (const std::string& name : *names) {
    if (!name.starts_with("index-")) continue;
    std::uint64_t generation = 0;
    std::from_chars(name.data() + 6, name.data() + name.size(), generation);
    highest = std::max(highest, generation);
    (void)port::remove_tree_at(dir, name.c_str());
  }
  return highest + 1;
}

}  // namespace

Store::Store(StoreOptions options, std::string path, port::Fd dir, port::Fd segments_dir, Control control,
             std::unique_ptr<WriteLock> write_lock, std::unique_ptr<WriteLock> maintenance_lock, Config config)
    : options_(std::move(options)),
      path_(std::move(path)),
      dir_(std::move(dir)),
      segments_dir_(std::move(segments_dir)),
      control_(std::move(control)),
      id_(control_.id()),
      write_lock_(std::move(write_lock)),
      maintenance_lock_(std::move(maintenance_lock)),
      index_(dir_.get(), path_, control_, write_lock_.get()),
      segments_(segments_dir_.get()),
      appender_(segments_dir_.get(), control_, options_.durable),
      compile_locks_(dir_.get()),
      table_(ArtifactTable::create()),
      seen_removed_(control_.header()->removed_segments.load()),
      config_(std::move(config)),
      config_version_(control_.header()->config_version.load()) {}

Store::~Store() {
  fold_counters();
  table_->clear();
}

Result<std::shared_ptr<Store>> Store::open(const StoreOptions& options) {
  port::close_inherited_lock_files();
  std::string path;
  Result<port::Fd> dir = open_format_folder(options, path);
  if (!dir) return std::move(dir).error();
  struct stat st {};
  if (::fstat(dir->get(), &st) != 0) return io_error(errno, "cannot stat " + path);
  OpenStores& all = open_stores();
  const std::lock_guard lock(all.mutex);
  const OpenStores::Id id{st.st_dev, st.st_ino, options.read_only, options.durable, options.user_key.has_value()};
  std::weak_ptr<Store>& place = all.stores[id];
  if (std::shared_ptr<Store> open = place.lock(); open != nullptr && !open->replaced()) return open;
  Result<std::shared_ptr<Store>> made =
      options.read_only ? open_read_only(options, path, std::move(*dir)) : open_new(options, path, std::move(*dir));
  if (made) place = *made;
  return made;
}

Result<std::shared_ptr<Store>> Store::open_read_only(const StoreOptions& options, const std::string& path,
                                                     port::Fd dir) {
  Result<Control> control = Control::open(dir.get(), false);
  if (!control) return std::move(control).error();
  Result<port::Fd> segments = port::open_at(dir.get(), "segments", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!segments) return std::move(segments).error();
  return std::shared_ptr<Store>(
      new Store(options, path, std::move(dir), std::move(*segments), std::move(*control), nullptr, nullptr, Config{}));
}

// What one of the two files lost, the other still has. If both are gone the store is new: what segments there are were
// made under another id and will be evicted first.
Result<std::pair<Control, Config>> Store::mend(int dir, const StoreOptions& options) {
  Result<Control> control = Control::open(dir, true);
  if (!control && control.error().status != TLC_E_CORRUPT && control.error().sys_errno != ENOENT)
    return std::move(control).error();
  Result<std::optional<Config>> read = read_config(dir);
  if (!read) return std::move(read).error();
  std::optional<Config> config = std::move(*read);
  if (control && config && config->id.bytes == control->id().bytes)
    return std::pair<Control, Config>(std::move(*control), std::move(*config));
  if (control && !config) {
    config.emplace();
    config->id = control->id();
    config->limit = control->header()->limit.load();
    config->segment_size = control->header()->segment_size.load();
    if (config->limit < kMinLimit) config.reset();
  }
  if (!config) config = new_config(dir, options.limit);
  if (Result<void> done = write_config(dir, *config, options.durable); !done) return std::move(done).error();
  TLC_STEP("open.config");
  if (control && control->id().bytes == config->id.bytes)
    return std::pair<Control, Config>(std::move(*control), std::move(*config));
  // Whether what the segments have was promised to survive is not known any more.
  const Result<std::vector<std::string>> segments = port::list_dir_at(dir, "segments");
  const bool durable = options.durable || (segments && !segments->empty());
  Result<Control> made =
      Control::create(dir, {config->id, retire_indexes(dir), config->limit, config->segment_size, durable});
  if (!made) return std::move(made).error();
  TLC_STEP("open.control");
  return std::pair<Control, Config>(std::move(*made), std::move(*config));
}

Result<std::shared_ptr<Store>> Store::open_new(const StoreOptions& options, const std::string& path, port::Fd dir) {
  Result<std::unique_ptr<WriteLock>> write_lock = WriteLock::open(dir.get(), "write.lock");
  if (!write_lock) return std::move(write_lock).error();
  Result<std::unique_ptr<WriteLock>> maintenance_lock = WriteLock::open(dir.get(), "maintenance.lock");
  if (!maintenance_lock) return std::move(maintenance_lock).error();
  for (const char* name : {"segments", "files"})
    if (Result<void> made = port::make_dir_at(dir.get(), name); !made) return std::move(made).error();
  Result<port::Fd> segments = port::open_at(dir.get(), "segments", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!segments) return std::move(segments).error();

  Result<Control> control = Control::open(dir.get(), true);
  Result<std::optional<Config>> config = read_config(dir.get());
  std::optional<std::pair<Control, Config>> both;
  if (control && config && *config && (*config)->id.bytes == control->id().bytes) {
    both.emplace(std::move(*control), std::move(**config));
  } else {
    Result<WriteLock::Held> held = (*write_lock)->acquire(port::Deadline::after_ms(kOpenLockMs));
    if (!held) return std::move(held).error();
    Result<std::pair<Control, Config>> mended = mend(dir.get(), options);
    if (!mended) return std::move(mended).error();
    both.emplace(std::move(*mended));
  }
  std::shared_ptr<Store> store(new Store(options, path, std::move(dir), std::move(*segments), std::move(both->first),
                                         std::move(*write_lock), std::move(*maintenance_lock),
                                         std::move(both->second)));
  const bool rebooted = store->index_.from_another_boot();
  if (rebooted || store->control_.header()->used_bytes.load() == 0) (void)store->measure();
  if (options.durable)
    if (Result<void> done = store->make_durable(); !done) return std::move(done).error();
  // Readers would believe it as it is. Where nothing was promised, the first writer sees to it.
  if (rebooted && store->control_.header()->durable.load() != 0) (void)store->index_.settle_boot();
  store->rebuild_some(2'000'000);
  return store;
}

Result<void> Store::make_durable() {
  Result<port::Fd> config = port::open_at(dir_.get(), "config", O_RDONLY);
  if (!config) return std::move(config).error();
  Result<void> done = port::sync_data(config->get());
  if (done) done = control_.make_durable();
  if (done) done = port::sync_folder(dir_.get());
  return done ? port::sync_way_to(path_) : done;
}

// Another process may have changed it.
Config Store::current_config() {
  const std::lock_guard lock(config_mutex_);
  const std::uint64_t version = control_.header()->config_version.load(std::memory_order_acquire);
  if (version == config_version_) return config_;
  if (Result<std::optional<Config>> read = read_config(dir_.get()); read && *read) {
    config_ = std::move(**read);
    config_version_ = version;
  }
  return config_;
}

// ---- counters

std::uint32_t Store::tally_for(std::string_view name_space) {
  const auto found = tally_index_.find(name_space);
  if (found != tally_index_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(tallies_.size());
  tallies_.push_back({counter_block_for(control_, name_space), std::string(name_space), {}});
  tally_index_.emplace(name_space, number);
  table_->add_counter();
  return number;
}

void Store::count(std::string_view name_space, Counter counter, std::uint64_t amount) {
  const std::lock_guard lock(tally_mutex_);
  std::uint64_t& value = tallies_[tally_for(name_space)].values[static_cast<std::size_t>(counter)];
  if (counter != Counter::youngest_evicted_s)
    value += amount;
  else if (value == 0 || amount < value)
    value = amount;
}

void Store::fold_counters() {
  if (options_.trace != nullptr) options_.trace->flush();
  const std::lock_guard lock(tally_mutex_);
  const std::vector<std::uint64_t> hits = table_->take_hits();
  for (std::size_t i = 0; i < tallies_.size(); ++i) {
    Tally& tally = tallies_[i];
    if (i < hits.size()) tally.values[static_cast<std::size_t>(Counter::hits)] += hits[i];
    add_counters(control_, tally.block, tally.values);
    tally.values = {};
  }
}

std::shared_ptr<void> Store::companion(const std::function<std::shared_ptr<void>()>& make) {
  const std::lock_guard lock(companion_mutex_);
  if (companion_ == nullptr) companion_ = make();
  return companion_;
}

}  // namespace tlc::store
