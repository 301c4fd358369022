// SPDX-License-Identifier: MIT
#include "dir/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "dir/crc64.hpp"

namespace tlc::dir {
namespace {

template <typename Call>
auto retry(const Call& call) {
  auto done = call();
  while (done < 0 && errno == EINTR) done = call();
  return done;
}

std::uint64_t clock_ns(clockid_t id) {
  timespec time{};
  ::clock_gettime(id, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

Failure io_failure(int code, const std::string& what) {
  return {TLC_E_IO, code, what + ": " + std::generic_category().message(code)};
}

int File::close_now() {
  return ::close(std::exchange(fd_, -1));
}

File open_file(int dir, const char* name, int flags, mode_t mode) {
  return File(retry([&] { return ::openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW, mode); }));
}

bool read_all(int fd, void* into, std::size_t len, std::uint64_t offset) {
  auto* at = static_cast<char*>(into);
  for (std::size_t done = 0; done < len;) {
    const ssize_t got = retry([&] { return ::pread(fd, at + done, len - done, static_cast<off_t>(offset + done)); });
    if (got == 0) errno = 0;
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int fd, const void* from, std::size_t len) {
  const auto* at = static_cast<const char*>(from);
  for (std::size_t done = 0; done < len;) {
    const ssize_t put = retry([&] { return ::write(fd, at + done, len - done); });
    if (put < 0) return false;
    done += static_cast<std::size_t>(put);
  }
  return true;
}

std::optional<std::vector<std::string>> list(int dir, std::size_t most) {
  const int own = retry([&] { return ::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (own < 0) return std::nullopt;
  DIR* open = ::fdopendir(own);
  if (open == nullptr) {
    ::close(own);
    return std::nullopt;
  }
  std::vector<std::string> names;
  errno = 0;
  for (const dirent* entry = ::readdir(open); entry != nullptr && names.size() < most; entry = ::readdir(open))
    names.emplace_back(entry->d_name);
  const int code = errno;
  ::closedir(open);
  errno = code;
  if (code != 0) return std::nullopt;
  return names;
}

Failure distrust(const struct stat& st, const std::string& path) {
  if (st.st_uid != ::geteuid())
    return {TLC_E_DENIED, 0,
            path + " belongs to user " + std::to_string(st.st_uid) + " and this is user " +
                std::to_string(::geteuid()) + "; name a folder of your own in TLC_REMOTES"};
  if ((st.st_mode & 022) != 0) return {TLC_E_DENIED, 0, path + " can be written by others; run: chmod go-w " + path};
  return {};
}

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  if (retry([&] { return ::getrandom(&bits, sizeof bits, 0); }) == sizeof bits) return bits;
  const std::array<std::uint64_t, 3> unlike = {wall_ns(), monotonic_ms(), static_cast<std::uint64_t>(::getpid())};
  return crc64(unlike.data(), sizeof unlike);  // a name that nobody has to be unable to guess
}

std::uint64_t wall_ns() {
  return clock_ns(CLOCK_REALTIME);
}

std::uint64_t monotonic_ms() {
  return clock_ns(CLOCK_MONOTONIC) / 1'000'000;
}

std::string host_id() {
  std::string all(128, '\0');
  if (const File file(::open("/etc/machine-id", O_RDONLY | O_CLOEXEC)); file)
    (void)retry([&] { return ::read(file.get(), all.data(), all.size()); });
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) all += name.data();
  all += '/' + std::to_string(::geteuid());
  std::uint64_t hash = crc64(all.data(), all.size());
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, hash >>= 4) *digit = "0123456789abcdef"[hash & 15];
  return text;
}

}  // namespace tlc::dir
