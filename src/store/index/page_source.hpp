// SPDX-License-Identifier: MIT
// PageSource: whole pages of data.mdb, from one mapping of the whole fixed map or by pread.
//
// It never gives out a byte beyond the size fstat reported. The file only grows (writers
// preallocate and pwrite), and a mapping of the whole map shows new pages without remapping, so the
// size is asked again only for a page beyond the last known end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "port/fd.hpp"
#include "port/mapping.hpp"
#include "port/result.hpp"

namespace tlc::store {

/// LMDB's own limit: on systems with larger pages it uses 32 KiB.
inline constexpr std::size_t kMaxPageSize = 32768;

/// The page size liblmdb gives a file it creates on this system.
[[nodiscard]] std::size_t native_index_page_size();

/// Holds one page in pread mode. A mapped source never touches it, so that a look-up costs no
/// stack.
class PageBuffer {
 public:
  /// Room for `size` bytes, the same at each call.
  std::uint8_t* room(std::size_t size) {
    if (!bytes_) bytes_.reset(new std::uint8_t[size]);
    return bytes_.get();
  }

 private:
  std::unique_ptr<std::uint8_t[]> bytes_;
};

class PageSource {
 public:
  /// `page_size` is the file's: another than the system's is for files that another kernel made.
  static Result<PageSource> open(port::Fd file, std::size_t map_size, bool use_pread,
                                 std::size_t page_size = native_index_page_size());

  PageSource(PageSource&& other) noexcept;
  PageSource& operator=(PageSource&&) = delete;
  ~PageSource() = default;

  /// The page, or nullptr if the file does not have it. `buffer` is used in pread mode only, and
  /// what it held is then gone.
  [[nodiscard]] const std::uint8_t* page(std::uint64_t number, PageBuffer& buffer) const {
    if (number >= page_limit_) return nullptr;
    if (base_ == nullptr) return read(number, buffer);
    const std::uint64_t end = (number + 1) * page_size_;
    if (end > known_end_.load(std::memory_order_relaxed) && !grown_past(end)) return nullptr;
    return base_ + number * page_size_;
  }

  [[nodiscard]] std::size_t page_size() const { return page_size_; }
  [[nodiscard]] std::uint64_t page_limit() const { return page_limit_; }  ///< pages in the map
  [[nodiscard]] std::uint64_t file_size() const;                          ///< fstat

 private:
  PageSource(port::Fd file, std::optional<port::Mapping> mapping, std::size_t map_size, std::size_t page_size);

  const std::uint8_t* read(std::uint64_t number, PageBuffer& buffer) const;
  bool grown_past(std::uint64_t end) const;  // asks fstat

  port::Fd file_;
  std::optional<port::Mapping> mapping_;
  const std::uint8_t* base_ = nullptr;  // of the mapping; nullptr in pread mode
  std::size_t page_size_ = 0;
  std::uint64_t page_limit_ = 0;
  mutable std::atomic<std::uint64_t> known_end_{0};
};

}  // namespace tlc::store
