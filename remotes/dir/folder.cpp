// SPDX-License-Identifier: MIT
#include "dir/folder.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "dir/crc64.hpp"

namespace tlc::dir {
namespace {

constexpr const char* kInner = "tlcdir1";
constexpr std::size_t kMostNames = 8192;
constexpr std::size_t kMostWarnings = 64;
constexpr std::uint64_t kMostPackBytes = std::uint64_t{16} << 30;
constexpr std::int64_t kGrainS = 3;  // no file system's clock is coarser

Failure open_checked(int dir, const char* name, const std::string& path, File& into) {
  into = open_file(dir, name, O_RDONLY | O_DIRECTORY);
  if (!into && (errno == ELOOP || errno == ENOTDIR))
    return {TLC_E_DENIED, errno, path + " is no folder, or a symbolic link, which a remote does not follow"};
  if (!into) return io_failure(errno, "cannot open " + path);
  struct stat st {};
  if (::fstat(into.get(), &st) != 0) return io_failure(errno, "cannot stat " + path);
  return distrust(st, path);
}

bool gone(int code) {
  return code == ENOENT || code == ESTALE;
}

}  // namespace

Failure Folder::open() {
  return open_folder();
}

Failure Folder::open_folder() {
  if (::mkdir(options_.path.c_str(), 0700) == 0)
    (void)::chmod(options_.path.c_str(), 0700);  // the umask may have taken a right from us
  else if (errno != EEXIST && errno != EROFS && errno != EACCES)
    return io_failure(errno, "cannot make " + options_.path);
  File outer;
  if (Failure failure = open_checked(AT_FDCWD, options_.path.c_str(), options_.path, outer)) return failure;
  if (::mkdirat(outer.get(), kInner, 0700) == 0)
    (void)::fchmodat(outer.get(), kInner, 0700, 0);
  else if (errno != EEXIST)
    return io_failure(errno, "cannot make " + options_.path + "/" + kInner);
  path_ = options_.path + "/" + kInner;
  listed_ = false;
  return open_checked(outer.get(), kInner, path_, dir_);
}

// Opening the folder anew makes a network file system ask its server, which a stat alone may not.
Failure Folder::refresh(bool reopened) {
  const File now = open_file(dir_.get(), ".", O_RDONLY | O_DIRECTORY);
  struct stat st {};
  const bool seen = now && ::fstat(now.get(), &st) == 0;
  if (!reopened && (seen ? st.st_nlink == 0 : gone(errno))) {  // somebody removed it
    packs_.clear();
    if (Failure failure = open_folder()) return failure;
    return refresh(true);
  }
  if (!seen) return io_failure(errno, "cannot look at " + path_);
  if (Failure failure = distrust(st, path_)) return failure;
  if (listed_ && seen_settled_ && st.st_mtim.tv_sec == seen_s_ && st.st_mtim.tv_nsec == seen_ns_) return {};
  const auto names = list(now.get(), kMostNames);
  if (!names) return io_failure(errno, "cannot list " + path_);
  seen_s_ = st.st_mtim.tv_sec;
  seen_ns_ = st.st_mtim.tv_nsec;
  seen_settled_ = static_cast<std::int64_t>(wall_ns() / 1'000'000'000) - st.st_mtim.tv_sec > kGrainS;
  listed_ = true;
  take_in(*names);
  return {};
}

void Folder::take_in(const std::vector<std::string>& names) {
  const std::set<std::string, std::less<>> present(names.begin(), names.end());
  std::erase_if(packs_, [&](const auto& pack) { return !present.contains(pack.first); });
  std::erase_if(refused_, [&](const auto& name) { return !present.contains(name); });
  for (const std::string& name : present) {
    const auto parsed = parse_pack_name(name);
    if (!parsed || packs_.contains(name) || refused_.contains(name)) continue;
    Pack pack;
    pack.name = *parsed;
    if (read_pack(name, pack))
      packs_.emplace(name, std::move(pack));
    else if (!gone(errno))
      refused_.insert(name);
  }
}

void Folder::warn_once(const std::string& file_name, const std::string& text) {
  if (options_.warn != nullptr && warned_.size() < kMostWarnings && warned_.insert(file_name).second)
    options_.warn(text);
}

/// A pack that may be used; errno is 0 if it may not be for what it is.
File Folder::open_pack(const std::string& file_name, struct stat& st) {
  File file = open_file(dir_.get(), file_name.c_str(), O_RDONLY | O_NONBLOCK);
  if (!file && errno == ELOOP) warn_once(file_name, path_ + "/" + file_name + " is a symbolic link and is not used");
  if (!file) return file;
  if (::fstat(file.get(), &st) != 0) return File();
  if (!S_ISREG(st.st_mode)) {
    errno = 0;
    return File();
  }
  if (const Failure failure = distrust(st, path_ + "/" + file_name)) {
    warn_once(file_name, failure.message);
    errno = 0;
    return File();
  }
  return file;
}

bool Folder::read_pack(const std::string& file_name, Pack& pack) {
  struct stat st {};
  const File file = open_pack(file_name, st);
  if (!file) return false;
  pack.size = static_cast<std::uint64_t>(st.st_size);
  pack.inode = st.st_ino;
  pack.written_s = st.st_mtim.tv_sec;
  const auto damaged = [&] {
    if (!gone(errno)) warn_once(file_name, path_ + "/" + file_name + " is damaged and is not used");
    return false;
  };
  errno = 0;
  if (pack.size < kPackHead + kFooterSize || pack.size > kMostPackBytes) return damaged();
  std::array<std::uint8_t, kPackHead> head{};
  std::array<std::uint8_t, kFooterSize> end{};
  if (!read_all(file.get(), head.data(), head.size(), 0) || head != make_pack_head()) return damaged();
  if (!read_all(file.get(), end.data(), end.size(), pack.size - end.size())) return damaged();
  const auto footer = parse_footer(end, pack.size);
  if (!footer) return damaged();
  std::vector<std::uint8_t> bytes(footer->entries * kEntrySize);
  if (!read_all(file.get(), bytes.data(), bytes.size(), footer->index_offset)) return damaged();
  auto index = parse_index(bytes, *footer);
  if (!index) return damaged();
  pack.index = std::move(*index);
  return true;
}

/// All entries of the digest, newest first.
std::vector<Folder::Found> Folder::find(const Digest& digest) {
  std::vector<Found> all;
  for (auto pack = packs_.begin(); pack != packs_.end(); ++pack)
    if (const Entry* entry = find_entry(pack->second.index, digest)) all.push_back({pack, entry});
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.entry->stamp > b.entry->stamp; });
  return all;
}

