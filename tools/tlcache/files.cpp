// SPDX-License-Identifier: MIT
// Files of the user: read whole, written whole.
#include "files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace tlc::tool {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void refuse(std::string_view doing, const std::string& path, int code) {
  fail(exit_failed, "cannot {} '{}': {}", doing, clean(path), std::generic_category().message(code));
}

void write_to(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(done));
    } else if (done < 0 && errno != EINTR) {
      refuse("write", path, errno);
    }
  }
}

mode_t wanted_mode(bool executable) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return static_cast<mode_t>((executable ? 0777U : 0666U) & ~mask);
}

/// The library refuses such names when they are stored; a store may come from somebody else.
void check_member_name(std::string_view name) {
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos) {
    fail(exit_failed, "member '{}' has a name that is no file name; not written", clean(name));
  }
}

bool is_executable(std::uint32_t type) {
  return type == TLC_MEMBER_SHARED_OBJECT;
}

}  // namespace

std::string absolute_path(const std::string& path) {
  std::error_code code;
  const fs::path whole = fs::absolute(path, code);
  if (code) refuse("find", path, code.value());
  std::string result = whole.lexically_normal().string();
  if (result.size() > 1 && result.back() == '/') result.pop_back();
  return result;
}

bool is_folder(const std::string& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

bool exists(const std::string& path) {
  std::error_code code;
  return fs::exists(path, code);
}

std::string read_file(const std::string& path) {
  const bool standard = path == "-";
  const Descriptor file(standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) refuse("read", path, errno);
  std::string bytes;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got == 0) return bytes;
    if (got > 0) {
      bytes.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      refuse("read", standard ? "standard input" : path, errno);
    }
  }
}

void write_file(const std::string& path, std::string_view bytes, bool executable) {
  struct stat status {};
  const bool there = ::stat(path.c_str(), &status) == 0;
  if (there && S_ISDIR(status.st_mode)) refuse("write", path, EISDIR);
  if (there && !S_ISREG(status.st_mode)) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0) refuse("write", path, errno);
    write_to(file.get(), bytes, path);
    return;
  }
  std::string temporary = path + ".XXXXXX";
  const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) refuse("write", path, errno);
  try {
    write_to(file.get(), bytes, path);
    if (::fchmod(file.get(), wanted_mode(executable)) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
      refuse("write", path, errno);
    }
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

std::string read_member(const tlc_artifact* artifact, std::size_t index) {
  const std::vector<tlc_member> members = members_of(artifact);
  std::string bytes(members.at(index).size, '\0');
  Error error;
  check(tlc_artifact_read(artifact, index, bytes.data(), bytes.size(), &error), error,
        fmt::format("member '{}'", clean(view(members.at(index).name))));
  return bytes;
}

void write_member(const tlc_artifact* artifact, std::size_t index, const std::string& path) {
  const std::string bytes = read_member(artifact, index);
  if (path == "-") {
    output().write(bytes);
    return;
  }
  write_file(path, bytes, is_executable(members_of(artifact).at(index).type));
}

std::vector<std::string> write_members(const tlc_artifact* artifact, const std::string& out) {
  const std::vector<tlc_member> members = members_of(artifact);
  const bool folder = is_folder(out) || (!out.empty() && out.back() == '/');
  if (members.size() == 1 && !folder) {
    write_member(artifact, 0, out);
    return {out};
  }
  if (out == "-") {
    fail(exit_usage, "the artifact has {} members: give a folder with -o, or one with --member", members.size());
  }
  for (const tlc_member& member : members) check_member_name(view(member.name));
  std::error_code code;
  fs::create_directories(out, code);
  if (code) refuse("make the folder", out, code.value());
  std::vector<std::string> written;
  for (std::size_t i = 0; i < members.size(); ++i) {
    written.push_back((fs::path(out) / view(members[i].name)).string());
    write_member(artifact, i, written.back());
  }
  return written;
}

}  // namespace tlc::tool
