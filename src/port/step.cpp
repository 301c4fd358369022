// SPDX-License-Identifier: MIT
#include "port/step.hpp"

#ifdef TLC_TEST_STEPS

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

namespace tlc::port {

void step(const char* name) {
  static std::atomic<long> passages{0};
  const char* wanted = ::getenv("TLC_TEST_KILL");
  if (wanted == nullptr) return;
  const size_t length = ::strlen(name);
  if (::strncmp(wanted, name, length) != 0 || (wanted[length] != '\0' && wanted[length] != ':')) return;
  const long at = wanted[length] == ':' ? ::strtol(wanted + length + 1, nullptr, 10) : 1;
  if (passages.fetch_add(1) + 1 == at) ::kill(::getpid(), SIGKILL);
}

}  // namespace tlc::port

#endif