Folder::Read Folder::read_blob(const Found& found, std::vector<std::uint8_t>& blob) {
  const Pack& pack = found.pack->second;
  struct stat st {};
  const File file = open_pack(found.pack->first, st);
  if (!file) return gone(errno) ? Read::gone : Read::damaged;
  if (static_cast<std::uint64_t>(st.st_size) != pack.size || st.st_ino != pack.inode) return Read::gone;
  blob.resize(found.entry->length);
  if (!read_all(file.get(), blob.data(), blob.size(), found.entry->offset))
    return gone(errno) ? Read::gone : Read::damaged;
  return crc64(blob.data(), blob.size()) == found.entry->crc ? Read::good : Read::damaged;
}

// As if it were not there: an older one may serve, and a put makes a new one.
void Folder::forget_damaged(const Found& found) {
  warn_once(found.pack->first, path_ + "/" + found.pack->first + " has a damaged blob, which is not used");
  std::vector<Entry>& index = found.pack->second.index;
  index.erase(index.begin() + (found.entry - index.data()));
}

Failure Folder::get(const Digest& digest, std::uint64_t deadline_ms, std::vector<std::uint8_t>& blob) {
  Failure miss{TLC_MISS, 0, "the folder has nothing for this key"};
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (Failure failure = refresh()) return failure;
    bool again = false;
    for (const Found& found : find(digest)) {
      if (found.entry->length == 0) return miss;
      if (monotonic_ms() > deadline_ms) return {TLC_TIMEOUT, 0, "the folder is too slow"};
      const Read read = read_blob(found, blob);
      if (read == Read::good) return {};
      if (read == Read::damaged) {
        forget_damaged(found);
        continue;
      }
      packs_.erase(found.pack);  // merged, perhaps: then the blob is in another pack
      listed_ = false;
      again = true;
      break;
    }
    if (!again) return miss;
  }
  return miss;
}

}  // namespace tlc::dir
