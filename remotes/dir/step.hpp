// SPDX-License-Identifier: MIT
// Numbered places where tests stop a process dead (kill -9), as TLC_STEP of the library does:
// TLC_DIR_STEP("dir.written") kills when the environment variable TLC_TEST_KILL says so. Nothing in a build without
// tests.
#pragma once

#ifdef TLC_TEST_STEPS
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace tlc::dir {
inline void step(std::string_view name) {
  const char* wanted = std::getenv("TLC_TEST_KILL");
  if (wanted != nullptr && name == wanted) ::kill(::getpid(), SIGKILL);
}
}  // namespace tlc::dir
#define TLC_DIR_STEP(name) ::tlc::dir::step(name)
#else
#define TLC_DIR_STEP(name) static_cast<void>(0)
#endif
