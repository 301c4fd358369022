// SPDX-License-Identifier: MIT
// Mapping: the owner of one shared mapping of a file from its start.
//
// A mapping outlives the descriptor it was made from. Bytes past the end of the file raise SIGBUS:
// callers map no more than they have seen the file to hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "port/result.hpp"

namespace tlc::port {

class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { reset(); }

  /// MAP_SHARED, readable. Length 0 gives an empty mapping.
  [[nodiscard]] static Result<Mapping> map_read(int fd, std::size_t len);
  /// MAP_SHARED, readable and writable.
  [[nodiscard]] static Result<Mapping> map_shared(int fd, std::size_t len);

  [[nodiscard]] std::uint8_t* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  explicit operator bool() const { return data_ != nullptr; }

  /// Unmaps now.
  void reset();

 private:
  Mapping(std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  static Result<Mapping> map(int fd, std::size_t len, int protection);

  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tlc::port
