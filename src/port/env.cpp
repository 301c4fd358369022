// SPDX-License-Identifier: MIT
// The environment and the passwd entry.
#include "port/env.hpp"

#include <pwd.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

namespace tlc::port {

namespace {

constexpr std::size_t kMaxPasswdEntry = 1U << 20U;

bool runs_privileged() {
  return ::getauxval(AT_SECURE) != 0 || ::getuid() != ::geteuid() || ::getgid() != ::getegid();
}

bool usable_home(const char* path) {
  struct stat st {};
  return path != nullptr && path[0] == '/' && ::stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

std::optional<std::string> passwd_home() {
  std::vector<char> text(1024);
  while (true) {
    passwd entry{};
    passwd* found = nullptr;
    const int err = ::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found);
    if (err == ERANGE && text.size() < kMaxPasswdEntry) {
      text.resize(text.size() * 2);
      continue;
    }
    if (err == EINTR) continue;
    if (err != 0 || found == nullptr || !usable_home(entry.pw_dir)) return std::nullopt;
    return std::string(entry.pw_dir);
  }
}

}  // namespace

const char* secure_env(const char* name) {
  return runs_privileged() ? nullptr : ::getenv(name);  // NOLINT(concurrency-mt-unsafe)
}

std::optional<std::string> home_dir() {
  if (const char* home = secure_env("HOME"); usable_home(home)) return std::string(home);
  return passwd_home();
}

}  // namespace tlc::port
