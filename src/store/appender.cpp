// SPDX-License-Identifier: MIT
#include "store/appender.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "port/clock.hpp"
#include "port/file.hpp"
#include "port/lock.hpp"
#include "port/step.hpp"
#include "store/segment.hpp"

namespace tlc::store {
namespace {

constexpr std::uint64_t kWaitMs = 1000;
constexpr int kCreateTries = 64;
constexpr int kSegmentTries = 4;
constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kIndexShare = 256;  // key and record in a page that is two thirds full

/// The lock on a segment's end, let go at the end of the scope.
class TailLock {
 public:
  TailLock(std::unique_lock<std::mutex> mutex, int fd) : mutex_(std::move(mutex)), fd_(fd) {}
  TailLock(TailLock&& other) noexcept : mutex_(std::move(other.mutex_)), fd_(std::exchange(other.fd_, -1)) {}
  TailLock& operator=(TailLock&&) = delete;
  ~TailLock() {
    if (fd_ >= 0) (void)port::unlock(fd_, 0, 1);
  }

 private:
  std::unique_lock<std::mutex> mutex_;
  int fd_;
};

std::optional<TailLock> try_tail(std::mutex& mutex, int fd) {
  std::unique_lock guard(mutex, std::try_to_lock);
  if (!guard.owns_lock()) return std::nullopt;
  const Result<bool> got = port::try_lock(fd, 0, 1, port::LockMode::exclusive);
  if (!got || !*got) return std::nullopt;
  return TailLock(std::move(guard), fd);
}

/// Size of a segment that may be appended to; 0 if it was unlinked, cut or sealed meanwhile.
Result<std::uint64_t> open_end(int fd, std::uint64_t id, std::uint64_t own_end) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return io_error(errno, "cannot look at a segment");
  if (st.st_nlink == 0 || st.st_size < static_cast<off_t>(kSegmentHeaderSize)) return std::uint64_t{0};
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (size == own_end || size % kAlignment != 0 || size < kSegmentHeaderSize + kSegmentFooterSize) return size;
  SegmentFooter footer{};
  const std::uint64_t at = size - kSegmentFooterSize;
  Result<std::size_t> got = port::pread_full(fd, &footer, sizeof footer, static_cast<off_t>(at));
  if (!got) return std::move(got).error();
  if (*got != sizeof footer) return std::uint64_t{0};
  return is_segment_footer(footer, id, at) ? 0 : size;
}

Error full_disk(Error error) {
  error.status = TLC_NOT_STORED;
  return error;
}

}  // namespace

void Appender::raise_next_segment(const Control& control, std::uint64_t floor) {
  SharedWord& next = control.header()->next_segment;
  std::uint64_t seen = next.load();
  while (seen <= floor && !next.compare_exchange_weak(seen, floor + 1)) {
  }
}

Result<Appender::FilePtr> Appender::create(std::uint64_t full_size) {
  for (int i = 0; i < kCreateTries; ++i) {
    const std::uint64_t id = control_.header()->next_segment.fetch_add(1);
    if (id == 0) continue;
    Result<port::Fd> fd = port::open_at(dir_, segment_name(id).c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (!fd && fd.error().sys_errno == EEXIST) {  // the control file lost count
      if (Result<std::vector<std::uint64_t>> ids = list_segments(dir_); ids && !ids->empty())
        raise_next_segment(control_, ids->back());
      continue;
    }
    if (!fd) return full_disk(std::move(fd).error());
    const SegmentHeader header = make_segment_header(id, full_size);
    if (Result<void> done = port::pwrite_full(fd->get(), &header, sizeof header, 0); !done) {
      ::unlinkat(dir_, segment_name(id).c_str(), 0);
      return full_disk(std::move(done).error());
    }
    auto file = std::make_shared<File>();
    file->id = id;
    file->full_size = full_size;
    file->fd = port::LockFile(std::move(*fd));
    return file;
  }
  return make_error(TLC_NOT_STORED, "no free segment id was found");
}

Appender::FilePtr Appender::open_active(std::uint64_t id) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(id);
    if (found != open_.end()) return found->second;
  }
  Result<port::Fd> fd = port::open_at(dir_, segment_name(id).c_str(), O_RDWR | O_NOFOLLOW);
  if (!fd) return nullptr;
  SegmentHeader header{};
  const Result<std::size_t> got = port::pread_full(fd->get(), &header, sizeof header, 0);
  if (!got || *got != sizeof header || !is_segment_header(header, id)) return nullptr;
  auto file = std::make_shared<File>();
  file->id = id;
  file->full_size = header.full_size;
  file->fd = port::LockFile(std::move(*fd));
  const std::lock_guard lock(mutex_);
  // Others seal segments too: what takes no appends any more must not stay open here, or its blocks would.
  std::erase_if(open_, [this](const auto& entry) { return entry.second.use_count() == 1 && !is_active(entry.first); });
  return open_.emplace(id, std::move(file)).first->second;
}

