// SPDX-License-Identifier: MIT
// Shared mappings of files.
#include "port/mapping.hpp"

#include <sys/mman.h>

#include <cerrno>

namespace tlc::port {

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    reset();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void Mapping::reset() {
  if (data_ != nullptr) ::munmap(data_, size_);
  data_ = nullptr;
  size_ = 0;
}

Result<Mapping> Mapping::map(int fd, std::size_t len, int protection) {
  if (len == 0) return Mapping();
  void* at = ::mmap(nullptr, len, protection, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) {  // NOLINT: the macro is a cast of its own
    return io_error(errno, "cannot map " + std::to_string(len) + " bytes of a file");
  }
  return Mapping(static_cast<std::uint8_t*>(at), len);
}

Result<Mapping> Mapping::map_read(int fd, std::size_t len) {
  return map(fd, len, PROT_READ);
}

Result<Mapping> Mapping::map_shared(int fd, std::size_t len) {
  return map(fd, len, PROT_READ | PROT_WRITE);
}

}  // namespace tlc::port
