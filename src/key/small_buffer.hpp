// SPDX-License-Identifier: MIT
// SmallBuffer: a growing row of plain values whose first N need no memory of their own.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

namespace tlc::key {

template <typename T, std::size_t N>
class SmallBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallBuffer() = default;
  SmallBuffer(const SmallBuffer&) = delete;
  SmallBuffer& operator=(const SmallBuffer&) = delete;

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  [[nodiscard]] const T& back() const { return data_[size_ - 1]; }

  void push_back(T value) {
    if (size_ == capacity_) grow(1);
    data_[size_++] = value;
  }
  void append(const T* values, std::size_t count) {
    if (count == 0) return;
    if (count > capacity_ - size_) grow(count);
    std::memcpy(data_ + size_, values, count * sizeof(T));
    size_ += count;
  }
  void truncate(std::size_t size) { size_ = size; }

 private:
  void grow(std::size_t more) {
    const std::size_t wanted = size_ + more;
    const std::size_t capacity = wanted > 2 * capacity_ ? wanted : 2 * capacity_;
    auto larger = std::make_unique_for_overwrite<T[]>(capacity);
    std::memcpy(larger.get(), data_, size_ * sizeof(T));
    heap_ = std::move(larger);
    data_ = heap_.get();
    capacity_ = capacity;
  }

  T inline_[N];
  std::unique_ptr<T[]> heap_;
  T* data_ = inline_;
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
};

}  // namespace tlc::key
