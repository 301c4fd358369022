// SPDX-License-Identifier: MIT
// How this file keeps liblmdb within what was tested:
//
//  * Every environment has the same flags and map size; others would see MDB_MAP_RESIZED.
//  * mdb_dbi_open is called once per environment, for the main tree too: without it the tree has no
//    comparison function.
//  * After a failed commit the environment is closed and opened again: liblmdb may have marked it
//    fatal.
//  * A new file is made under another name and renamed: half a pair of metas would be MDB_INVALID
//    for ever.
//  * A path is all that mdb_env_open takes: the file it opened is compared with the one that the
//    folder's descriptor names.
#include "store/index/writer.hpp"

#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "port/file.hpp"
#include "store/index/data_file.hpp"
#include "store/index/page_source.hpp"
#include "store/index/validate.hpp"

namespace tlc::store {
namespace {

constexpr unsigned kEnvironmentFlags = MDB_NOLOCK | MDB_NOSYNC | MDB_NORDAHEAD | MDB_NOTLS | MDB_NOSUBDIR;
constexpr MDB_dbi kFreeListTree = 0;  // what liblmdb's own tools use to read the free list's size
constexpr const char* kNewFileName = "data.mdb.new";
constexpr unsigned kFullPercent = 70;

/// liblmdb's code as an Error: "<what>: <its text>".
Error lmdb_error(int code, const std::string& what) {
  Error error = make_error(TLC_E_IO, what + ": " + mdb_strerror(code));
  if (code > 0) error.sys_errno = code;
  switch (code) {
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
    case ENOSPC:
    case EDQUOT:
      error.status = TLC_NOT_STORED;
      break;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_VERSION_MISMATCH:
      error.status = TLC_E_CORRUPT;
      break;
    case ENOMEM:
      error.status = TLC_E_NOMEM;
      break;
    case MDB_BAD_TXN:
    case MDB_PANIC:
      error.status = TLC_E_INTERNAL;
      break;
    default:
      break;
  }
  return error;
}

struct CloseEnvironment {
  void operator()(MDB_env* environment) const { mdb_env_close(environment); }
};
using Environment = std::unique_ptr<MDB_env, CloseEnvironment>;

struct AbortTransaction {
  void operator()(MDB_txn* transaction) const { mdb_txn_abort(transaction); }
};
using Transaction = std::unique_ptr<MDB_txn, AbortTransaction>;

Result<Environment> open_environment(const std::string& path, std::size_t map_size) {
  MDB_env* raw = nullptr;
  int code = mdb_env_create(&raw);
  if (code != 0) return lmdb_error(code, "cannot create an LMDB environment");
  Environment environment(raw);
  code = mdb_env_set_mapsize(raw, map_size);
  if (code == 0) code = mdb_env_open(raw, path.c_str(), kEnvironmentFlags, 0600);
  if (code != 0) return lmdb_error(code, "cannot open the index " + path);
  return environment;
}

Result<MDB_dbi> open_main_tree(MDB_env* environment) {
  MDB_txn* raw = nullptr;
  MDB_dbi tree = 0;
  int code = mdb_txn_begin(environment, nullptr, MDB_RDONLY, &raw);
  if (code != 0) return lmdb_error(code, "cannot read the index");
  const Transaction transaction(raw);
  code = mdb_dbi_open(raw, nullptr, 0, &tree);
  if (code != 0) return lmdb_error(code, "cannot open the index's main tree");
  return tree;
}

MDB_val bytes_of(const trust::Digest& key) {
  return {kKeySize, const_cast<std::uint8_t*>(key.bytes.data())};
}

std::uint64_t tree_pages(const MDB_stat& tree) {
  return tree.ms_branch_pages + tree.ms_leaf_pages + tree.ms_overflow_pages;
}

}  // namespace

Result<void> check_lmdb_version(int major, int minor, int patch) {
  if (major == 0 && minor == 9 && patch >= 24 && patch <= 35) return {};
  return make_error(TLC_E_UNSUPPORTED, "liblmdb " + std::to_string(major) + "." + std::to_string(minor) + "." +
                                           std::to_string(patch) +
                                           " was not tested with TLCache's readers: use one from 0.9.24 to 0.9.35");
}

struct IndexWriter::State {
  std::string path;
  IndexControl* control = nullptr;
  std::size_t map_size = 0;
  std::size_t page_size = 0;
  struct stat identity {};  // of data.mdb as the folder's descriptor named it at open
  Environment environment;
  Transaction transaction;  // after environment: it ends first
  MDB_dbi tree = 0;
  bool reopen = false;

