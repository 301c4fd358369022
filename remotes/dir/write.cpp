// SPDX-License-Identifier: MIT
// Writing packs, and keeping them few.
//
// Each put makes one pack. When a host has more than 16, it merges the smallest into one, so that 8 are left: a blob is
// copied about as often as the logarithm of what the host writes. Packs of 64 MiB are full. The merged pack is
// published before the old ones go; readers find a blob in one or the other. A host also merges packs that nobody wrote
// to for a week: their host may be no more.
//
// The limit counts the packs of all hosts; over it, the packs with the oldest stamps go, whoever wrote them.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "dir/crc64.hpp"
#include "dir/folder.hpp"
#include "dir/step.hpp"

namespace tlc::dir {
namespace {

constexpr std::size_t kMostOwn = 16;
constexpr std::size_t kLeftOfOwn = 8;
constexpr std::size_t kMostMerges = 4;  // at a time
constexpr std::size_t kMostAll = 1024;
constexpr std::uint64_t kFullPack = std::uint64_t{64} << 20;
constexpr std::int64_t kForsakenS = std::int64_t{7} * 24 * 3600;
constexpr std::int64_t kLeftoverS = 3600;
constexpr const char* kTemporary = ".tmp-";

}  // namespace

/// A pack being written. Unless published, it leaves nothing behind.
class Folder::Writer {
 public:
  explicit Writer(Folder& folder)
      : folder_(folder), name_(kTemporary + folder.options_.host + "-" + std::to_string(random_bits())) {
    file_ = open_file(folder.dir_.get(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!file_ || ::fchmod(file_.get(), 0600) != 0) code_ = errno;
    append(make_pack_head());
  }
  ~Writer() {
    if (!published_) ::unlinkat(folder_.dir_.get(), name_.c_str(), 0);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// The entry's offset, length and CRC are those of the bytes.
  void add(Entry entry, std::span<const std::uint8_t> bytes) {
    entry.offset = offset_;
    entry.length = bytes.size();
    entry.crc = crc64(bytes.data(), bytes.size());
    entries_.push_back(entry);
    append(bytes);
    TLC_DIR_STEP("dir.written");
  }
  [[nodiscard]] std::size_t entries() const { return entries_.size(); }
  [[nodiscard]] std::uint64_t size() const { return offset_; }

  Failure publish() {
    std::uint64_t stamp = 0;
    for (const Entry& entry : entries_) stamp = std::max(stamp, entry.stamp);
    append(make_pack_end(entries_, offset_));
    if (code_ == 0 && ::fsync(file_.get()) != 0) code_ = errno;
    if (file_ && file_.close_now() != 0 && code_ == 0) code_ = errno;
    if (code_ != 0) return io_failure(code_, "cannot write a pack in " + folder_.path_);
    TLC_DIR_STEP("dir.before_rename");
    const std::string name = make_pack_name(folder_.options_.host, stamp, random_bits());
    const int dir = folder_.dir_.get();
    struct stat st {};
    // The answer to a rename that was done may be lost; asked again, a server says that there is no such file.
    if (::renameat(dir, name_.c_str(), dir, name.c_str()) != 0 &&
        (errno != ENOENT || ::fstatat(dir, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0))
      return io_failure(errno, "cannot name a pack in " + folder_.path_);
    published_ = true;
    TLC_DIR_STEP("dir.renamed");
    folder_.listed_ = false;
    return {};
  }

 private:
  void append(std::span<const std::uint8_t> bytes) {
    if (code_ == 0 && !write_all(file_.get(), bytes.data(), bytes.size())) code_ = errno;
    offset_ += bytes.size();
  }
  Folder& folder_;
  const std::string name_;
  File file_;
  std::vector<Entry> entries_;
  std::uint64_t offset_ = 0;
  int code_ = 0;
  bool published_ = false;
};

/// Whether the digest's blob is there and can be read. Others have it only now and then: it costs little to be sure.
bool Folder::has_whole(const Digest& digest) {
  std::vector<std::uint8_t> blob;
  for (const Found& found : find(digest)) {
    if (found.entry->length == 0) return false;
    const Read read = read_blob(found, blob);
    if (read == Read::good) return true;
    if (read == Read::damaged) forget_damaged(found);
  }
  return false;
}

Failure Folder::put(std::span<const Change> changes, std::uint64_t deadline_ms) {
  if (Failure failure = refresh()) return failure;
  struct Kept {
    Entry entry;
    std::span<const std::uint8_t> data;
  };
  std::map<Digest, Kept> kept;
  for (const Change& change : changes) {
    if (change.data.size() > std::min(options_.limit / 8, kMostBlob)) continue;
    if (!change.data.empty() && !change.replace && has_whole(change.digest)) continue;
    const std::vector<Found> there = find(change.digest);
    const Entry* newest = there.empty() ? nullptr : there.front().entry;
    const bool present = newest != nullptr && newest->length != 0;
    if (change.data.empty() && !present) continue;
    if (present && newest->length == change.data.size() && newest->crc == crc64(change.data.data(), change.data.size()))
      continue;
    Entry entry;
    entry.digest = change.digest;
    entry.stamp = std::max(wall_ns(), newest == nullptr ? 0 : newest->stamp + 1);  // whatever the other host's clock
    kept[change.digest] = {entry, change.data};
  }
  if (!kept.empty()) {
    Writer writer(*this);
    for (const auto& [digest, one] : kept) writer.add(one.entry, one.data);
    if (Failure failure = writer.publish()) return failure;
    if (Failure failure = refresh()) return failure;
  }
  maintain(deadline_ms);
  return {};
}

// Nothing here fails a put: what could not be done is done after another.
void Folder::maintain(std::uint64_t deadline_ms) {
  for (std::size_t i = 0; i < kMostMerges && merge(deadline_ms); ++i) {
  }
  keep_bounds();
  remove_leftovers();
}

std::vector<Folder::Packs::iterator> Folder::to_merge() {
  std::int64_t now = 0;  // by the clock of the file system
  for (const auto& [name, pack] : packs_) now = std::max(now, pack.written_s);
  std::vector<Packs::iterator> own;
  std::size_t count = 0;
  for (auto pack = packs_.begin(); pack != packs_.end(); ++pack) {
    const bool mine = pack->second.name.host == options_.host;
    if (!mine && now - pack->second.written_s < kForsakenS) continue;
    if (pack->second.size >= std::min(kFullPack, options_.limit / 16)) continue;
    own.push_back(pack);
    ++count;
  }
  if (count <= kMostOwn) return {};
  std::sort(own.begin(), own.end(), [](auto a, auto b) { return a->second.size < b->second.size; });
  own.resize(count - kLeftOfOwn + 1);
  std::uint64_t bytes = 0;
  std::size_t entries = 0;
  std::size_t fit = 0;
  for (; fit < own.size(); ++fit) {
    bytes += own[fit]->second.size;
    entries += own[fit]->second.index.size();
    if (fit >= 2 && (bytes > kFullPack || entries > kMostEntries)) break;
  }
  own.resize(fit);
  return own;
}

// True if it is worth trying again at once.
bool Folder::merge(std::uint64_t deadline_ms) {
  const std::vector<Packs::iterator> sources = to_merge();
  if (sources.size() < 2) return false;
  Writer writer(*this);
  std::vector<std::uint8_t> blob;
  for (const auto source : sources) {
    for (const Entry& entry : source->second.index) {
      if (monotonic_ms() >= deadline_ms) return false;
      const std::vector<Found> all = find(entry.digest);
      if (all.front().entry != &entry) continue;  // a newer one is elsewhere
      if (entry.length == 0) {
        const bool needed = std::any_of(all.begin(), all.end(), [&](const Found& found) {
          return std::find(sources.begin(), sources.end(), found.pack) == sources.end();
        });
        if (needed) writer.add(entry, {});
        continue;
      }
      const Read read = read_blob({source, &entry}, blob);
      if (read == Read::gone) {
        listed_ = false;
        (void)refresh();
        return false;
      }
      if (read == Read::good) writer.add(entry, blob);
    }
  }
  if (writer.entries() != 0 && writer.publish()) return false;
  TLC_DIR_STEP("dir.merged");
  for (const auto source : sources) {
    drop(source);
    TLC_DIR_STEP("dir.dropped");
  }
  listed_ = false;
  return !refresh();
}

void Folder::drop(Packs::iterator pack) {
  if (::unlinkat(dir_.get(), pack->first.c_str(), 0) != 0 && errno != ENOENT && errno != ESTALE) return;
  packs_.erase(pack);
  listed_ = false;
}

void Folder::keep_bounds() {
  const auto bytes = [&] {
    std::uint64_t all = 0;
    for (const auto& [name, pack] : packs_) all += pack.size;
    return all;
  };
  if (bytes() <= options_.limit && packs_.size() <= kMostAll) return;
  while (packs_.size() > 1 && (bytes() > options_.limit / 10 * 9 || packs_.size() > kMostAll)) {
    const auto oldest = std::min_element(packs_.begin(), packs_.end(), [](const auto& a, const auto& b) {
      return a.second.name.stamp < b.second.name.stamp;
    });
    const std::size_t before = packs_.size();
    drop(oldest);
    if (packs_.size() == before) return;  // it cannot be removed
  }
}

void Folder::remove_leftovers() {
  std::int64_t now = 0;
  for (const auto& [name, pack] : packs_) now = std::max(now, pack.written_s);
  const auto names = list(dir_.get(), kMostAll * 2);
  if (!names) return;
  for (const std::string& name : *names) {
    struct stat st {};
    const bool unfinished = name.starts_with(kTemporary);
    if (!unfinished && !refused_.contains(name)) continue;
    if (::fstatat(dir_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || now - st.st_mtim.tv_sec < kLeftoverS)
      continue;
    if (unfinished || (S_ISREG(st.st_mode) && st.st_uid == ::geteuid())) ::unlinkat(dir_.get(), name.c_str(), 0);
  }
}

}  // namespace tlc::dir
