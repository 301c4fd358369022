// SPDX-License-Identifier: MIT
// Appender: writes records to the ends of segments.
//
// Up to eight segments take appends at a time; their ids are in the control file. Whoever gets the OFD lock on byte 0
// of one appends at the file's end and lets go. A process that is killed while it writes leaves a torn region behind,
// which the next append goes past. The ids in the control file are hints: a file that is no unsealed segment is passed
// over.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>

#include "port/lock_files.hpp"
#include "port/result.hpp"
#include "store/control.hpp"
#include "store/record.hpp"

namespace tlc::store {

struct Place {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
};

class Appender {
 public:
  Appender(int segments_dir, const Control& control, bool durable)
      : dir_(segments_dir), control_(control), durable_(durable) {}

  /// Seals the image for the place it gets and writes it there. TLC_NOT_STORED if the disk is full or no segment can be
  /// had in time.
  Result<Place> append(RecordImage& image, const trust::MacKey& store_key);

  /// Bytes on disk that a record of this length takes, with its part of the index.
  [[nodiscard]] std::uint64_t space_for(std::uint64_t length) const;

  /// Takes all segments that take appends out of use and seals them. Returns how many were sealed.
  std::size_t seal_all();

  [[nodiscard]] bool is_active(std::uint64_t id) const;

  /// A new segment's id: above all given out, and above `floor`.
  static void raise_next_segment(const Control& control, std::uint64_t floor);

 private:
  struct File {
    std::mutex mutex;
    std::uint64_t id = 0;
    std::uint64_t full_size = 0;
    std::uint64_t own_end = 0;       // where this process last wrote to: no footer is there if the file still ends so
    std::atomic<bool> named{false};  // its name is known to be on the disk
    port::LockFile fd;
  };
  using FilePtr = std::shared_ptr<File>;

  [[nodiscard]] bool gets_own(std::uint64_t length) const {
    return length > control_.header()->segment_size.load() / 8;
  }
  Result<Place> append_to_own(RecordImage& image, const trust::MacKey& store_key);
  Result<Place> write(File& file, RecordImage& image, const trust::MacKey& store_key, std::uint64_t at, bool seal);
  Result<FilePtr> create(std::uint64_t full_size);
  FilePtr open_active(std::uint64_t id);
  Result<FilePtr> take_slot(std::size_t slot);
  Result<std::optional<Place>> append_at(std::size_t slot, RecordImage& image, const trust::MacKey& store_key);
  Result<void> sync(File& file) const;
  bool seal(File& file, std::uint64_t size);
  void forget(std::uint64_t id, std::size_t slot);

  int dir_;
  const Control& control_;
  bool durable_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, FilePtr> open_;
};

}  // namespace tlc::store