// The segment of a slot; a new one if the slot is empty, or names no segment of ours.
Result<Appender::FilePtr> Appender::take_slot(std::size_t slot) {
  SharedWord& word = control_.header()->active[slot];
  std::uint64_t id = word.load(std::memory_order_acquire);
  if (id != 0) {
    if (FilePtr file = open_active(id)) return file;
    forget(id, slot);
    id = 0;
  }
  Result<FilePtr> made = create(control_.header()->segment_size.load());
  if (!made) return made;
  if (!word.compare_exchange_strong(id, (*made)->id)) {  // another was faster: use that one
    ::unlinkat(dir_, segment_name((*made)->id).c_str(), 0);
    FilePtr theirs = open_active(id);
    if (theirs == nullptr) return make_error(TLC_NOT_STORED, "the segment in use cannot be opened");
    return theirs;
  }
  const std::lock_guard lock(mutex_);
  open_[(*made)->id] = *made;
  return made;
}

void Appender::forget(std::uint64_t id, std::size_t slot) {
  control_.header()->active[slot].compare_exchange_strong(id, 0);
  const std::lock_guard lock(mutex_);
  open_.erase(id);
}

bool Appender::seal(File& file, std::uint64_t size) {
  const std::uint64_t at = align_up(size);
  const SegmentFooter footer = make_segment_footer(file.id, at);
  return port::pwrite_full(file.fd.get(), &footer, sizeof footer, static_cast<off_t>(at)).ok();
}

Result<Place> Appender::write(File& file, RecordImage& image, const trust::MacKey& store_key, std::uint64_t at,
                              bool with_footer) {
  image.seal(file.id, at, store_key);
  std::vector<iovec> parts;
  for (const auto& piece : image.pieces()) parts.push_back({const_cast<std::uint8_t*>(piece.data()), piece.size()});
  const iovec header = parts.front();
  SegmentFooter footer{};
  if (with_footer) {
    footer = make_segment_footer(file.id, at + image.length());
    parts.push_back({&footer, sizeof footer});
  }
  TLC_STEP("append.begin");
  // The header last: it says how far the next record is, and a write that stopped half-way must not say so.
  const auto after = static_cast<off_t>(at + header.iov_len);
  if (Result<void> done = port::pwritev_full(file.fd.get(), std::span(parts).subspan(1), after); !done)
    return full_disk(std::move(done).error());
  TLC_STEP("append.body");
  if (Result<void> done = port::pwrite_full(file.fd.get(), header.iov_base, header.iov_len, static_cast<off_t>(at));
      !done)
    return full_disk(std::move(done).error());
  TLC_STEP("append.written");
  if (Result<void> synced = durable_ ? sync(file) : Result<void>{}; !synced)
    return full_disk(std::move(synced).error());
  return Place{file.id, at};
}

// Whoever made the file may not have synced its folder.
Result<void> Appender::sync(File& file) const {
  if (Result<void> synced = port::sync_data(file.fd.get()); !synced) return synced;
  if (file.named.load(std::memory_order_relaxed)) return {};
  Result<void> synced = port::sync_folder(dir_);
  file.named.store(synced.ok(), std::memory_order_relaxed);
  return synced;
}

