// SPDX-License-Identifier: MIT
// What tests of files and processes share: a folder of their own, and code run in a child.
#pragma once

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace tlc::test {

/// An empty folder under $TMPDIR or /tmp, removed at the end.
class Scratch {
 public:
  Scratch() {
    const char* base = ::getenv("TMPDIR");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/tlc-test-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) ::abort();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// What a child left: its exit code, or 1000 and the signal that ended it.
inline int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// Runs `body` in a forked child, which exits with its answer.
template <typename Body>
pid_t start_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return child;
}

template <typename Body>
int in_child(Body body) {
  return wait_for(start_child(body));
}

/// Root passes every permission check: a child that means to meet them becomes someone else.
inline bool drop_root() {
  constexpr unsigned kNobody = 65534;
  if (::geteuid() != 0) return true;
  return ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
}

}  // namespace tlc::test
