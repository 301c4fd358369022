// SPDX-License-Identifier: MIT
#include "tier/outbox.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "port/clock.hpp"
#include "port/file.hpp"
#include "port/lock.hpp"
#include "port/step.hpp"

namespace tlc::tier {
namespace {

constexpr const char* kFolder = "outbox";
constexpr const char* kLock = "lock";
constexpr const char* kNow = ".now";
constexpr std::array<const char*, 3> kOps = {".put", ".new", ".del"};
constexpr std::int64_t kOldS = std::int64_t{30} * 24 * 3600;
constexpr std::size_t kHexDigits = 64;

const char* suffix(Outbox::Op op) {
  return kOps[static_cast<std::size_t>(op)];
}

bool exists(int dir, const std::string& name) {
  struct stat st {};
  return ::fstatat(dir, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/// Queues of remotes that nobody names any more.
void remove_old_queues(int outbox, const std::string& own) {
  const Result<std::vector<std::string>> names = port::list_dir_at(outbox, ".");
  if (!names) return;
  const auto now = static_cast<std::int64_t>(port::wall_ns() / 1'000'000'000);
  for (const std::string& name : *names) {
    struct stat st {};
    if (name != own && ::fstatat(outbox, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        now - st.st_mtim.tv_sec > kOldS)
      (void)port::remove_tree_at(outbox, name.c_str());
  }
}

}  // namespace

Result<std::unique_ptr<Outbox>> Outbox::open(int store_dir, const std::string& id) {
  if (Result<void> made = port::make_dir_at(store_dir, kFolder); !made) return std::move(made).error();
  Result<port::Fd> all = port::open_at(store_dir, kFolder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!all) return std::move(all).error();
  remove_old_queues(all->get(), id);
  if (Result<void> made = port::make_dir_at(all->get(), id.c_str()); !made) return std::move(made).error();
  Result<port::Fd> dir = port::open_at(all->get(), id.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!dir) return std::move(dir).error();
  Result<port::Fd> lock = port::open_at(dir->get(), kLock, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock) return std::move(lock).error();
  std::unique_ptr<Outbox> made(new Outbox(std::move(*dir), port::LockFile(std::move(*lock))));
  made->noted_ = made->size();
  return made;
}

Result<void> Outbox::note(const trust::Digest& key, Op op) {
  if (noted_.load(std::memory_order_relaxed) >= kMost) {
    noted_.store(size(), std::memory_order_relaxed);
    if (noted_.load(std::memory_order_relaxed) >= kMost)
      return make_error(TLC_NOT_STORED, "4096 keys are queued for the remote already");
  }
  const std::string name = trust::to_hex(key) + suffix(op);
  Result<port::Fd> made = port::open_at(dir_.get(), name.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
  if (!made) return std::move(made).error();
  noted_.fetch_add(1, std::memory_order_relaxed);
  TLC_STEP("outbox.noted");
  return {};
}

bool Outbox::has(const trust::Digest& key) const {
  const std::string hex = trust::to_hex(key);
  return std::any_of(kOps.begin(), kOps.end(), [&](const char* op) {
    return exists(dir_.get(), hex + op) || exists(dir_.get(), hex + op + kNow);
  });
}

Result<std::vector<trust::Digest>> Outbox::pending(std::size_t most) const {
  Result<std::vector<std::string>> names = port::list_dir_at(dir_.get(), ".");
  if (!names) return std::move(names).error();
  std::vector<trust::Digest> keys;
  for (const std::string& name : *names) {
    const auto key = trust::digest_from_hex(std::string_view(name).substr(0, kHexDigits));
    if (!key || (!keys.empty() && keys.back() == *key)) continue;  // sorted: a key's files are neighbours
    if (keys.size() == most) break;
    keys.push_back(*key);
  }
  return keys;
}

std::size_t Outbox::size() const {
  const Result<std::vector<trust::Digest>> keys = pending(SIZE_MAX);
  return keys ? keys->size() : 0;
}

Result<bool> Outbox::try_lock() {
  return port::try_lock(lock_.get(), 0, 1, port::LockMode::exclusive);
}

void Outbox::unlock() {
  (void)port::unlock(lock_.get(), 0, 1);
}

Outbox::Wanted Outbox::begin(const trust::Digest& key) {
  Wanted wanted;
  const std::string hex = trust::to_hex(key);
  for (const Op op : {Op::put, Op::replace, Op::remove}) {
    const std::string name = hex + suffix(op);
    const std::string now = name + kNow;
    const bool fresh = ::renameat(dir_.get(), name.c_str(), dir_.get(), now.c_str()) == 0;
    if (!fresh && !exists(dir_.get(), now)) continue;
    wanted.anything = true;
    wanted.replace = wanted.replace || op != Op::put;
    wanted.remove = wanted.remove || op == Op::remove;
  }
  TLC_STEP("outbox.begun");
  return wanted;
}

void Outbox::end(const trust::Digest& key) {
  TLC_STEP("outbox.written");
  const std::string hex = trust::to_hex(key);
  for (const char* op : kOps) (void)::unlinkat(dir_.get(), (hex + op + kNow).c_str(), 0);
}

}  // namespace tlc::tier
