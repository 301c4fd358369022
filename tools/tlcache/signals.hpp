// SPDX-License-Identifier: MIT
// Ctrl-C and closed pipes.
#pragma once

#include <tlcache/tlcache.h>

namespace tlc::tool {

/// A write to a closed pipe then fails instead of ending the process; programs that the tool
/// starts still get the default.
void survive_closed_pipes();

/// While it lives, the first SIGINT or SIGTERM is noted and triggers the token; the second ends
/// the process.
class Interruptible {
 public:
  explicit Interruptible(tlc_cancel* cancel = nullptr);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
};

/// The signal that was noted; 0 if none.
int interrupted();

}  // namespace tlc::tool
