// SPDX-License-Identifier: MIT
// How the parts of this backend fail: an exception that each slot turns into a status and message.
#pragma once

#include <stdexcept>
#include <string>

#include "tlcache/tlcache.h"

namespace tlcb::cpu {

class Failure : public std::runtime_error {
 public:
  Failure(tlc_status status, const std::string& message, int sys_errno = 0)
      : std::runtime_error(message), status_(status), errno_(sys_errno) {}

  [[nodiscard]] tlc_status status() const { return status_; }
  [[nodiscard]] int sys_errno() const { return errno_; }

 private:
  tlc_status status_;
  int errno_;
};

}  // namespace tlcb::cpu
