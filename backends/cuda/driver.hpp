// SPDX-License-Identifier: MIT
// NVIDIA's driver, libcuda.so.1: opened and initialised on the first call that needs it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "support/failure.hpp"
#include "support/found_once.hpp"
#include "support/host.hpp"

namespace tlcb::cuda {

// The driver's types, as its documentation gives them. All handles are opaque pointers.
using CuResult = int;
using CuDevice = int;
using CuContext = struct CuContextOpaque*;
using CuModule = struct CuModuleOpaque*;
using CuFunction = struct CuFunctionOpaque*;
using CuAddress = unsigned long long;

enum CuCode : CuResult {
  kCuOk = 0,
  kCuOutOfMemory = 2,
  kCuStub = 34,
  kCuOldDriver = 35,
  kCuNoDevice = 100,
  kCuInvalidDevice = 101,
  kCuInvalidImage = 200,
  kCuInvalidContext = 201,
  kCuNoBinaryForGpu = 209,
  kCuInvalidPtx = 218,
  kCuNoJitCompiler = 221,
  kCuUnsupportedPtxVersion = 222,
  kCuNotFound = 500,
  kCuDriverMismatch = 803,
  kCuCompatNotSupported = 804,
};

/// Its functions, by the names of the ABI that they belong to. The last is of CUDA 12 and may be NULL.
struct DriverApi {
  CuResult (*init)(unsigned flags) = nullptr;
  CuResult (*driver_version)(int* version) = nullptr;
  CuResult (*device_count)(int* count) = nullptr;
  CuResult (*device_get)(CuDevice* device, int ordinal) = nullptr;
  CuResult (*device_name)(char* name, int size, CuDevice device) = nullptr;
  CuResult (*device_attribute)(int* value, int attribute, CuDevice device) = nullptr;
  CuResult (*primary_retain)(CuContext* context, CuDevice device) = nullptr;
  CuResult (*primary_release)(CuDevice device) = nullptr;
  CuResult (*primary_state)(CuDevice device, unsigned* flags, int* active) = nullptr;
  CuResult (*context_current)(CuContext* context) = nullptr;
  CuResult (*context_push)(CuContext context) = nullptr;
  CuResult (*context_pop)(CuContext* context) = nullptr;
  CuResult (*context_device)(CuDevice* device) = nullptr;
  CuResult (*module_load)(CuModule* module, const void* image, unsigned count, int* options, void** values) = nullptr;
  CuResult (*module_unload)(CuModule module) = nullptr;
  CuResult (*module_function)(CuFunction* function, CuModule module, const char* name) = nullptr;
  CuResult (*module_global)(CuAddress* address, std::size_t* size, CuModule module, const char* name) = nullptr;
  CuResult (*set_attribute)(CuFunction function, int attribute, int value) = nullptr;
  CuResult (*error_name)(CuResult result, const char** text) = nullptr;
  CuResult (*error_string)(CuResult result, const char** text) = nullptr;
  CuResult (*context_id)(CuContext context, unsigned long long* id) = nullptr;
};

/// The driver of this process, initialised. Primary contexts that it had to make are kept until it ends.
class Driver {
 public:
  explicit Driver(const DriverApi& functions) : api(functions) {}
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver();

  const DriverApi api;

  /// 12040 for 12.4.
  [[nodiscard]] int version() const;
  [[nodiscard]] int device_count() const;
  /// 90 for capability 9.0.
  [[nodiscard]] int capability(CuDevice device) const;
  [[nodiscard]] CuDevice device(int ordinal) const;
  [[nodiscard]] std::string device_name(CuDevice device) const;
  /// The primary context of a device, alive.
  [[nodiscard]] CuContext primary_context(CuDevice device);

  /// Throws a Failure that fits the code; `doing` begins its message.
  void check(CuResult result, const std::string& doing) const {
    if (result != kCuOk) fail(result, doing);
  }
  [[noreturn]] void fail(CuResult result, const std::string& doing) const;
  /// "CUDA_ERROR_INVALID_IMAGE (200): device kernel image is invalid"
  [[nodiscard]] std::string describe(CuResult result) const;

 private:
  std::mutex mutex_;
  std::map<CuDevice, CuContext> primary_;
};

[[nodiscard]] std::unique_ptr<Driver> open_driver();

/// Finds the driver once. get() throws Failure (TLC_E_UNAVAILABLE) that says what is missing: the library, a device, a
/// driver that is new enough.
class DriverFinder : public FoundOnce<Driver> {
 public:
  DriverFinder() : FoundOnce(open_driver) {}

  /// The driver's version, or "none". Does not initialise it: a process that only compiles may fork afterwards.
  [[nodiscard]] std::string version_text();

 private:
  std::mutex mutex_;
  int version_ = 0;
};

}  // namespace tlcb::cuda