  Result<void> create(int dirfd) const;
  Result<void> check(int dirfd, bool trusted_boot) const;
  Result<void> open();
  /// Whether liblmdb has open what `expected` describes.
  Result<void> is_file(const struct stat& expected) const;
  Result<void> make_room() const;
  [[nodiscard]] int file() const;
  [[nodiscard]] MDB_envinfo info() const;
  [[nodiscard]] MDB_stat main_stat() const;
  /// Pages that hold something now: the metas, the main tree, the free list's own tree.
  [[nodiscard]] std::uint64_t live_pages() const;
  mutable std::uint64_t free_list_pages = 0;  // as the last transaction saw it
  Result<void> needs_transaction() const;
};

int IndexWriter::State::file() const {
  mdb_filehandle_t descriptor = -1;
  if (environment) (void)mdb_env_get_fd(environment.get(), &descriptor);
  return descriptor;
}

MDB_envinfo IndexWriter::State::info() const {
  MDB_envinfo info{};
  if (environment) (void)mdb_env_info(environment.get(), &info);
  return info;
}

MDB_stat IndexWriter::State::main_stat() const {
  MDB_stat stat{};
  if (transaction) {
    (void)mdb_stat(transaction.get(), tree, &stat);
  } else if (environment) {
    (void)mdb_env_stat(environment.get(), &stat);
  }
  return stat;
}

std::uint64_t IndexWriter::State::live_pages() const {
  MDB_stat free_list{};
  if (transaction && mdb_stat(transaction.get(), kFreeListTree, &free_list) == 0) {
    free_list_pages = tree_pages(free_list);
  }
  return 2 + tree_pages(main_stat()) + free_list_pages;
}

Result<void> IndexWriter::State::create(int dirfd) const {
  const std::string new_path = path.substr(0, path.size() - std::strlen(kDataFileName)) + kNewFileName;
  if (unlinkat(dirfd, kNewFileName, 0) != 0 && errno != ENOENT) {
    return io_error(errno, "cannot remove " + new_path);
  }
  // Made here, since liblmdb opens it twice, which a umask such as 0777 would forbid; it takes an empty file for a new
  // one.
  if (auto made = port::open_at(dirfd, kNewFileName, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600); !made.ok()) {
    return std::move(made).error();
  }
  auto created = open_environment(new_path, map_size);  // writes the two metas
  if (!created.ok()) return std::move(created).error();
  created->reset();
  control->txnid.store(0, std::memory_order_seq_cst);
  if (renameat(dirfd, kNewFileName, dirfd, kDataFileName) != 0) {
    return io_error(errno, "cannot put the new index " + path + " in place");
  }
  return {};
}

Result<void> IndexWriter::State::check(int dirfd, bool trusted_boot) const {
  auto file = port::open_at(dirfd, kDataFileName, O_RDONLY | O_NOFOLLOW);
  if (!file.ok()) return std::move(file).error();
  if (trusted_boot && signature_matches(file->get(), *control)) return {};
  auto report = validate(file->get(), map_size, nullptr);
  if (!report.ok()) return std::move(report).error();
  if (report->valid) return {};
  return make_error(TLC_E_CORRUPT, "the index " + path + " is damaged: " + report->error + ", page " +
                                       std::to_string(report->error_page) + "; it will be rebuilt from the segments");
}

Result<void> IndexWriter::State::open() {
  auto opened = open_environment(path, map_size);
  if (!opened.ok()) return std::move(opened).error();
  auto main_tree = open_main_tree(opened->get());
  if (!main_tree.ok()) return std::move(main_tree).error();
  environment = std::move(*opened);
  tree = *main_tree;
  auto same = is_file(identity);
  reopen = !same.ok();
  return same;
}

Result<void> IndexWriter::State::is_file(const struct stat& expected) const {
  struct stat opened {};
  if (fstat(file(), &opened) != 0) return io_error(errno, "cannot stat the index " + path);
  if (expected.st_dev == opened.st_dev && expected.st_ino == opened.st_ino) return {};
  return make_error(TLC_E_IO, "the index folder was replaced while " + path + " was in use: open the store again");
}

Result<void> IndexWriter::State::make_room() const {
  const std::uint64_t used = info().me_last_pgno + 1;
  const std::uint64_t live = live_pages();
  return store::make_room(file(), used * page_size, (used > live ? used - live : 0) * page_size, map_size);
}

Result<void> IndexWriter::State::needs_transaction() const {
  if (transaction) return {};
  return make_error(TLC_E_INTERNAL, "the index was written to outside a transaction");
}

IndexWriter::IndexWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
IndexWriter::IndexWriter(IndexWriter&&) noexcept = default;
IndexWriter& IndexWriter::operator=(IndexWriter&&) noexcept = default;
IndexWriter::~IndexWriter() = default;

Result<IndexWriter> IndexWriter::open(int index_dirfd, const std::string& index_path, IndexControl* control,
                                      std::size_t map_size, bool trusted_boot) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  (void)mdb_version(&major, &minor, &patch);
  if (auto tested = check_lmdb_version(major, minor, patch); !tested.ok()) {
    return std::move(tested).error();
  }
  auto state = std::make_unique<State>();
  state->path = index_path + "/" + kDataFileName;
  state->control = control;
  state->map_size = map_size;
  state->page_size = native_index_page_size();

