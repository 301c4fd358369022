// SPDX-License-Identifier: MIT
// What loading needs of Metal: runtime.mm on macOS; elsewhere there is none (no_runtime.cpp).
//
// Objects of Metal's are held by their owners here as `void*`: retained once when they are handed out, until release().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "metal/options.hpp"
#include "metal/target.hpp"
#include "support/host.hpp"

namespace tlcb::metal {

/// Which device a load is for.
struct DeviceChoice {
  void* context = nullptr;   ///< an id<MTLDevice> of the caller's; NULL: by number
  std::int64_t number = -1;  ///< in the order of MTLCopyAllDevices; -1 and 0: the system's default device
};

struct DeviceFacts {
  std::string name;
  std::uint64_t registry_id = 0;      ///< its number in the system's registry
  std::vector<std::string> families;  ///< all that it supports, the newest of each kind last
  std::string native;                 ///< the target `native` stands for
};

/// How a call ended that can fail, as Metal says it.
struct Outcome {
  std::string domain;  ///< of the NSError; empty: it went well
  std::int64_t code = 0;
  std::string detail;  ///< its description, reason and, of a compile, the log

  [[nodiscard]] bool ok() const { return domain.empty(); }
};

class Runtime {
 public:
  Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  virtual ~Runtime() = default;

  // Threads may call all of these. They throw Failure where there is no such device.
  [[nodiscard]] virtual DeviceFacts device(const DeviceChoice& choice) = 0;
  [[nodiscard]] virtual std::vector<DeviceFacts> devices() = 0;
  /// An id<MTLLibrary>; NULL when the outcome is not ok.
  [[nodiscard]] virtual void* library_of_source(const DeviceChoice& choice, std::string_view text,
                                                const LoadOptions& options, Version language, Outcome& outcome) = 0;
  /// The bytes are copied.
  [[nodiscard]] virtual void* library_of_metallib(const DeviceChoice& choice, std::string_view bytes,
                                                  Outcome& outcome) = 0;
  /// An id<MTLFunction>; NULL when there is none of that name.
  [[nodiscard]] virtual void* function(void* library, const std::string& name) = 0;
  [[nodiscard]] virtual std::vector<std::string> function_names(void* library) = 0;
  virtual void release(void* object) = 0;
};

/// Of this system. Throws Failure (TLC_E_UNAVAILABLE) where there is none.
[[nodiscard]] std::unique_ptr<Runtime> open_runtime();

/// What an outcome that is not ok means here. `compiled`: Metal compiled the artifact's text.
[[nodiscard]] tlc_status status_of(const Outcome& outcome, bool compiled);

}  // namespace tlcb::metal
