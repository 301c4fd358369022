// SPDX-License-Identifier: MIT
// OpenCL in this process: opened on the first call that needs it, which is one that loads or asks for a device.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "opencl/cl_device.hpp"
#include "support/failure.hpp"

namespace tlcb::opencl {

class Runtime {
 public:
  Runtime(Loader loader, std::vector<Device> listed)
      : api(loader.api), path(std::move(loader.path)), devices(std::move(listed)) {}

  const ClApi api;
  const std::string path;
  const std::vector<Device> devices;  ///< one or more, in the loader's order, which numbers them

  /// Throws Failure for a number that none has.
  [[nodiscard]] const Device& device(std::int64_t number) const;
  [[nodiscard]] const Device& default_device() const;
  /// The context of a device that is there for whoever brings none. Made once, kept for good.
  [[nodiscard]] ClContext own_context(const Device& device);
  /// The devices of a context. Throws Failure.
  [[nodiscard]] std::vector<Device> devices_of(ClContext context) const;

  /// Throws a Failure that fits the code; `doing` begins its message.
  void check(ClResult result, const std::string& doing) const {
    if (result != kClOk) fail(result, doing);
  }
  [[noreturn]] static void fail(ClResult result, const std::string& doing);

 private:
  std::mutex mutex_;
  std::map<ClDevice, ClContext> contexts_;
};

/// Looked for again by every call as long as it is not there.
class RuntimeFinder {
 public:
  /// Throws Failure: TLC_E_UNAVAILABLE that says what is missing, TLC_E_FORKED in a child of the process that opened
  /// it.
  [[nodiscard]] Runtime& get();
  /// NULL, and the reason, where get() would throw.
  [[nodiscard]] Runtime* try_get(std::string* reason = nullptr);

 private:
  std::mutex mutex_;
  std::unique_ptr<Runtime> found_;
  pid_t opened_by_ = 0;
};

}  // namespace tlcb::opencl
