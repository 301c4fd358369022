// SPDX-License-Identifier: MIT
// Numbered places where tests stop a process dead (kill -9). Nothing in a build without tests.
//
// TLC_STEP("put.appended") kills the process when the environment variable TLC_TEST_KILL is "put.appended", or
// "put.appended:3" at its third passage. TLC_TEST_STEPS names a file in which each passage is noted, a line each.
#pragma once

#ifdef TLC_TEST_STEPS
namespace tlc::port {
void step(const char* name);
}
#define TLC_STEP(name) ::tlc::port::step(name)
#else
#define TLC_STEP(name) static_cast<void>(0)
#endif