std::uint64_t Appender::space_for(std::uint64_t length) const {
  if (!gets_own(length)) return length + kIndexShare;
  const std::uint64_t whole = kSegmentHeaderSize + length + kSegmentFooterSize;
  return (whole + kBlock - 1) / kBlock * kBlock + kIndexShare;
}

Result<Place> Appender::append_to_own(RecordImage& image, const trust::MacKey& store_key) {
  const std::uint64_t size = kSegmentHeaderSize + image.length() + kSegmentFooterSize;
  Result<FilePtr> file = create(size);
  if (!file) return std::move(file).error();
  Result<Place> place = write(**file, image, store_key, kSegmentHeaderSize, true);
  if (!place) ::unlinkat(dir_, segment_name((*file)->id).c_str(), 0);
  return place;
}

Result<Place> Appender::append(RecordImage& image, const trust::MacKey& store_key) {
  if (gets_own(image.length())) return append_to_own(image, store_key);
  const port::Deadline deadline = port::Deadline::after_ms(kWaitMs);
  for (;;) {
    std::optional<Error> no_segment;
    for (std::size_t slot = 0; slot < kActiveSegments; ++slot) {
      Result<std::optional<Place>> tried = append_at(slot, image, store_key);
      if (tried && *tried) return **tried;
      if (!tried && tried.error().status == TLC_MISS)
        no_segment = std::move(tried).error();
      else if (!tried)
        return std::move(tried).error();
    }
    if (no_segment) return full_disk(std::move(*no_segment));
    if (deadline.passed()) return make_error(TLC_NOT_STORED, "all segments were being written to for a second");
    ::usleep(200);
  }
}

// Nothing if another has the slot's segment; an Error of TLC_MISS if no segment can be made for the slot. A segment
// that is full, or none any more, makes way for the next.
Result<std::optional<Place>> Appender::append_at(std::size_t slot, RecordImage& image, const trust::MacKey& store_key) {
  for (int tries = 0; tries < kSegmentTries; ++tries) {
    Result<FilePtr> taken = take_slot(slot);
    if (!taken) {
      Error error = std::move(taken).error();
      error.status = TLC_MISS;
      return error;
    }
    File& file = **taken;
    const std::optional<TailLock> tail = try_tail(file.mutex, file.fd.get());
    if (!tail) return std::optional<Place>{};
    const Result<std::uint64_t> end = open_end(file.fd.get(), file.id, file.own_end);
    if (!end) {  // this put fails, and the next takes another segment: a new one each try would fill the folder
      forget(file.id, slot);
      return full_disk(end.error());
    }
    const std::uint64_t size = *end;
    const std::uint64_t at = align_up(size);
    if (size != 0 && at + image.length() + kSegmentFooterSize <= file.full_size) {
      Result<Place> place = write(file, image, store_key, at, false);
      if (!place) return std::move(place).error();
      file.own_end = at + image.length();
      return std::optional<Place>(*place);
    }
    if (size != 0) (void)seal(file, size);  // without a footer it is merely never appended to again
    TLC_STEP("append.sealed");
    forget(file.id, slot);
  }
  return std::optional<Place>{};
}

bool Appender::is_active(std::uint64_t id) const {
  const auto& active = control_.header()->active;
  return std::any_of(std::begin(active), std::end(active), [id](const SharedWord& word) { return word.load() == id; });
}

std::size_t Appender::seal_all() {
  std::size_t sealed = 0;
  for (std::size_t slot = 0; slot < kActiveSegments; ++slot) {
    const std::uint64_t id = control_.header()->active[slot].load(std::memory_order_acquire);
    if (id == 0) continue;
    const FilePtr file = open_active(id);
    if (file == nullptr) {
      forget(id, slot);
      continue;
    }
    const std::optional<TailLock> tail = try_tail(file->mutex, file->fd.get());
    if (!tail) continue;
    const Result<std::uint64_t> size = open_end(file->fd.get(), file->id, file->own_end);
    if (size && *size != 0) (void)seal(*file, *size);
    forget(id, slot);
    ++sealed;
  }
  return sealed;
}

}  // namespace tlc::store
