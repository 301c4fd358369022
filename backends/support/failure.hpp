// SPDX-License-Identifier: MIT
// How the parts of a backend fail: an exception that each slot turns into a status and a message.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "support/host.hpp"

namespace tlcb {

class Failure : public std::runtime_error {
 public:
  Failure(tlc_status status, const std::string& message, int sys_errno = 0, std::int64_t backend_code = 0)
      : std::runtime_error(message), status_(status), errno_(sys_errno), backend_code_(backend_code) {}

  [[nodiscard]] tlc_status status() const { return status_; }
  [[nodiscard]] int sys_errno() const { return errno_; }
  /// The code of the driver or compiler, 0 where there is none.
  [[nodiscard]] std::int64_t backend_code() const { return backend_code_; }

 private:
  tlc_status status_;
  int errno_;
  std::int64_t backend_code_;
};

/// Somewhere for a service of the host's to say why it failed, and the throw that passes it on.
class HostError {
 public:
  HostError() { error_.struct_size = TLC_SIZEOF(tlc_error, message); }

  [[nodiscard]] tlc_error* out() { return &error_; }
  void check(tlc_status status, const std::string& what = {}) const {
    if (status == TLC_OK) return;
    throw Failure(status, what.empty() ? error_.message : what + ": " + error_.message, error_.sys_errno);
  }

 private:
  tlc_error error_{};
};

}  // namespace tlcb
