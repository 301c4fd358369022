// SPDX-License-Identifier: MIT
// Boot id, page size, random bytes, C library.
#include "port/system.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include <cerrno>
#include <stdexcept>

#include "port/file.hpp"
#include "port/retry.hpp"

namespace tlc::port {

namespace {

constexpr std::size_t kBootIdLength = 36;

/// What getrandom gave before it failed, if it did: old kernels lack it, sandboxes may bar it.
std::size_t from_getrandom(char* into, std::size_t len) {
  std::size_t done = 0;
  while (done < len) {
    const ssize_t got = retry([&] { return ::getrandom(into + done, len - done, 0); });
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

bool from_device(char* into, std::size_t len) {
  auto device = open_at(AT_FDCWD, "/dev/urandom", O_RDONLY);
  if (!device) return false;
  std::size_t done = 0;
  while (done < len) {
    const ssize_t got = retry([&] { return ::read(device->get(), into + done, len - done); });
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

std::string boot_id() {
  auto text = read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64);
  if (!text || text->size() < kBootIdLength) return {};
  return text->substr(0, kBootIdLength);
}

std::size_t page_size() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void random_bytes(void* into, std::size_t len) {
  auto* at = static_cast<char*>(into);
  const std::size_t done = from_getrandom(at, len);
  if (done < len && !from_device(at + done, len - done)) {
    throw std::runtime_error("the system gives no random bytes: getrandom and /dev/urandom fail");
  }
}

std::uint64_t random_u64() {
  std::uint64_t value = 0;
  random_bytes(&value, sizeof value);
  return value;
}

std::string libc_name() {
#if defined(__GLIBC__)
  return "glibc";
#elif defined(__linux__)
  return "musl";  // it defines no macro to know it by, and is the only other one built for
#else
  return "other";
#endif
}

std::string libc_version() {
#if defined(__GLIBC__)
  return libc_name() + "-" + ::gnu_get_libc_version();
#else
  return libc_name();
#endif
}

}  // namespace tlc::port
