// SPDX-License-Identifier: MIT
// NVRTC up to CUDA 13.0 swaps handlers of signals (SIGINT, SIGTERM, SIGXFSZ) for moments of a compile and puts back
// what it found. With two compiles at a time that may be the other one's: a handler of NVRTC's would stay in the host.
// This guards against it.
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
