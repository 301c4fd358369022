// SPDX-License-Identifier: MIT
#include "store/location.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "port/env.hpp"
#include "port/file.hpp"
#include "port/fs_kind.hpp"

namespace tlc::store {
namespace {

constexpr const char* kAdvice = "; set TLC_DIR (or the application's directory option) to a folder of your own";

bool absolute(const char* path) {
  return path != nullptr && path[0] == '/';
}

/// Why the open folder cannot be used, or nothing.
std::optional<Error> distrust(int dir, const std::string& path) {
  struct stat st {};
  if (::fstat(dir, &st) != 0) return io_error(errno, "cannot stat " + path);
  if (st.st_uid != ::geteuid())
    return make_error(TLC_E_DENIED, path + " belongs to user " + std::to_string(st.st_uid) + " and this is user " +
                                        std::to_string(::geteuid()) + kAdvice);
  if ((st.st_mode & 022) != 0)
    return make_error(TLC_E_DENIED,
                      path + " can be written by others; run chmod go-w on it, or set TLC_DIR to another folder");
  return std::nullopt;
}

Result<port::Fd> open_folder(const std::string& path, bool read_only) {
  if (!read_only)
    if (Result<void> made = port::make_dirs(path, 0700); !made) {
      Error error = std::move(made).error();
      if (error.status == TLC_E_EXISTS) error.status = TLC_E_IO;  // a file is in the way
      error.message += kAdvice;
      return error;
    }
  Result<port::Fd> dir = port::open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY);
  if (dir) return dir;
  Error error = std::move(dir).error();
  error.message += kAdvice;
  return error;
}

/// Local folders for a store whose own place is on a network.
std::vector<std::string> local_folders() {
  const std::string own = "tlcache-" + std::to_string(::geteuid());
  std::vector<std::string> folders;
  if (const char* runtime = port::secure_env("XDG_RUNTIME_DIR"); absolute(runtime))
    folders.push_back(std::string(runtime) + "/tlcache");
  folders.push_back("/var/tmp/" + own);
  folders.push_back("/tmp/" + own);
  return folders;
}

}  // namespace

Result<Location> choose_location(const std::string& option, bool use_environment) {
  if (use_environment)
    if (const char* dir = port::secure_env("TLC_DIR"); dir != nullptr && dir[0] != '\0') {
      if (!absolute(dir)) return make_error(TLC_E_INVALID, std::string("TLC_DIR is not an absolute path: ") + dir);
      return Location{dir, "TLC_DIR", {}, {}};
    }
  if (!option.empty()) {
    if (option[0] == '/') return Location{option, "application", {}, {}};
    char cwd[4096];
    if (::getcwd(cwd, sizeof cwd) == nullptr) return io_error(errno, "cannot find the working directory");
    return Location{std::string(cwd) + "/" + option, "application", {}, {}};
  }
  if (const char* cache = port::secure_env("XDG_CACHE_HOME"); absolute(cache))
    return Location{std::string(cache) + "/tlcache", "XDG_CACHE_HOME", {}, {}};
  if (const auto home = port::home_dir()) return Location{*home + "/.cache/tlcache", "home", {}, {}};
  return make_error(TLC_E_UNAVAILABLE, std::string("there is no home folder to keep a cache in") + kAdvice);
}

Result<Location> prepare_location(Location location, bool read_only) {
  Result<port::Fd> dir = open_folder(location.root, read_only);
  if (!dir) return std::move(dir).error();
  const Result<port::FsKind> kind = port::fs_kind(dir->get());
  if (kind && *kind == port::FsKind::network) {
    for (const std::string& folder : local_folders()) {
      Result<port::Fd> local = open_folder(folder, read_only);
      if (!local || distrust(local->get(), folder)) continue;
      const Result<port::FsKind> local_kind = port::fs_kind(local->get());
      if (local_kind && *local_kind == port::FsKind::network) continue;
      location.warnings.push_back(location.root + " is on a network file system; the store is in " + folder);
      location.asked = std::exchange(location.root, folder);
      return location;
    }
    return make_error(TLC_E_UNAVAILABLE,
                      location.root + " is on a network file system and there is no local folder" + kAdvice);
  }
  if (kind && *kind == port::FsKind::unknown)
    location.warnings.push_back(location.root +
                                " is on a file system this library does not know; it is taken as local");
  if (auto fault = distrust(dir->get(), location.root)) return std::move(*fault);
  return location;
}

}  // namespace tlc::store
