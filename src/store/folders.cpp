// SPDX-License-Identifier: MIT
// Materialised artifacts: files/<first 16 hex digits of the digest>-<sequence>[.<n>]/ with the members under their
// names.
//
// A folder is made under a temporary name and renamed: it is whole, or not there. It is never changed. Each process
// compares every file with the verified artifact before it hands the path out for the first time; a folder that fails
// is left to those who use it, and the next free <n> is made. While a process uses a folder it holds a shared OFD lock
// on files/<name>.lock; who gets the exclusive lock may remove the folder.
//
// dlopen knows a library by its path: a path that was loaded from here once never gets other bytes, since a name holds
// the sequence, and a folder that somebody removed is made again under another <n>.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "port/env.hpp"
#include "port/file.hpp"
#include "port/lock.hpp"
#include "port/step.hpp"
#include "port/system.hpp"
#include "store/store.hpp"

namespace tlc::store {
namespace {

constexpr int kMostCopies = 64;
constexpr std::size_t kCompareBlock = std::size_t{256} << 10;

std::string base_name(const Artifact& artifact) {
  return trust::to_hex(artifact.key()).substr(0, 16) + "-" + std::to_string(artifact.header().sequence);
}

mode_t mode_of(std::uint32_t type) {
  return type == TLC_MEMBER_SHARED_OBJECT ? 0500 : 0400;
}

bool file_equals(int dir, const MemberView& member) {
  Result<port::Fd> file = port::open_at(dir, std::string(member.name).c_str(), O_RDONLY | O_NOFOLLOW);
  if (!file) return false;
  struct stat st {};
  if (::fstat(file->get(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != ::geteuid() || (st.st_mode & 022) != 0 ||
      static_cast<std::uint64_t>(st.st_size) != member.data.size())
    return false;
  std::vector<std::uint8_t> block(std::min(kCompareBlock, member.data.size()));
  for (std::size_t at = 0; at < member.data.size(); at += block.size()) {
    const std::size_t size = std::min(block.size(), member.data.size() - at);
    const Result<std::size_t> got = port::pread_full(file->get(), block.data(), size, static_cast<off_t>(at));
    if (!got || *got != size || std::memcmp(block.data(), member.data.data() + at, size) != 0) return false;
  }
  return true;
}

bool folder_equals(int files_dir, const std::string& name, const Artifact& artifact) {
  Result<port::Fd> dir = port::open_at(files_dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!dir) return false;
  Result<std::vector<std::string>> names = port::list_dir_at(dir->get(), ".");
  if (!names || names->size() != artifact.members().size()) return false;
  for (const MemberView& member : artifact.members())
    if (!file_equals(dir->get(), member)) return false;
  return true;
}

Result<void> write_member(int dir, const MemberView& member) {
  const std::string name(member.name);
  Result<port::Fd> file = port::open_at(dir, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file) return std::move(file).error();
  if (Result<void> done = port::pwrite_full(file->get(), member.data.data(), member.data.size(), 0); !done) return done;
  if (::fchmod(file->get(), mode_of(member.type)) != 0) return io_error(errno, "cannot set the mode of " + name);
  return {};
}

Result<void> write_folder(int files_dir, const std::string& name, const Artifact& artifact) {
  if (Result<void> made = port::make_dir_at(files_dir, name.c_str(), true); !made) return made;
  Result<port::Fd> dir = port::open_at(files_dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!dir) return std::move(dir).error();
  for (const MemberView& member : artifact.members()) {
    if (Result<void> done = write_member(dir->get(), member); !done) return done;
    TLC_STEP("folder.member");
  }
  if (::fchmod(dir->get(), 0500) != 0) return io_error(errno, "cannot set the mode of " + name);
  return {};
}

/// The lock file of a folder, locked shared; nothing if it is being removed.
std::optional<port::Fd> use(int files_dir, const std::string& name) {
  const std::string lock_name = name + ".lock";
  Result<port::Fd> file = port::open_at(files_dir, lock_name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!file) return std::nullopt;
  const Result<bool> got = port::try_lock(file->get(), 0, 1, port::LockMode::shared);
  const Result<bool> same = port::same_file(file->get(), files_dir, lock_name.c_str());
  if (!got || !*got || !same || !*same) return std::nullopt;
  return std::move(*file);
}

}  // namespace

PrivateFolder::~PrivateFolder() {
  (void)port::remove_tree_at(AT_FDCWD, path_.c_str());
}

Result<std::string> Artifact::folder() const {
  if (inherited())
    return make_error(TLC_E_FORKED, "the artifact was found by the parent process; look its key up again here");
  if (const std::shared_ptr<Store> store = home.lock(); store != nullptr && !store->read_only()) {
    Result<std::string> path = store->folder(*this);
    if (path) return path;
  }
  const std::lock_guard lock(folder_mutex_);
  if (private_folder_ == nullptr) {
    const char* temporary = port::secure_env("TMPDIR");
    std::string path = std::string(temporary != nullptr && temporary[0] == '/' ? temporary : "/tmp") + "/tlcache-" +
                       std::to_string(port::random_u64());
    if (Result<void> made = write_folder(AT_FDCWD, path, *this); !made) {
      (void)port::remove_tree_at(AT_FDCWD, path.c_str());
      return std::move(made).error();
    }
    private_folder_ = std::make_unique<PrivateFolder>(std::move(path));
  }
  return private_folder_->path();
}

Result<std::string> Store::folder(const Artifact& artifact) {
  if (read_only()) return make_error(TLC_E_UNSUPPORTED, "a read-only store has no place for files");
  const std::lock_guard lock(folders_mutex_);
  const auto known = folders_.find(artifact.header().sequence);
  struct stat st {};
  if (known != folders_.end() && ::stat(known->second.path.c_str(), &st) == 0) return known->second.path;
  const int first = known == folders_.end() ? 0 : known->second.copy + 1;
  Result<port::Fd> files = port::open_at(dir_.get(), "files", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!files) return std::move(files).error();
  for (int copy = first; copy < first + kMostCopies; ++copy) {
    const std::string name = base_name(artifact) + (copy == 0 ? "" : "." + std::to_string(copy));
    std::optional<port::Fd> used = use(files->get(), name);
    if (!used) continue;
    if (::fstatat(files->get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      const std::string temporary = name + ".tmp-" + std::to_string(port::random_u64());
      Result<void> made = write_folder(files->get(), temporary, artifact);
      TLC_STEP("folder.written");
      if (made && ::renameat(files->get(), temporary.c_str(), files->get(), name.c_str()) != 0 && errno != EEXIST &&
          errno != ENOTEMPTY)
        made = io_error(errno, "cannot name the folder " + name);
      (void)port::remove_tree_at(files->get(), temporary.c_str());
      if (!made) return std::move(made).error();
      std::uint64_t size = 0;
      for (const MemberView& member : artifact.members()) size += align_up(member.data.size());
      control_.header()->used_bytes.fetch_add(size, std::memory_order_relaxed);
    }
    if (!folder_equals(files->get(), name, artifact)) continue;
    Folder& entry = folders_[artifact.header().sequence];
    entry = {path_ + "/files/" + name, std::move(*used), copy};
    return entry.path;
  }
  return make_error(TLC_E_IO, "no folder for the artifact's files could be made under " + path_ + "/files");
}

// Folders that no process uses. Maintenance lock held.
void Store::remove_idle_folders(GcReport& report) {
  Result<port::Fd> files = port::open_at(dir_.get(), "files", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!files) return;
  Result<std::vector<std::string>> names = port::list_dir_at(files->get(), ".");
  if (!names) return;
  for (const std::string& name : *names) {
    if (name.ends_with(".lock") || port::is_temporary_name(name)) continue;
    const std::string lock_name = name + ".lock";
    Result<port::Fd> file = port::open_at(files->get(), lock_name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (!file) continue;
    const Result<bool> got = port::try_lock(file->get(), 0, 1, port::LockMode::exclusive);
    if (!got || !*got) continue;
    if (port::remove_tree_at(files->get(), name.c_str())) ++report.removed_files;
    ::unlinkat(files->get(), lock_name.c_str(), 0);
  }
}

}  // namespace tlc::store
