// SPDX-License-Identifier: MIT
// One loop for all calls that a signal can interrupt.
#pragma once

#include <cerrno>

namespace tlc::port {

/// Repeats a call that answers -1 for as long as errno is EINTR.
template <typename Call>
auto retry(Call call) {
  decltype(call()) answer;
  do {
    answer = call();
  } while (answer == -1 && errno == EINTR);
  return answer;
}

}  // namespace tlc::port
