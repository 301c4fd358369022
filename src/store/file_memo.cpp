// SPDX-License-Identifier: MIT
#include "store/file_memo.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "port/clock.hpp"
#include "port/elf_id.hpp"
#include "port/file.hpp"
#include "trust/file_digest.hpp"
#include "trust/hash.hpp"

namespace tlc::store {
namespace {

constexpr const char* kFileName = "memo";
constexpr std::size_t kPlaces = 4096;
constexpr std::size_t kTries = 8;
constexpr std::size_t kFileSize = kPlaces * 128;
constexpr std::uint64_t kYoungNs = 2'000'000'000;

std::uint64_t nanoseconds(const struct timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

/// The mapped file; empty where there is none and none can be made.
port::Mapping map_file(int format_dir, bool writable) {
  if (format_dir < 0) return {};
  Result<port::Fd> file = port::open_at(format_dir, kFileName, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW);
  struct stat st {};
  const bool usable = file && ::fstat(file->get(), &st) == 0 && st.st_size == static_cast<off_t>(kFileSize);
  if (!usable) {
    if (!writable) return {};
    // In full, not sparse: a store into a hole on a full disk would be a SIGBUS.
    if (!port::write_file_atomic_at(format_dir, kFileName, std::string(kFileSize, '\0'), 0600, false)) return {};
    file = port::open_at(format_dir, kFileName, O_RDWR | O_NOFOLLOW);
    if (!file) return {};
  }
  Result<port::Mapping> mapping =
      writable ? port::Mapping::map_shared(file->get(), kFileSize) : port::Mapping::map_read(file->get(), kFileSize);
  return mapping ? std::move(*mapping) : port::Mapping{};
}

Result<trust::Digest> compute(int fd, FileFact fact) {
  if (fact == FileFact::identity)
    if (const auto id = port::build_id(fd)) {
      trust::Blake2b hash;
      hash.update("build-id", 8);
      hash.update(id->data(), id->size());
      return hash.finish();
    }
  return trust::digest_of_file(fd);
}

}  // namespace

std::size_t FileMemo::KeyHash::operator()(const Key& key) const {
  return trust::xxh3_64(&key, sizeof key);
}

FileMemo::FileMemo(int format_dir, bool writable) : dir_(format_dir), writable_(writable) {}

const port::Mapping& FileMemo::mapping() {
  std::call_once(mapped_, [this] { mapping_ = map_file(dir_, writable_); });
  return mapping_;
}

FileMemo::Key FileMemo::key_of(const struct stat& st, FileFact fact) {
  return {static_cast<std::uint64_t>(fact),
          st.st_dev,
          st.st_ino,
          static_cast<std::uint64_t>(st.st_size),
          nanoseconds(st.st_mtim),
          nanoseconds(st.st_ctim)};
}

bool FileMemo::recall(const Key& key, trust::Digest& digest) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(key);
  if (found != known_.end()) {
    digest = found->second;
    return true;
  }
  if (!mapping_) return false;
  const std::size_t first = KeyHash{}(key);
  for (std::size_t i = 0; i < kTries; ++i) {
    Place place;
    std::memcpy(&place, mapping_.data() + (first + i) % kPlaces * sizeof place, sizeof place);
    if (!(place.key == key) || place.check != trust::xxh3_64(&place, offsetof(Place, check))) continue;
    digest = place.digest;
    known_.emplace(key, digest);
    return true;
  }
  return false;
}

// The first free place of the file's eight, else the one noted longest ago.
void FileMemo::note(const Key& key, const trust::Digest& digest) {
  const std::uint64_t now = port::wall_ns();
  if (std::max(key.mtime_ns, key.ctime_ns) + kYoungNs > now) return;
  const std::lock_guard lock(mutex_);
  known_.insert_or_assign(key, digest);
  if (!mapping_ || !writable_) return;
  const std::size_t first = KeyHash{}(key);
  std::size_t best = first % kPlaces;
  std::uint64_t oldest = UINT64_MAX;
  for (std::size_t i = 0; i < kTries; ++i) {
    Place place;
    const std::size_t at = (first + i) % kPlaces;
    std::memcpy(&place, mapping_.data() + at * sizeof place, sizeof place);
    const bool free = place.key.what == 0 || place.check != trust::xxh3_64(&place, offsetof(Place, check));
    const std::uint64_t noted = free ? 0 : place.noted_ns;
    if (noted < oldest) {
      oldest = noted;
      best = at;
    }
  }
  Place place{key, now, digest, {}, 0};
  place.check = trust::xxh3_64(&place, offsetof(Place, check));
  std::memcpy(mapping_.data() + best * sizeof place, &place, sizeof place);
}

Result<trust::Digest> FileMemo::digest_of(const char* path, FileFact fact) {
  struct stat st {};
  if (::stat(path, &st) != 0) return io_error(errno, std::string("cannot read ") + path);
  trust::Digest digest;
  if (recall(key_of(st, fact), digest)) return digest;
  Result<port::Fd> file = port::open_at(AT_FDCWD, path, O_RDONLY);
  if (!file) return std::move(file).error();
  if (::fstat(file->get(), &st) != 0) return io_error(errno, std::string("cannot read ") + path);
  if (!S_ISREG(st.st_mode)) return make_error(TLC_E_INVALID, std::string(path) + " is not a regular file");
  Result<trust::Digest> made = compute(file->get(), fact);
  if (!made) return made;
  struct stat after {};
  const bool stable = ::fstat(file->get(), &after) == 0 && key_of(after, fact) == key_of(st, fact);
  if (stable) note(key_of(st, fact), *made);
  return made;
}

}  // namespace tlc::store
