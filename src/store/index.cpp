// SPDX-License-Identifier: MIT
#include "store/index.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "port/file.hpp"
#include "port/step.hpp"
#include "store/format.hpp"
#include "store/index/validate.hpp"
#include "store/opening_mark.hpp"

namespace tlc::store {
namespace {

constexpr std::uint64_t kWriteLockMs = 1000;
constexpr std::uint64_t kSettleMs = 5000;

std::string folder_of(std::uint64_t generation) {
  return "index-" + std::to_string(generation);
}

Result<port::Fd> open_folder(int dir, const std::string& name) {
  return port::open_at(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

Error not_stored(Error error) {
  if (error.status != kReplaced) error.status = TLC_NOT_STORED;
  return error;
}

}  // namespace

bool Index::from_another_boot() const {
  return boot_hash() == 0 || control_.header()->boot.load() != boot_hash();
}

// What was not synced may be lost, in any part. An index that is valid may still be an older one, or have older pages
// of the same form: where records were promised to survive, they are looked for in the segments. And a segment whose
// end may have been lost takes no more: what comes after it would lie in a record that was to be longer.
void Index::begin_boot() {
  ControlHeader* header = control_.header();
  if (header->durable.load() != 0) {
    for (SharedWord& active : header->active) active.store(0);
    header->rebuild_segment.store(0);
    header->rebuild.store(1);
  }
  header->boot.store(boot_hash());
}

Result<void> Index::settle_boot() {
  Result<WriteLock::Held> held = write_lock_->acquire(port::Deadline::after_ms(kSettleMs));
  if (!held) return std::move(held).error();
  if (!from_another_boot()) return {};
  const OpeningMark mark(control_);
  Result<IndexWriter*> opened = writer(mark.suspect());
  return opened ? Result<void>{} : opened.error();
}

Index::Index(int format_dir, std::string format_path, const Control& control, WriteLock* write_lock)
    : dir_(format_dir), path_(std::move(format_path)), control_(control), write_lock_(write_lock) {}

Index::~Index() = default;

IndexReader* Index::reader() {
  const std::uint64_t generation = control_.header()->index_generation.load(std::memory_order_acquire);
  Open* open = current_.load(std::memory_order_acquire);
  if (open != nullptr && open->generation == generation) return &open->reader;
  return open_reader(generation);
}

IndexReader* Index::open_reader(std::uint64_t generation) {
  const std::lock_guard lock(readers_mutex_);
  for (const auto& open : readers_) {
    if (open->generation != generation) continue;
    current_.store(open.get(), std::memory_order_release);
    return &open->reader;
  }
  Result<port::Fd> folder = open_folder(dir_, folder_of(generation));
  if (!folder) return nullptr;
  const auto open_data = [&](bool use_pread) -> Result<IndexReader> {
    Result<port::Fd> file = port::open_at(folder->get(), kDataFileName, O_RDONLY | O_NOFOLLOW);
    if (!file) return std::move(file).error();
    return IndexReader::open(std::move(*file), &control_.header()->index, kIndexMapSize, use_pread);
  };
  Result<IndexReader> mapped = open_data(false);
  Result<IndexReader> made = mapped ? std::move(mapped) : open_data(true);  // no room for the mapping
  if (!made) return nullptr;
  readers_.push_back(std::make_unique<Open>(Open{generation, std::move(*made)}));
  current_.store(readers_.back().get(), std::memory_order_release);
  return &readers_.back()->reader;
}

// The next writer validates what a reader could not make sense of.
void Index::report(Lookup outcome) {
  if (outcome != Lookup::corrupt || !control_.writable()) return;
  ControlHeader* header = control_.header();
  header->suspect.store(header->index_generation.load(), std::memory_order_relaxed);
}

Lookup Index::get(const trust::Digest& key, IndexRecord& out) {
  IndexReader* from = reader();
  if (from == nullptr) return Lookup::miss;
  const Lookup outcome = from->get(key, out);
  report(outcome);
  return outcome;
}

Lookup Index::for_each(const IndexReader::Visitor& visit) {
  IndexReader* from = reader();
  if (from == nullptr) return Lookup::hit;
  const Lookup outcome = from->for_each(visit);
  report(outcome);
  return outcome;
}

std::uint64_t Index::entries() {
  IndexReader* from = reader();
  return from == nullptr ? 0 : from->entries();
}

std::uint64_t Index::used_bytes() {
  IndexReader* from = reader();
  return from == nullptr ? 0 : from->used_bytes();
}

Result<void> Index::open_writer(std::uint64_t generation) {
  const std::string name = folder_of(generation);
  if (Result<void> made = port::make_dir_at(dir_, name.c_str()); !made) return made;
  Result<port::Fd> folder = open_folder(dir_, name);
  if (!folder) return std::move(folder).error();
  ControlHeader* header = control_.header();
  struct stat st {};
  if (::fstatat(folder->get(), kDataFileName, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) {
    header->rebuild_segment.store(0);  // a new index knows none of the segments there may be
    header->rebuild.store(1);
  }
  const bool another_boot = from_another_boot();
  const bool trusted = !another_boot && header->suspect.load() != generation;
  Result<IndexWriter> made =
      IndexWriter::open(folder->get(), path_ + "/" + name, &header->index, kIndexMapSize, trusted);
  if (!made) return std::move(made).error();
  writer_.emplace(std::move(*made));
  writer_dir_ = std::move(*folder);
  writer_generation_ = generation;
  if (another_boot) begin_boot();
  if (header->suspect.load() == generation) header->suspect.store(0);
  return {};
}

bool Index::is_open() const {
  const std::uint64_t generation = control_.header()->index_generation.load();
  return writer_ && writer_generation_ == generation && control_.header()->suspect.load() != generation;
}

// Also repeats the validation when a reader has found the index damaged since this process opened it.
Result<IndexWriter*> Index::writer(Suspect suspect) {
  ControlHeader* header = control_.header();
  const std::uint64_t generation = header->index_generation.load();
  if (is_open()) return &*writer_;
  if (suspect == Suspect::store) {
    if (Result<void> done = set_store_aside(dir_, path_); !done) return std::move(done).error();
    return make_error(kReplaced, "processes died of opening this store: it was set aside");
  }
  writer_.reset();
  Result<void> opened = suspect == Suspect::index ? swap_in_empty() : open_writer(generation);
  if (!opened && opened.error().status == TLC_E_CORRUPT) opened = swap_in_empty();
  if (!opened) return std::move(opened).error();
  return &*writer_;
}

Result<void> Index::swap_in_empty() {
  writer_.reset();
  ControlHeader* header = control_.header();
  const std::uint64_t old = header->index_generation.load();
  const std::uint64_t next = old + 1;
  // Left by a process that was killed here: nobody uses it.
  if (Result<void> gone = port::remove_tree_at(dir_, folder_of(next).c_str()); !gone) return gone;
  if (Result<void> opened = open_writer(next); !opened) return opened;
  header->index_generation.store(next, std::memory_order_release);
  header->suspect.store(0);
  header->change.fetch_add(1, std::memory_order_release);
  return port::remove_tree_at(dir_, folder_of(old).c_str());  // who still walks it keeps its mapping
}

Result<void> Index::update(const std::function<Result<void>(IndexWriter&)>& fn) {
  if (!control_.writable() || write_lock_ == nullptr) return make_error(TLC_NOT_STORED, "the store is read-only");
  Result<WriteLock::Held> held = write_lock_->acquire(port::Deadline::after_ms(kWriteLockMs));
  if (!held) return not_stored(std::move(held).error());
  if (!control_.still_linked(dir_)) return make_error(kReplaced, "the store's control file was replaced");
  std::optional<OpeningMark> mark;
  if (!is_open()) mark.emplace(control_);
  Result<IndexWriter*> opened = writer(mark ? mark->suspect() : Suspect::none);
  TLC_STEP("index.opened");
  if (!opened) return not_stored(std::move(opened).error());
  IndexWriter& index = **opened;
  if (Result<void> begun = index.begin(); !begun) return not_stored(std::move(begun).error());
  if (Result<void> done = fn(index); !done) {
    index.abort();
    return done;
  }
  if (Result<void> committed = index.commit(); !committed) return not_stored(std::move(committed).error());
  return {};
}

Result<std::string> Index::validate_now(bool repair) {
  Result<WriteLock::Held> held = write_lock_->acquire(port::Deadline::after_ms(10 * kWriteLockMs));
  if (!held) return std::move(held).error();
  const OpeningMark mark(control_);
  const std::uint64_t generation = control_.header()->index_generation.load();
  Result<port::Fd> folder = open_folder(dir_, folder_of(generation));
  std::string fault;
  const bool used = control_.header()->index.txnid.load() != 0;  // else there may be no file yet
  if (folder) {
    Result<port::Fd> file = port::open_at(folder->get(), kDataFileName, O_RDONLY | O_NOFOLLOW);
    if (file) {
      Result<ValidationReport> report = validate(file->get(), kIndexMapSize, &control_.header()->index, true);
      if (!report)
        fault = report.error().message;
      else if (!report->valid)
        fault = report->error + std::string(" on page ") + std::to_string(report->error_page);
    } else if (used || file.error().sys_errno != ENOENT) {
      fault = file.error().message;
    }
  } else if (used || folder.error().sys_errno != ENOENT) {
    fault = folder.error().message;
  }
  if (fault.empty() && mark.suspect() != Suspect::none) fault = "processes died of opening it";
  if (!fault.empty() && repair)
    if (Result<void> swapped = swap_in_empty(); !swapped) return std::move(swapped).error();
  return fault;
}

}  // namespace tlc::store
