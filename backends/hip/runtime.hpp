// SPDX-License-Identifier: MIT
// AMD's HIP runtime, libamdhip64.so: opened and initialised on the first call that needs it. ROCm 5 to 7.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hip/target.hpp"
#include "support/found_once.hpp"
#include "support/loaded_library.hpp"

namespace tlcb::hip {

// The runtime's types, as its documentation gives them. All handles are opaque pointers.
using HipResult = int;
using HipModule = struct HipModuleOpaque*;
using HipFunction = struct HipFunctionOpaque*;

enum HipCode : HipResult {
  kHipOk = 0,
  kHipOutOfMemory = 2,
  kHipNotInitialised = 3,
  kHipOldDriver = 35,
  kHipNoDevice = 100,
  kHipInvalidDevice = 101,
  kHipInvalidImage = 200,
  kHipNoBinaryForGpu = 209,
  kHipInvalidKernelFile = 218,
  kHipSymbolNotFound = 302,
  kHipSharedObjectInitFailed = 303,
  kHipNotFound = 500,
};

/// Its functions. Those at the end may be NULL.
struct RuntimeApi {
  HipResult (*init)(unsigned flags) = nullptr;
  HipResult (*version)(int* version) = nullptr;
  HipResult (*device_count)(int* count) = nullptr;
  HipResult (*get_device)(int* device) = nullptr;
  HipResult (*set_device)(int device) = nullptr;
  HipResult (*module_load)(HipModule* module, const void* image) = nullptr;
  HipResult (*module_unload)(HipModule module) = nullptr;
  HipResult (*module_function)(HipFunction* function, HipModule module, const char* name) = nullptr;
  HipResult (*module_global)(void** address, std::size_t* size, HipModule module, const char* name) = nullptr;
  const char* (*error_name)(HipResult result) = nullptr;
  const char* (*error_string)(HipResult result) = nullptr;
  HipResult (*last_error)() = nullptr;
  HipResult (*peek_last_error)() = nullptr;
  // hipDeviceProp_t has two layouts; the name of the function says which one it fills in.
  HipResult (*properties_r0600)(void* properties, int device) = nullptr;  ///< ROCm 6 and newer
  HipResult (*properties_r0000)(void* properties, int device) = nullptr;  ///< the old layout, by a name that says so
  HipResult (*properties)(void* properties, int device) = nullptr;        ///< the old layout, in all of them
};

struct DeviceFacts {
  std::string name;
  TargetId target;
};

/// The runtime of this process, initialised.
class Runtime {
 public:
  Runtime(const RuntimeApi& functions, std::string file) : api(functions), path(std::move(file)) {}

  const RuntimeApi api;
  const std::string path;

  /// "5.2.21153"
  [[nodiscard]] std::string version() const;
  [[nodiscard]] int device_count() const;
  /// Throws Failure for a device that is not there.
  void check_device(int device) const;
  [[nodiscard]] DeviceFacts device(int device) const;

  /// Throws a Failure that fits the code; `doing` begins its message.
  void check(HipResult result, const std::string& doing) const {
    if (result != kHipOk) fail(result, doing);
  }
  [[noreturn]] void fail(HipResult result, const std::string& doing) const;
};

[[nodiscard]] std::unique_ptr<Runtime> open_runtime();

/// get() throws Failure (TLC_E_UNAVAILABLE) that says what is missing: the library, a device.
class RuntimeFinder : public FoundOnce<Runtime> {
 public:
  RuntimeFinder() : FoundOnce(open_runtime) {}
};

/// Where ROCm is unless somebody says otherwise.
inline constexpr const char* kUsualRocm = "/opt/rocm";
/// $ROCM_PATH and $HIP_PATH, of those that are set.
[[nodiscard]] std::vector<std::string> rocm_roots();
/// Their folders of libraries.
[[nodiscard]] std::vector<std::string> rocm_libraries();

}  // namespace tlcb::hip
