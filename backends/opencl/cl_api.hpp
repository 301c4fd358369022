// SPDX-License-Identifier: MIT
// The OpenCL loader, libOpenCL.so.1: its functions and numbers as the Khronos specification gives them. 1.1 and newer.
// No header of OpenCL's is needed to build. In the library and in tlcache-worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/loaded_library.hpp"

namespace tlcb::opencl {

using ClResult = std::int32_t;
using ClNumber = std::uint32_t;
using ClBits = std::uint64_t;
using ClPlatform = struct ClPlatformOpaque*;
using ClDevice = struct ClDeviceOpaque*;
using ClContext = struct ClContextOpaque*;
using ClProgram = struct ClProgramOpaque*;
using ClKernel = struct ClKernelOpaque*;

enum ClCode : ClResult {
  kClOk = 0,
  kClDeviceNotFound = -1,
  kClDeviceNotAvailable = -2,
  kClCompilerNotAvailable = -3,
  kClMemObjectAllocation = -4,
  kClOutOfResources = -5,
  kClOutOfHostMemory = -6,
  kClBuildFailure = -11,
  kClCompileFailure = -15,
  kClLinkerNotAvailable = -16,
  kClLinkFailure = -17,
  kClInvalidValue = -30,
  kClInvalidDevice = -33,
  kClInvalidContext = -34,
  kClInvalidBinary = -42,
  kClInvalidBuildOptions = -43,
  kClInvalidProgram = -44,
  kClInvalidExecutable = -45,
  kClInvalidKernelName = -46,
  kClInvalidCompilerOptions = -66,
  kClInvalidLinkerOptions = -67,
  kClPlatformNotFound = -1001,  ///< of the loader: no driver is installed
};

enum ClAsked : ClNumber {
  kClPlatformVersion = 0x0901,
  kClPlatformName = 0x0902,
  kClPlatformVendor = 0x0903,
  kClDeviceType = 0x1000,
  kClDeviceVendorId = 0x1001,
  kClDeviceAvailable = 0x1027,
  kClDeviceName = 0x102B,
  kClDeviceVendor = 0x102C,
  kClDriverVersion = 0x102D,
  kClDeviceVersion = 0x102F,
  kClDeviceExtensions = 0x1030,
  kClDeviceCVersion = 0x103D,
  kClDeviceIl = 0x105B,
  kClDriverUuid = 0x106B,     ///< cl_khr_device_uuid: 16 bytes
  kClIntelDeviceId = 0x4251,  ///< cl_intel_device_attribute_query: the PCI device's number
  kClAmdDeviceId = 0x4034,    ///< cl_amd_device_attribute_query: the same
  kClContextDevices = 0x1081,
  kClProgramContext = 0x1161,
  kClProgramBinarySizes = 0x1165,
  kClProgramBinaries = 0x1166,
  kClProgramKernelNames = 0x1168,
  kClBuildLog = 0x1183,
  kClKernelArgumentCount = 0x1191,
  kClArgumentAddress = 0x1196,
  kClArgumentTypeName = 0x1198,
  kClArgumentName = 0x119A,
  kClGroupSize = 0x11B0,
  kClGroupSizeRequired = 0x11B1,
  kClGroupLocalBytes = 0x11B2,
  kClGroupMultiple = 0x11B3,
  kClGroupPrivateBytes = 0x11B4,
};

inline constexpr ClBits kClTypeCpu = 2;
inline constexpr ClBits kClTypeGpu = 4;
inline constexpr ClBits kClTypeAccelerator = 8;
inline constexpr ClBits kClTypeAll = 0xFFFFFFFF;

/// Its functions. Those at the end may be NULL.
struct ClApi {
  ClResult (*platforms)(ClNumber room, ClPlatform* out, ClNumber* count) = nullptr;
  ClResult (*platform_info)(ClPlatform of, ClNumber what, std::size_t room, void* out, std::size_t* size) = nullptr;
  ClResult (*devices)(ClPlatform of, ClBits type, ClNumber room, ClDevice* out, ClNumber* count) = nullptr;
  ClResult (*device_info)(ClDevice of, ClNumber what, std::size_t room, void* out, std::size_t* size) = nullptr;
  ClContext (*create_context)(const std::intptr_t* properties, ClNumber count, const ClDevice* devices,
                              void (*notify)(const char*, const void*, std::size_t, void*), void* data,
                              ClResult* result) = nullptr;
  ClResult (*retain_context)(ClContext context) = nullptr;
  ClResult (*release_context)(ClContext context) = nullptr;
  ClResult (*context_info)(ClContext of, ClNumber what, std::size_t room, void* out, std::size_t* size) = nullptr;
  ClProgram (*program_of_source)(ClContext context, ClNumber count, const char** texts, const std::size_t* lengths,
                                 ClResult* result) = nullptr;
  ClProgram (*program_of_binary)(ClContext context, ClNumber count, const ClDevice* devices, const std::size_t* lengths,
                                 const unsigned char** binaries, ClResult* of_each, ClResult* result) = nullptr;
  ClResult (*build)(ClProgram program, ClNumber count, const ClDevice* devices, const char* options,
                    void (*notify)(ClProgram, void*), void* data) = nullptr;
  ClResult (*build_info)(ClProgram of, ClDevice device, ClNumber what, std::size_t room, void* out,
                         std::size_t* size) = nullptr;
  ClResult (*program_info)(ClProgram of, ClNumber what, std::size_t room, void* out, std::size_t* size) = nullptr;
  ClResult (*release_program)(ClProgram program) = nullptr;
  ClKernel (*create_kernel)(ClProgram program, const char* name, ClResult* result) = nullptr;
  ClResult (*release_kernel)(ClKernel kernel) = nullptr;
  ClResult (*kernel_info)(ClKernel of, ClNumber what, std::size_t room, void* out, std::size_t* size) = nullptr;
  ClResult (*group_info)(ClKernel of, ClDevice device, ClNumber what, std::size_t room, void* out,
                         std::size_t* size) = nullptr;
  // OpenCL 1.2
  ClResult (*compile)(ClProgram program, ClNumber count, const ClDevice* devices, const char* options, ClNumber headers,
                      const ClProgram* texts, const char** names, void (*notify)(ClProgram, void*),
                      void* data) = nullptr;
  ClProgram (*link)(ClContext context, ClNumber count, const ClDevice* devices, const char* options, ClNumber programs,
                    const ClProgram* inputs, void (*notify)(ClProgram, void*), void* data, ClResult* result) = nullptr;
  ClResult (*argument_info)(ClKernel of, ClNumber index, ClNumber what, std::size_t room, void* out,
                            std::size_t* size) = nullptr;
  // OpenCL 2.1
  ClProgram (*program_of_il)(ClContext context, const void* il, std::size_t length, ClResult* result) = nullptr;
};

struct Loader {
  ClApi api;
  std::string path;
};

/// The loader's file that is opened when nobody names one, as the dynamic loader knows it.
inline constexpr const char* kLoaderName = "libOpenCL.so.1";

/// Opens `chosen` (an absolute path), else the loader that this process has, else the one the dynamic loader finds.
/// Throws Failure (TLC_E_UNAVAILABLE) that says what to install.
[[nodiscard]] Loader open_loader(const std::string& chosen);

/// The path of the loader that this process has open already; empty: none.
[[nodiscard]] std::string loader_already_open();

/// CL_INVALID_BINARY (-42)
[[nodiscard]] std::string result_name(ClResult result);

/// What a query answers, as bytes; empty where it fails. `ask(room, out, size)` is the query.
template <typename Ask>
[[nodiscard]] std::string asked_bytes(Ask&& ask) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  std::size_t size = 0;
  if (ask(std::size_t{0}, static_cast<void*>(nullptr), &size) != kClOk || size == 0 || size > kMost) return {};
  std::string out(size, '\0');
  std::size_t written = size;
  if (ask(size, static_cast<void*>(out.data()), &written) != kClOk) return {};
  out.resize(written < size ? written : size);
  return out;
}

/// The same as a text, which ends at its NUL, without spaces around it, in one line.
template <typename Ask>
[[nodiscard]] std::string asked_text(Ask&& ask);

/// A number of a type that the query has; `otherwise` where it fails.
template <typename Number, typename Ask>
[[nodiscard]] Number asked_number(Ask&& ask, Number otherwise) {
  Number value = otherwise;
  std::size_t size = 0;
  return ask(sizeof value, static_cast<void*>(&value), &size) == kClOk ? value : otherwise;
}

/// In one line, without spaces around it; up to its first NUL.
[[nodiscard]] std::string one_line(std::string text);

template <typename Ask>
std::string asked_text(Ask&& ask) {
  return one_line(asked_bytes(ask));
}

/// What the driver's compiler said of a program.
[[nodiscard]] std::string build_log(const ClApi& api, ClProgram program, ClDevice device);

}  // namespace tlcb::opencl