  struct stat status {};
  const bool there = fstatat(index_dirfd, kDataFileName, &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (!there && errno != ENOENT) return io_error(errno, "cannot stat the index " + state->path);
  auto ready = there ? state->check(index_dirfd, trusted_boot) : state->create(index_dirfd);
  if (ready.ok() && fstatat(index_dirfd, kDataFileName, &state->identity, AT_SYMLINK_NOFOLLOW) != 0) {
    return io_error(errno, "cannot stat the index " + state->path);
  }
  if (ready.ok()) ready = state->open();
  if (!ready.ok()) return std::move(ready).error();
  control->txnid.store(state->info().me_last_txnid, std::memory_order_seq_cst);
  store_signature(state->file(), *control);
  return IndexWriter(std::move(state));
}

Result<void> IndexWriter::begin() {
  State& state = *state_;
  if (state.transaction) return make_error(TLC_E_INTERNAL, "the index is in a transaction already");
  if (state.reopen || !state.environment) {
    state.environment.reset();
    if (auto opened = state.open(); !opened.ok()) return opened;
  }
  if (auto room = state.make_room(); !room.ok()) return room;
  MDB_txn* raw = nullptr;
  const int code = mdb_txn_begin(state.environment.get(), nullptr, 0, &raw);  // writes nothing
  if (code != 0) {
    state.reopen = true;
    return lmdb_error(code, "cannot begin an index transaction");
  }
  state.transaction.reset(raw);
  // Also heals the word of a writer that died between its commit and its publish.
  state.control->txnid.store(mdb_txn_id(raw) - 1, std::memory_order_seq_cst);
  // Readers must see the word before any page this transaction writes: from here on it may write.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return {};
}

Result<bool> IndexWriter::put(const trust::Digest& key, const IndexRecord& record) {
  State& state = *state_;
  if (auto open = state.needs_transaction(); !open.ok()) return std::move(open).error();
  if (nearly_full()) {
    return make_error(TLC_NOT_STORED,
                      "the index is full (" + std::to_string(kFullPercent) + " % of its map): remove entries first");
  }
  const std::uint64_t before = entries();
  MDB_val name = bytes_of(key);
  MDB_val value{kRecordSize, const_cast<IndexRecord*>(&record)};
  const int code = mdb_put(state.transaction.get(), state.tree, &name, &value, 0);
  if (code != 0) return lmdb_error(code, "cannot put a record into the index");
  return entries() != before;
}

Result<bool> IndexWriter::remove(const trust::Digest& key) {
  State& state = *state_;
  if (auto open = state.needs_transaction(); !open.ok()) return std::move(open).error();
  MDB_val name = bytes_of(key);
  const int code = mdb_del(state.transaction.get(), state.tree, &name, nullptr);
  if (code == MDB_NOTFOUND) return false;
  if (code != 0) return lmdb_error(code, "cannot remove a record from the index");
  return true;
}

Result<Lookup> IndexWriter::get(const trust::Digest& key, IndexRecord& out) {
  State& state = *state_;
  if (auto open = state.needs_transaction(); !open.ok()) return std::move(open).error();
  MDB_val name = bytes_of(key);
  MDB_val value{};
  const int code = mdb_get(state.transaction.get(), state.tree, &name, &value);
  if (code == MDB_NOTFOUND) return Lookup::miss;
  if (code != 0) return lmdb_error(code, "cannot look a record up in the index");
  if (value.mv_size != kRecordSize) return Lookup::corrupt;
  std::memcpy(static_cast<void*>(&out), value.mv_data, kRecordSize);
  return Lookup::hit;
}

Result<void> IndexWriter::commit() {
  State& state = *state_;
  if (auto open = state.needs_transaction(); !open.ok()) return open;
  (void)state.live_pages();  // remembers the free list's size
  const int code = mdb_txn_commit(state.transaction.release());
  if (code != 0) {
    state.reopen = true;
    return lmdb_error(code, "cannot commit to the index");
  }
  // What the file says, not our own id: a commit that changed nothing does not advance it.
  state.control->txnid.store(state.info().me_last_txnid, std::memory_order_release);
  store_signature(state.file(), *state.control);
  return {};
}

void IndexWriter::abort() {
  state_->transaction.reset();
}

bool IndexWriter::nearly_full() const {
  const std::uint64_t limit = state_->map_size / state_->page_size;
  return state_->live_pages() * 100 > limit * kFullPercent;
}

std::uint64_t IndexWriter::entries() const {
  return state_->main_stat().ms_entries;
}

std::uint64_t IndexWriter::txnid() const {
  return state_->transaction ? mdb_txn_id(state_->transaction.get()) : 0;
}

bool IndexWriter::in_transaction() const {
  return static_cast<bool>(state_->transaction);
}

void IndexWriter::abandon() {
  // Let go, not freed: liblmdb's clean-up would act on what is the parent's.
  (void)state_->transaction.release();
  (void)state_->environment.release();
  state_->reopen = true;
}

}  // namespace tlc::store
