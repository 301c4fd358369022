// SPDX-License-Identifier: MIT
#include "cuda/driver.hpp"

#include <array>

#include "support/loaded_library.hpp"

namespace tlcb::cuda {
namespace {

constexpr const char* kName = "libcuda.so.1";
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;

template <typename Function>
void need(const LoadedLibrary& library, Function& into, const char* name) {
  library.find(into, name);
  if (into == nullptr) {
    throw Failure(TLC_E_UNAVAILABLE, library.path() + " lacks " + name + ": install the driver of CUDA 11.8 or newer");
  }
}

DriverApi functions_of(const LoadedLibrary& library) {
  DriverApi api;
  need(library, api.init, "cuInit");
  need(library, api.driver_version, "cuDriverGetVersion");
  need(library, api.device_count, "cuDeviceGetCount");
  need(library, api.device_get, "cuDeviceGet");
  need(library, api.device_name, "cuDeviceGetName");
  need(library, api.device_attribute, "cuDeviceGetAttribute");
  need(library, api.primary_retain, "cuDevicePrimaryCtxRetain");
  need(library, api.primary_release, "cuDevicePrimaryCtxRelease_v2");
  need(library, api.primary_state, "cuDevicePrimaryCtxGetState");
  need(library, api.context_current, "cuCtxGetCurrent");
  need(library, api.context_push, "cuCtxPushCurrent_v2");
  need(library, api.context_pop, "cuCtxPopCurrent_v2");
  need(library, api.context_device, "cuCtxGetDevice");
  need(library, api.module_load, "cuModuleLoadDataEx");
  need(library, api.module_unload, "cuModuleUnload");
  need(library, api.module_function, "cuModuleGetFunction");
  need(library, api.module_global, "cuModuleGetGlobal_v2");
  need(library, api.set_attribute, "cuFuncSetAttribute");
  need(library, api.error_name, "cuGetErrorName");
  need(library, api.error_string, "cuGetErrorString");
  library.find(api.context_id, "cuCtxGetId");
  return api;
}

/// What each code means for whoever asked, as a status; a refused image is what the library takes out of the cache.
tlc_status status_of(CuResult result) {
  switch (result) {
    case kCuInvalidImage:
    case kCuNoBinaryForGpu:
    case kCuInvalidPtx:
    case kCuUnsupportedPtxVersion:
      return TLC_E_LOAD;
    case kCuOutOfMemory:
      return TLC_E_NOMEM;
    case kCuInvalidDevice:
    case kCuInvalidContext:
      return TLC_E_INVALID;
    case kCuNotFound:
      return TLC_E_NOT_FOUND;
    default:
      return TLC_E_UNAVAILABLE;
  }
}

/// What to do about it, where that can be said.
std::string advice(CuResult result) {
  switch (result) {
    case kCuStub:
      return "; libcuda.so.1 is the toolkit's stub: install the driver, and take the folder 'stubs' out of the "
             "loader's "
             "path";
    case kCuNoDevice:
      return "; no GPU is visible: look at CUDA_VISIBLE_DEVICES, and in a container pass the GPU on";
    case kCuOldDriver:
    case kCuDriverMismatch:
    case kCuCompatNotSupported:
      return "; install a driver that fits, and restart so that kernel module and library are of one version";
    case kCuNoJitCompiler:
      return "; PTX needs the driver's compiler (libnvidia-ptxjitcompiler): install it, or compile to a cubin";
    case kCuUnsupportedPtxVersion:
      return "; the PTX is newer than the driver: update it, use an older NVRTC, or compile to a cubin";
    default:
      return "";
  }
}

}  // namespace

std::unique_ptr<Driver> open_driver() {
  std::string problem;
  const LoadedLibrary library = LoadedLibrary::open(kName, problem);
  if (!library) {
    throw Failure(TLC_E_UNAVAILABLE, "there is no NVIDIA driver on this machine (" + problem +
                                         "); install it, or in a container pass the GPU on");
  }
  auto driver = std::make_unique<Driver>(functions_of(library));
  driver->check(driver->api.init(0), "the NVIDIA driver cannot be used");
  if (driver->device_count() == 0) driver->fail(kCuNoDevice, "the NVIDIA driver cannot be used");
  return driver;
}

Driver::~Driver() {
  for (const auto& [device, context] : primary_) (void)api.primary_release(device);
}

int Driver::version() const {
  int version = 0;
  check(api.driver_version(&version), "the driver does not tell its version");
  return version;
}

int Driver::device_count() const {
  int count = 0;
  check(api.device_count(&count), "the NVIDIA driver cannot be used");
  return count;
}

CuDevice Driver::device(int ordinal) const {
  const int count = device_count();
  if (ordinal < 0 || ordinal >= count) {
    throw Failure(TLC_E_INVALID, "there is no device " + std::to_string(ordinal) + "; this process sees " +
                                     std::to_string(count) + ", counted from 0");
  }
  CuDevice device = 0;
  check(api.device_get(&device, ordinal), "device " + std::to_string(ordinal) + " cannot be used");
  return device;
}

int Driver::capability(CuDevice device) const {
  int major = 0;
  int minor = 0;
  check(api.device_attribute(&major, kCapabilityMajor, device), "the device does not tell its capability");
  check(api.device_attribute(&minor, kCapabilityMinor, device), "the device does not tell its capability");
  return major * 10 + minor;
}

std::string Driver::device_name(CuDevice device) const {
  std::array<char, 256> name{};
  check(api.device_name(name.data(), static_cast<int>(name.size()), device), "the device does not tell its name");
  name.back() = '\0';
  return name.data();
}

CuContext Driver::primary_context(CuDevice device) {
  const std::scoped_lock lock(mutex_);
  unsigned flags = 0;
  int active = 0;
  check(api.primary_state(device, &flags, &active), "the device's context cannot be found");
  const auto kept = primary_.find(device);
  // Not active although kept: somebody has reset the device. It is asked for again.
  if (kept != primary_.end() && active != 0) return kept->second;
  CuContext context = nullptr;
  check(api.primary_retain(&context, device), "the device's context cannot be made");
  primary_[device] = context;
  return context;
}

std::string Driver::describe(CuResult result) const {
  const char* name = nullptr;
  const char* meaning = nullptr;
  if (api.error_name(result, &name) != kCuOk || name == nullptr) {
    name = result == kCuStub ? "CUDA_ERROR_STUB_LIBRARY" : "CUDA error";
  }
  std::string out = std::string(name) + " (" + std::to_string(result) + ")";
  if (api.error_string(result, &meaning) == kCuOk && meaning != nullptr) out += std::string(": ") + meaning;
  return out;
}

void Driver::fail(CuResult result, const std::string& doing) const {
  throw Failure(status_of(result), doing + ": " + describe(result) + advice(result), 0, result);
}

std::string DriverFinder::version_text() {
  const std::scoped_lock lock(mutex_);
  if (version_ != 0) return std::to_string(version_);
  std::string ignored;
  const LoadedLibrary library = LoadedLibrary::open(kName, ignored);
  CuResult (*driver_version)(int*) = nullptr;
  if (library) library.find(driver_version, "cuDriverGetVersion");
  if (driver_version == nullptr || driver_version(&version_) != kCuOk) version_ = 0;
  return version_ != 0 ? std::to_string(version_) : "none";
}

}  // namespace tlcb::cuda
