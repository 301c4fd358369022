// SPDX-License-Identifier: MIT
#include "store/index/page_source.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "port/file.hpp"
#include "port/system.hpp"

namespace tlc::store {

std::size_t native_index_page_size() {
  return std::min(port::page_size(), kMaxPageSize);
}

Result<PageSource> PageSource::open(port::Fd file, std::size_t map_size, bool use_pread, std::size_t page_size) {
  std::optional<port::Mapping> mapping;
  if (!use_pread) {
    auto mapped = port::Mapping::map_read(file.get(), map_size);
    if (!mapped.ok()) return std::move(mapped).error();
    // Look-ups touch pages in no order: reading ahead would only fill memory. A hint, so no check.
    (void)madvise(mapped->data(), map_size, MADV_RANDOM);
    mapping.emplace(std::move(*mapped));
  }
  return PageSource(std::move(file), std::move(mapping), map_size, page_size);
}

PageSource::PageSource(port::Fd file, std::optional<port::Mapping> mapping, std::size_t map_size, std::size_t page_size)
    : file_(std::move(file)),
      mapping_(std::move(mapping)),
      base_(mapping_ ? mapping_->data() : nullptr),
      page_size_(page_size),
      page_limit_(map_size / page_size_) {
  known_end_.store(file_size(), std::memory_order_relaxed);
}

PageSource::PageSource(PageSource&& other) noexcept
    : file_(std::move(other.file_)),
      mapping_(std::move(other.mapping_)),
      base_(std::exchange(other.base_, nullptr)),
      page_size_(other.page_size_),
      page_limit_(std::exchange(other.page_limit_, 0)),
      known_end_(other.known_end_.load(std::memory_order_relaxed)) {}

std::uint64_t PageSource::file_size() const {
  struct stat status {};
  if (fstat(file_.get(), &status) != 0 || status.st_size < 0) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

const std::uint8_t* PageSource::read(std::uint64_t number, PageBuffer& buffer) const {
  std::uint8_t* room = buffer.room(page_size_);
  const auto got = port::pread_full(file_.get(), room, page_size_, static_cast<off_t>(number * page_size_));
  return got.ok() && *got == page_size_ ? room : nullptr;
}

bool PageSource::grown_past(std::uint64_t end) const {
  const std::uint64_t now = file_size();
  known_end_.store(now, std::memory_order_relaxed);
  return end <= now;
}

}  // namespace tlc::store
