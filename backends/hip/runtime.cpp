// SPDX-License-Identifier: MIT
// Where the runtime is looked for, in this order: in the process (a framework's), $ROCM_PATH/lib, $HIP_PATH/lib, the
// loader's own ways, /opt/rocm/lib.
//
// Where hipDeviceProp_t has what is needed of it, by its layout:
//
// |                    | until ROCm 5 (792 bytes) | R0600, ROCm 6 and 7 (1472 bytes) |
// |--------------------|--------------------------|----------------------------------|
// | name, 256 bytes    | 0                        | 0                                |
// | gcnArchName, 256   | 396                      | 1160                             |
//
// ROCm 6 and 7 have both functions; their headers rename the plain name to the new one.
#include "hip/runtime.hpp"

#include <array>
#include <string_view>

#include "support/toolchain.hpp"

namespace tlcb::hip {
namespace {

constexpr std::array<const char*, 3> kNames = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
constexpr std::size_t kTextSize = 256;
constexpr std::size_t kArchOld = 396;
constexpr std::size_t kArchR0600 = 1160;
/// Larger than any layout there has been.
constexpr std::size_t kPropertiesSize = 8192;

template <typename Function>
void need(const LoadedLibrary& library, Function& into, const char* name) {
  library.find(into, name);
  if (into == nullptr) {
    throw Failure(TLC_E_UNAVAILABLE,
                  library.path() + " lacks " + name + ": install the HIP runtime of ROCm 5 or newer");
  }
}

RuntimeApi functions_of(const LoadedLibrary& library) {
  RuntimeApi api;
  need(library, api.init, "hipInit");
  need(library, api.version, "hipRuntimeGetVersion");
  need(library, api.device_count, "hipGetDeviceCount");
  need(library, api.get_device, "hipGetDevice");
  need(library, api.set_device, "hipSetDevice");
  need(library, api.module_load, "hipModuleLoadData");
  need(library, api.module_unload, "hipModuleUnload");
  need(library, api.module_function, "hipModuleGetFunction");
  need(library, api.module_global, "hipModuleGetGlobal");
  need(library, api.error_name, "hipGetErrorName");
  need(library, api.error_string, "hipGetErrorString");
  need(library, api.last_error, "hipGetLastError");
  need(library, api.peek_last_error, "hipPeekAtLastError");
  library.find(api.properties_r0600, "hipGetDevicePropertiesR0600");
  library.find(api.properties_r0000, "hipGetDevicePropertiesR0000");
  if (api.properties_r0600 == nullptr && api.properties_r0000 == nullptr)
    need(library, api.properties, "hipGetDeviceProperties");
  return api;
}

LoadedLibrary find_runtime() {
  for (const char* name : kNames) {
    if (LoadedLibrary library = LoadedLibrary::already_open(name)) return library;
  }
  std::string problem;
  for (const std::string& path : candidates_of(rocm_libraries(), kNames, std::string(kUsualRocm) + "/lib")) {
    std::string why;
    if (LoadedLibrary library = LoadedLibrary::open(path, why)) return library;
    if (problem.empty() || path == kNames.back()) problem = why;
  }
  throw Failure(TLC_E_UNAVAILABLE, "there is no HIP runtime on this machine (" + problem +
                                       "); install ROCm's, or name its folder by ROCM_PATH");
}

/// What each code means for whoever asked, as a status; a refused image is what the library takes out of the cache.
tlc_status status_of(HipResult result) {
  switch (result) {
    case kHipInvalidImage:
    case kHipNoBinaryForGpu:
    case kHipInvalidKernelFile:
    case kHipSymbolNotFound:
    case kHipSharedObjectInitFailed:
      return TLC_E_LOAD;
    case kHipOutOfMemory:
      return TLC_E_NOMEM;
    case kHipInvalidDevice:
      return TLC_E_INVALID;
    case kHipNotFound:
      return TLC_E_NOT_FOUND;
    default:
      return TLC_E_UNAVAILABLE;
  }
}

/// What to do about it, where that can be said.
std::string advice(HipResult result) {
  if (result == kHipNoDevice || result == kHipNotInitialised)
    return "; no AMD GPU is visible: look at HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES, at the rights on /dev/kfd, "
           "and "
           "in a container pass /dev/kfd and /dev/dri on";
  if (result == kHipOldDriver) return "; install a kernel driver (amdgpu) that fits the runtime";
  return {};
}

/// A text of the properties, up to its NUL.
std::string text_in(const std::array<char, kPropertiesSize>& properties, std::size_t at) {
  const std::string_view field(properties.data() + at, kTextSize);
  return std::string(field.substr(0, field.find('\0')));
}

}  // namespace

std::vector<std::string> rocm_roots() {
  std::vector<std::string> out;
  for (const char* variable : {"ROCM_PATH", "HIP_PATH"}) {
    const std::string root = environment(variable);
    if (!root.empty() && root.front() == '/') out.push_back(root);
  }
  return out;
}

std::vector<std::string> rocm_libraries() {
  std::vector<std::string> out = rocm_roots();
  for (std::string& root : out) root += "/lib";
  return out;
}

std::unique_ptr<Runtime> open_runtime() {
  const LoadedLibrary library = find_runtime();
  auto runtime = std::make_unique<Runtime>(functions_of(library), library.path());
  int count = 0;
  const HipResult counted = runtime->api.device_count(&count);
  (void)runtime->api.last_error();  // nobody else's, so far
  if (counted != kHipOk || count == 0) {
    runtime->fail(counted != kHipOk ? counted : kHipNoDevice, "the HIP runtime (" + runtime->path + ") cannot be used");
  }
  runtime->check(runtime->api.init(0), "the HIP runtime (" + runtime->path + ") cannot be used");
  return runtime;
}

std::string Runtime::version() const {
  int version = 0;
  check(api.version(&version), "the HIP runtime does not tell its version");
  constexpr int kMajor = 10'000'000;
  constexpr int kMinor = 100'000;
  return std::to_string(version / kMajor) + "." + std::to_string(version % kMajor / kMinor) + "." +
         std::to_string(version % kMinor);
}

int Runtime::device_count() const {
  int count = 0;
  check(api.device_count(&count), "the HIP runtime cannot be used");
  return count;
}

void Runtime::check_device(int device) const {
  const int count = device_count();
  if (device >= 0 && device < count) return;
  throw Failure(TLC_E_INVALID, "there is no device " + std::to_string(device) + "; this process sees " +
                                   std::to_string(count) + ", counted from 0");
}

DeviceFacts Runtime::device(int device) const {
  std::array<char, kPropertiesSize> properties{};
  const auto ask = api.properties_r0600 != nullptr   ? api.properties_r0600
                   : api.properties_r0000 != nullptr ? api.properties_r0000
                                                     : api.properties;
  check(ask(properties.data(), device), "device " + std::to_string(device) + " does not tell what it is");
  const std::string arch = text_in(properties, api.properties_r0600 != nullptr ? kArchR0600 : kArchOld);
  DeviceFacts out{text_in(properties, 0), {}};
  if (!parse_target_id(arch, out.target)) {
    throw Failure(TLC_E_UNAVAILABLE, "the HIP runtime " + version() + " (" + path +
                                         ") tells what its device is in a way that is not known here: '" + arch + "'");
  }
  return out;
}

void Runtime::fail(HipResult result, const std::string& doing) const {
  const char* name = api.error_name(result);
  const char* meaning = api.error_string(result);
  std::string message = doing + ": " + (name != nullptr ? name : "HIP error") + " (" + std::to_string(result) + ")";
  if (meaning != nullptr) message.append(": ").append(meaning);
  throw Failure(status_of(result), message + advice(result), 0, result);
}

}  // namespace tlcb::hip
