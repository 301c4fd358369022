// SPDX-License-Identifier: MIT
#include "store/segment.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "port/clock.hpp"
#include "port/file.hpp"

namespace tlc::store {
namespace {

constexpr std::uint64_t word(const char (&text)[9]) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(text[i]);
  return value;
}
constexpr std::uint64_t kHeaderMagic = word("TLCSEG01");
constexpr std::uint64_t kFooterMagic = word("TLCSEGEN");

template <typename Block>
std::uint64_t check_of(const Block& block) {
  return trust::xxh3_64(&block, offsetof(Block, check));
}

}  // namespace

std::string segment_name(std::uint64_t id) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string name(16, '0');
  for (int i = 0; i < 16; ++i) name[i] = kDigits[(id >> (60 - 4 * i)) & 15];
  return name + ".seg";
}

std::uint64_t segment_id(const std::string& name) {
  std::uint64_t id = 0;
  if (name.size() != 20 || !name.ends_with(".seg")) return 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + 16, id, 16);
  return error == std::errc{} && end == name.data() + 16 ? id : 0;
}

SegmentHeader make_segment_header(std::uint64_t id, std::uint64_t full_size) {
  SegmentHeader header{kHeaderMagic, 1, id, full_size, port::wall_ns(), {0, 0}, 0};
  header.check = check_of(header);
  return header;
}

SegmentFooter make_segment_footer(std::uint64_t id, std::uint64_t offset) {
  SegmentFooter footer{kFooterMagic, id, offset, {0, 0, 0, 0}, 0};
  footer.check = check_of(footer);
  return footer;
}

bool is_segment_header(const SegmentHeader& header, std::uint64_t id) {
  return header.magic == kHeaderMagic && header.version == 1 && header.id == id && header.check == check_of(header);
}

bool is_segment_footer(const SegmentFooter& footer, std::uint64_t id, std::uint64_t offset) {
  return footer.magic == kFooterMagic && footer.id == id && footer.offset == offset && footer.check == check_of(footer);
}

Segment::Segment(std::uint64_t id, port::Fd file, port::Mapping mapping)
    : id_(id), file_(std::move(file)), mapping_(std::move(mapping)) {
  opened_size_ = size();
  known_size_.store(opened_size_, std::memory_order_relaxed);
}

Result<std::shared_ptr<Segment>> Segment::open(int segments_dir, std::uint64_t id) {
  Result<port::Fd> file = port::open_at(segments_dir, segment_name(id).c_str(), O_RDONLY | O_NOFOLLOW);
  if (!file) {
    if (file.error().sys_errno == ENOENT) return make_error(TLC_MISS, "the segment was evicted");
    return std::move(file).error();
  }
  SegmentHeader header{};
  const Result<std::size_t> got = port::pread_full(file->get(), &header, sizeof header, 0);
  if (!got) return got.error();
  if (*got != sizeof header || !is_segment_header(header, id))
    return make_error(TLC_E_CORRUPT, "segment " + segment_name(id) + " has a damaged header");
  struct stat st {};
  if (::fstat(file->get(), &st) != 0) return io_error(errno, "cannot stat a segment");
  const std::uint64_t most = std::max<std::uint64_t>(std::min(header.full_size, kMaxSegment), st.st_size);
  Result<port::Mapping> mapping = port::Mapping::map_read(file->get(), most);
  return std::shared_ptr<Segment>(new Segment(id, std::move(*file), mapping ? std::move(*mapping) : port::Mapping{}));
}

std::uint64_t Segment::size() const {
  struct stat st {};
  return ::fstat(file_.get(), &st) == 0 && st.st_size > 0 ? static_cast<std::uint64_t>(st.st_size) : 0;
}

bool Segment::unlinked() const {
  struct stat st {};
  return ::fstat(file_.get(), &st) == 0 && st.st_nlink == 0;
}

std::span<const std::uint8_t> Segment::view(std::uint64_t offset, std::uint64_t length) const {
  if (!mapping_ || offset > mapping_.size() || length > mapping_.size() - offset) return {};
  if (offset + length > known_size_.load(std::memory_order_relaxed)) {
    const std::uint64_t now = size();
    known_size_.store(now, std::memory_order_relaxed);
    if (offset + length > now) return {};
  }
  return {mapping_.data() + offset, length};
}

