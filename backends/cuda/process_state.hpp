// SPDX-License-Identifier: MIT
// NVRTC swaps handlers of signals (SIGINT, SIGTERM, SIGXFSZ) during a compile and puts them back. Two compiles at a
// time put back each other's: the last one may leave a handler of NVRTC's in the host. This guards against it.
#pragma once

#include <string>

namespace tlcb::cuda {

/// Lives as long as a compile. The first of several at a time notes the handlers; the last one puts back those that are
/// the library's. A handler the host installs meanwhile is left alone.
class KeepSignalHandlers {
 public:
  explicit KeepSignalHandlers(std::string library_path);
  KeepSignalHandlers(const KeepSignalHandlers&) = delete;
  KeepSignalHandlers& operator=(const KeepSignalHandlers&) = delete;
  ~KeepSignalHandlers();

 private:
  std::string library_path_;
};

}  // namespace tlcb::cuda
