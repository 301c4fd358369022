// SPDX-License-Identifier: MIT
#include "port/step.hpp"

#ifdef TLC_TEST_STEPS

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <string>

namespace tlc::port {
namespace {

void note(const char* name) {
  const char* path = ::getenv("TLC_TEST_STEPS");
  const int file = path == nullptr ? -1 : ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  const std::string line = std::string(name) + "\n";
  if (::write(file, line.data(), line.size()) < 0) ::abort();
  ::close(file);
}

}  // namespace

void step(const char* name) {
  static std::atomic<long> passages{0};
  note(name);
  const char* wanted = ::getenv("TLC_TEST_KILL");
  if (wanted == nullptr) return;
  const size_t length = ::strlen(name);
  if (::strncmp(wanted, name, length) != 0 || (wanted[length] != '\0' && wanted[length] != ':')) return;
  const long at = wanted[length] == ':' ? ::strtol(wanted + length + 1, nullptr, 10) : 1;
  if (passages.fetch_add(1) + 1 == at) ::kill(::getpid(), SIGKILL);
}

}  // namespace tlc::port

#endif