bool Segment::read(std::uint64_t offset, void* into, std::uint64_t length) const {
  const Result<std::size_t> got = port::pread_full(file_.get(), into, length, static_cast<off_t>(offset));
  return got && *got == length;
}

// Read, not mapped: what the disk cannot give is an error here, and would be a SIGBUS there, in every process that
// rebuilds or evicts.
bool Segment::peek(std::uint64_t offset, RecordHeader& header) const {
  return read(offset, &header, sizeof header);
}

bool Segment::is_record(std::uint64_t at, const trust::MacKey& store_key, RecordHeader& header) const {
  return peek(at, header) && header.magic == kRecordMagic && !check_header(header, id_, at, store_key);
}

bool Segment::is_footer_at(std::uint64_t at) const {
  SegmentFooter footer{};
  return read(at, &footer, sizeof footer) && is_segment_footer(footer, id_, at);
}

bool Segment::is_whole(const RecordHeader& header) const {
  std::vector<std::uint8_t> body(header.body_length);
  if (!read(header.offset + kHeaderSize, body.data(), body.size())) return false;
  const Result<RecordMeta> meta = parse_meta(header, body);
  return meta && !check_members(header, *meta, body, nullptr);
}

bool Segment::has_whole(std::uint64_t offset, const trust::MacKey& store_key) const {
  RecordHeader header;
  return is_record(offset, store_key, header) && is_whole(header);
}

// A record's length counts if it leads to the next record, the footer or the end. Else the record's end may have been
// lost, to a cut of the file or of the power, and others have appended since: then they are inside it. So it is looked
// through, and taken only if it is whole.
void Segment::for_each(std::uint64_t from, const trust::MacKey& store_key,
                       const std::function<bool(const RecordHeader&)>& fn) const {
  const std::uint64_t end = size();
  RecordHeader header;
  RecordHeader next;
  std::uint64_t at = std::max<std::uint64_t>(align_up(from), kSegmentHeaderSize);
  bool found = is_record(at, store_key, header);
  while (at + kHeaderSize <= end) {
    std::uint64_t after = at + (found ? header.record_length : kAlignment);
    bool followed = after <= end && is_record(after, store_key, next);
    if (found) {
      const bool leads = followed || after == end || is_footer_at(after);
      if ((leads || (after < end && is_whole(header))) && !fn(header)) return;
      if (!leads) {
        after = at + kAlignment;
        followed = is_record(after, store_key, next);
      }
    }
    at = after;
    found = followed;
    header = next;
  }
}

Result<std::shared_ptr<Segment>> SegmentSet::get(std::uint64_t id) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(id);
    if (found != open_.end()) return found->second;
  }
  Result<std::shared_ptr<Segment>> segment = Segment::open(dir_, id);
  if (!segment) return segment;
  const std::lock_guard lock(mutex_);
  const auto [place, added] = open_.emplace(id, std::move(*segment));
  if (added) opened_bytes_.fetch_add(place->second->opened_size(), std::memory_order_relaxed);
  return place->second;
}

void SegmentSet::sweep(bool all) {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [all, this](const auto& entry) {
    if (entry.second.use_count() != 1 || (!all && !entry.second->unlinked())) return false;
    opened_bytes_.fetch_sub(entry.second->opened_size(), std::memory_order_relaxed);
    return true;
  });
}

std::vector<std::uint64_t> SegmentSet::unlinked() const {
  std::vector<std::uint64_t> ids;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, segment] : open_)
    if (segment->unlinked()) ids.push_back(id);
  return ids;
}

SegmentSet::Usage SegmentSet::usage() const {
  Usage usage;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, segment] : open_) {
    const std::uint64_t size = segment->size();
    usage.mapped += size;
    if (segment->unlinked()) usage.unlinked += size;
  }
  return usage;
}

Result<std::vector<std::uint64_t>> list_segments(int segments_dir) {
  Result<std::vector<std::string>> names = port::list_dir_at(segments_dir, ".");
  if (!names) return std::move(names).error();
  std::vector<std::uint64_t> ids;
  for (const std::string& name : *names)
    if (const std::uint64_t id = segment_id(name); id != 0) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace tlc::store
