// SPDX-License-Identifier: MIT
// Folders: make, list, measure, remove.
#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <utility>

#include "port/file.hpp"
#include "port/retry.hpp"

namespace tlc::port {

namespace {

/// Each level holds a descriptor; what we make is a few levels deep.
constexpr int kMaxDepth = 128;

struct CloseDir {
  void operator()(DIR* dir) const noexcept { ::closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

/// The names in an open folder; takes a descriptor of its own, so `fd` stays usable.
Result<std::vector<std::string>> names_in(int fd) {
  auto own = open_at(fd, ".", O_RDONLY | O_DIRECTORY);
  if (!own) return std::move(own).error();
  const Dir dir(::fdopendir(own->get()));
  if (!dir) return io_error(errno, "cannot list a folder");
  (void)own->release();  // closedir closes it

  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return io_error(errno, "cannot list a folder");
  std::sort(names.begin(), names.end());
  return names;
}

/// chmod of what an O_PATH descriptor names: no symlink can come between look and change.
int chmod_by_descriptor(int fd, mode_t mode) {
  return ::chmod(("/proc/self/fd/" + std::to_string(fd)).c_str(), mode);
}

/// Opens a folder, itself not a symlink, that this user may list and empty afterwards.
Result<Fd> open_to_empty(int dirfd, const char* name) {
  constexpr int kFolder = O_DIRECTORY | O_NOFOLLOW;
  auto folder = open_at(dirfd, name, O_RDONLY | kFolder);
  if (!folder && folder.error().sys_errno == EACCES) {
    auto place = open_at(dirfd, name, O_PATH | kFolder);
    if (!place) return place;
    if (chmod_by_descriptor(place->get(), S_IRWXU) != 0) return folder;
    folder = open_at(place->get(), ".", O_RDONLY | O_DIRECTORY);
  }
  if (!folder) return folder;
  struct stat st {};
  if (::fstat(folder->get(), &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU) {
    // That this may fail is fine: the removal to come then says what is wrong.
    (void)::fchmod(folder->get(), (st.st_mode & 07777U) | S_IRWXU);
  }
  return folder;
}

Result<void> remove_at_depth(int dirfd, const char* name, int depth);

Result<void> empty_folder(int dirfd, const char* name, int depth) {
  auto folder = open_to_empty(dirfd, name);
  if (!folder) return std::move(folder).error();
  auto names = names_in(folder->get());
  if (!names) return std::move(names).error();
  Result<void> first_failure;
  for (const std::string& entry : *names) {
    auto removed = remove_at_depth(folder->get(), entry.c_str(), depth + 1);
    if (!removed && first_failure) first_failure = std::move(removed);  // go on: free what we can
  }
  return first_failure;
}

Result<void> remove_at_depth(int dirfd, const char* name, int depth) {
  if (::unlinkat(dirfd, name, 0) == 0 || errno == ENOENT) return {};
  struct stat st {};
  const int unlink_errno = errno;
  if (::fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Result<void>{} : io_error(errno, std::string("cannot remove ") + name);
  }
  if (!S_ISDIR(st.st_mode)) return io_error(unlink_errno, std::string("cannot remove ") + name);
  if (depth >= kMaxDepth) {
    return make_error(TLC_E_IO, std::string("cannot remove ") + name + ": more than " + std::to_string(kMaxDepth) +
                                    " folders deep; remove it by hand");
  }
  if (::unlinkat(dirfd, name, AT_REMOVEDIR) == 0) return {};
  auto emptied = empty_folder(dirfd, name, depth);
  if (!emptied && emptied.error().sys_errno != ENOENT) return emptied;
  if (::unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return io_error(errno, std::string("cannot remove folder ") + name);
}

using Inode = std::pair<dev_t, ino_t>;

std::uint64_t measure_below(int fd, int depth, std::set<Inode>& seen) {
  auto names = names_in(fd);
  if (!names) return 0;
  std::uint64_t total = 0;
  for (const std::string& name : *names) {
    struct stat st {};
    if (::fstatat(fd, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const bool folder = S_ISDIR(st.st_mode);
    if (!folder && st.st_nlink > 1 && !seen.emplace(st.st_dev, st.st_ino).second) continue;
    total += allocated_bytes(st);
    if (!folder || depth >= kMaxDepth) continue;
    auto below = open_at(fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (below) total += measure_below(below->get(), depth + 1, seen);
  }
  return total;
}

bool is_folder(const char* path) {
  struct stat st {};
  return ::stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

Result<void> make_one_dir(const std::string& path, mode_t mode) {
  if (is_folder(path.c_str())) return {};  // asked first: mkdir on some mounts answers EACCES
  if (::mkdir(path.c_str(), mode) != 0) {
    const int err = errno;
    if (err == EEXIST && is_folder(path.c_str())) return {};  // someone else was faster
    return io_error(err, "cannot make folder " + path);
  }
  // The umask may have taken bits, even our own. The descriptor is of what we made, or at least of
  // no symlink to elsewhere.
  auto made = open_at(AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!made) return std::move(made).error();
  struct stat st {};
  if (::fstat(made->get(), &st) != 0) return io_error(errno, "cannot look at folder " + path);
  const mode_t wanted = (st.st_mode & 07000U) | (mode & 07777U);  // a setgid bit is inherited
  if ((st.st_mode & 07777U) != wanted && chmod_by_descriptor(made->get(), wanted) != 0) {
    return io_error(errno, "cannot set the mode of folder " + path);
  }
  return {};
}

}  // namespace

Result<void> make_dirs(const std::string& path, mode_t mode) {
  if (path.empty()) return make_error(TLC_E_INVALID, "cannot make a folder without a name");
  if (is_folder(path.c_str())) return {};  // nearly always: one system call instead of one a component
  for (std::size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    if (auto made = make_one_dir(path.substr(0, end), mode); !made) return made;
  }
  return {};
}

Result<void> make_dir_at(int dirfd, const char* name, bool must_be_new) {
  if (::mkdirat(dirfd, name, 0700) == 0) {
    struct stat st {};
    if (::fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || (st.st_mode & 0700) == 0700) return {};
    if (::fchmodat(dirfd, name, 0700, 0) == 0) return {};  // the umask took a right from us
  } else if (errno == EEXIST && !must_be_new) {
    return {};
  }
  return io_error(errno, std::string("cannot make the folder ") + name);
}

Result<void> remove_tree_at(int dirfd, const char* name) {
  return remove_at_depth(dirfd, name, 0);
}

Result<std::vector<std::string>> list_dir_at(int dirfd, const char* name) {
  auto folder = open_at(dirfd, name, O_RDONLY | O_DIRECTORY);
  if (!folder) return std::move(folder).error();
  return names_in(folder->get());
}

Result<std::uint64_t> tree_allocated_bytes(int dirfd) {
  struct stat st {};
  if (::fstat(dirfd, &st) != 0) return io_error(errno, "cannot measure a folder");
  std::set<Inode> seen;
  return allocated_bytes(st) + measure_below(dirfd, 0, seen);
}

}  // namespace tlc::port
