// SPDX-License-Identifier: MIT
// Segments: append-only files of records, segments/<id as 16 hex digits>.seg.
//
//   0     64  header, eight u64: magic "TLCSEG01", version 1, id, size at which it is full, created ns, 0, 0, XXH3-64
//   of
//             the 56 bytes before it
//   64        records (record.hpp), each at a multiple of 64; after a killed writer also torn regions
//   end   64  footer of a sealed segment, eight u64: magic "TLCSEGEN", id, offset of the footer, 0, 0, 0, 0, XXH3-64 of
//             the 56 bytes before it
//
// An id is never used twice. A segment is only ever appended to, by whoever holds the OFD lock on its byte 0, until it
// is sealed; then it is only read, and at last unlinked.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "port/fd.hpp"
#include "port/mapping.hpp"
#include "port/result.hpp"
#include "store/record.hpp"

namespace tlc::store {

inline constexpr std::size_t kSegmentHeaderSize = 64;
inline constexpr std::size_t kSegmentFooterSize = 64;

[[nodiscard]] std::string segment_name(std::uint64_t id);
/// The id in a file's name; 0 if it is no segment's.
[[nodiscard]] std::uint64_t segment_id(const std::string& name);

struct SegmentHeader {
  std::uint64_t magic, version, id, full_size, created_ns, reserved[2], check;
};
struct SegmentFooter {
  std::uint64_t magic, id, offset, reserved[4], check;
};
static_assert(sizeof(SegmentHeader) == kSegmentHeaderSize && sizeof(SegmentFooter) == kSegmentFooterSize);

[[nodiscard]] SegmentHeader make_segment_header(std::uint64_t id, std::uint64_t full_size);
[[nodiscard]] SegmentFooter make_segment_footer(std::uint64_t id, std::uint64_t offset);
[[nodiscard]] bool is_segment_header(const SegmentHeader& header, std::uint64_t id);
[[nodiscard]] bool is_segment_footer(const SegmentFooter& footer, std::uint64_t id, std::uint64_t offset);

/// A segment opened for reading: mapped as far as it may grow, or read where mapping fails. Thread-safe.
class Segment {
 public:
  /// TLC_MISS if there is no such file; TLC_E_CORRUPT if it is none of ours.
  static Result<std::shared_ptr<Segment>> open(int segments_dir, std::uint64_t id);

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] std::uint64_t opened_size() const { return opened_size_; }
  [[nodiscard]] bool mapped() const { return static_cast<bool>(mapping_); }
  [[nodiscard]] std::uint64_t size() const;  ///< of the file, by fstat
  [[nodiscard]] bool unlinked() const;

  /// Bytes of the mapping, if the file has them all; empty if not, or in read mode.
  [[nodiscard]] std::span<const std::uint8_t> view(std::uint64_t offset, std::uint64_t length) const;
  /// Copies by pread. False if the file does not have them all.
  [[nodiscard]] bool read(std::uint64_t offset, void* into, std::uint64_t length) const;

  /// Visits the records from `from` on, in order: steps by lengths; where that does not lead to a header whose MAC
  /// verifies, looks for the next one. fn returns false to stop.
  void for_each(std::uint64_t from, const trust::MacKey& store_key,
                const std::function<bool(const RecordHeader&)>& fn) const;
  /// Whether the record at this offset is there with all it had.
  [[nodiscard]] bool has_whole(std::uint64_t offset, const trust::MacKey& store_key) const;

 private:
  Segment(std::uint64_t id, port::Fd file, port::Mapping mapping);
  bool peek(std::uint64_t offset, RecordHeader& header) const;
  bool is_record(std::uint64_t at, const trust::MacKey& store_key, RecordHeader& header) const;
  [[nodiscard]] bool is_whole(const RecordHeader& header) const;
  bool is_footer_at(std::uint64_t at) const;

  std::uint64_t id_;
  port::Fd file_;
  port::Mapping mapping_;
  mutable std::atomic<std::uint64_t> known_size_{0};
  std::uint64_t opened_size_ = 0;
};

/// The segments this process has open, each once.
class SegmentSet {
 public:
  explicit SegmentSet(int segments_dir) : dir_(segments_dir) {}

  Result<std::shared_ptr<Segment>> get(std::uint64_t id);
  /// Forgets segments that nobody else holds and that are unlinked, or (all) any that nobody else holds.
  void sweep(bool all);
  /// Ids of those open here whose file is gone.
  [[nodiscard]] std::vector<std::uint64_t> unlinked() const;
  struct Usage {
    std::uint64_t mapped = 0;
    std::uint64_t unlinked = 0;
  };
  [[nodiscard]] Usage usage() const;
  /// Bytes of all, each as large as it was when it was opened.
  [[nodiscard]] std::uint64_t opened_bytes() const { return opened_bytes_.load(std::memory_order_relaxed); }

 private:
  int dir_;
  std::atomic<std::uint64_t> opened_bytes_{0};
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Segment>> open_;
};

/// Ids of the segment files there are, ascending.
[[nodiscard]] Result<std::vector<std::uint64_t>> list_segments(int segments_dir);

}  // namespace tlc::store
