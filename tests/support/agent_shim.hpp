// SPDX-License-Identifier: MIT
// Commands to the libraries that a test may have preloaded: tests/faults/errno_shim.c and power_shim.c. Without one
// they answer ERROR.
#pragma once

#include <dlfcn.h>

#include <string>

#include "agent_state.hpp"

namespace agent {

template <typename Function>
Function shim(const char* name) {  // of errno_shim.c
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

inline Answer arm(const Arguments& words) {  // arm CALL ERRNO NTH COUNT
  const auto fn = shim<void (*)(const char*, int, long, long)>("tlc_shim_arm");
  if (fn == nullptr) return {"ERROR"};
  fn(words.at(1).c_str(), std::stoi(words.at(2)), std::stol(words.at(3)), std::stol(words.at(4)));
  return {"TLC_OK"};
}

inline Answer under(const Arguments& words) {  // under PREFIX: only calls on what lies there count and fail
  const auto fn = shim<void (*)(const char*)>("tlc_shim_under");
  if (fn == nullptr) return {"ERROR"};
  fn(words.at(1).c_str());
  return {"TLC_OK"};
}

inline Answer counted(const Arguments&) {  // counted: calls since the last arm
  const auto fn = shim<void (*)(char*, std::size_t)>("tlc_shim_counts");
  if (fn == nullptr) return {"ERROR"};
  char text[4096];
  fn(text, sizeof text);
  return Answer{"TLC_OK"}.add("calls", text);
}

inline Answer flush(const Arguments&) {  // flush: power_shim.c writes down what was stored through mappings
  const auto fn = shim<void (*)()>("tlc_power_flush");
  if (fn != nullptr) fn();
  return {fn != nullptr ? "TLC_OK" : "ERROR"};
}

}  // namespace agent
