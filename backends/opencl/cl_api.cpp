// SPDX-License-Identifier: MIT
#include "opencl/cl_api.hpp"

#include <algorithm>
#include <array>

#include "support/failure.hpp"

namespace tlcb::opencl {
namespace {

constexpr const char* kInstall =
    "; install one: Debian's ocl-icd-libopencl1, or what came with the GPU's driver, and a driver with an entry in "
    "/etc/OpenCL/vendors (for the CPU pocl-opencl-icd); or name a loader by TLC_OPENCL as an absolute path";

[[noreturn]] void unavailable(const std::string& why) {
  throw Failure(TLC_E_UNAVAILABLE, why);
}

ClApi functions_of(const LoadedLibrary& library) {
  ClApi api;
  const auto need = [&](auto& into, const char* name) {
    library.find(into, name);
    if (into == nullptr) unavailable(library.path() + " lacks " + name + ": it is no OpenCL loader, or older than 1.1");
  };
  need(api.platforms, "clGetPlatformIDs");
  need(api.platform_info, "clGetPlatformInfo");
  need(api.devices, "clGetDeviceIDs");
  need(api.device_info, "clGetDeviceInfo");
  need(api.create_context, "clCreateContext");
  need(api.retain_context, "clRetainContext");
  need(api.release_context, "clReleaseContext");
  need(api.context_info, "clGetContextInfo");
  need(api.program_of_source, "clCreateProgramWithSource");
  need(api.program_of_binary, "clCreateProgramWithBinary");
  need(api.build, "clBuildProgram");
  need(api.build_info, "clGetProgramBuildInfo");
  need(api.program_info, "clGetProgramInfo");
  need(api.release_program, "clReleaseProgram");
  need(api.create_kernel, "clCreateKernel");
  need(api.release_kernel, "clReleaseKernel");
  need(api.kernel_info, "clGetKernelInfo");
  need(api.group_info, "clGetKernelWorkGroupInfo");
  library.find(api.compile, "clCompileProgram");
  library.find(api.link, "clLinkProgram");
  library.find(api.argument_info, "clGetKernelArgInfo");
  library.find(api.program_of_il, "clCreateProgramWithIL");
  return api;
}

LoadedLibrary find_loader(const std::string& chosen) {
  std::string problem;
  if (!chosen.empty()) {
    if (chosen.front() != '/') {
      unavailable("'" + chosen +
                  "', as TLC_OPENCL or the field 'compiler' says, must be the absolute path of libOpenCL");
    }
    if (LoadedLibrary library = LoadedLibrary::open(chosen, problem)) return library;
    unavailable("the OpenCL loader that TLC_OPENCL or the field 'compiler' names cannot be opened: " + problem);
  }
  if (LoadedLibrary library = LoadedLibrary::already_open(kLoaderName)) return library;
  if (LoadedLibrary library = LoadedLibrary::open(kLoaderName, problem)) return library;
  unavailable("there is no OpenCL loader on this machine (" + problem + ")" + kInstall);
}

struct Named {
  ClResult result;
  const char* name;
};
constexpr std::array kResultNames = {
    Named{kClDeviceNotFound, "CL_DEVICE_NOT_FOUND"},
    Named{kClDeviceNotAvailable, "CL_DEVICE_NOT_AVAILABLE"},
    Named{kClCompilerNotAvailable, "CL_COMPILER_NOT_AVAILABLE"},
    Named{kClMemObjectAllocation, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    Named{kClOutOfResources, "CL_OUT_OF_RESOURCES"},
    Named{kClOutOfHostMemory, "CL_OUT_OF_HOST_MEMORY"},
    Named{kClBuildFailure, "CL_BUILD_PROGRAM_FAILURE"},
    Named{kClCompileFailure, "CL_COMPILE_PROGRAM_FAILURE"},
    Named{kClLinkerNotAvailable, "CL_LINKER_NOT_AVAILABLE"},
    Named{kClLinkFailure, "CL_LINK_PROGRAM_FAILURE"},
    Named{kClInvalidValue, "CL_INVALID_VALUE"},
    Named{kClInvalidDevice, "CL_INVALID_DEVICE"},
    Named{kClInvalidContext, "CL_INVALID_CONTEXT"},
    Named{kClInvalidBinary, "CL_INVALID_BINARY"},
    Named{kClInvalidBuildOptions, "CL_INVALID_BUILD_OPTIONS"},
    Named{kClInvalidProgram, "CL_INVALID_PROGRAM"},
    Named{kClInvalidExecutable, "CL_INVALID_PROGRAM_EXECUTABLE"},
    Named{kClInvalidKernelName, "CL_INVALID_KERNEL_NAME"},
    Named{kClInvalidCompilerOptions, "CL_INVALID_COMPILER_OPTIONS"},
    Named{kClInvalidLinkerOptions, "CL_INVALID_LINKER_OPTIONS"},
    Named{kClPlatformNotFound, "CL_PLATFORM_NOT_FOUND_KHR"},
};

}  // namespace

Loader open_loader(const std::string& chosen) {
  const LoadedLibrary library = find_loader(chosen);
  return {functions_of(library), library.path()};
}

std::string loader_already_open() {
  const LoadedLibrary library = LoadedLibrary::already_open(kLoaderName);
  return library ? library.path() : std::string();
}

std::string result_name(ClResult result) {
  const auto* const found = std::find_if(kResultNames.begin(), kResultNames.end(),
                                         [&](const Named& named) { return named.result == result; });
  return (found != kResultNames.end() ? found->name : std::string("OpenCL error")) + " (" + std::to_string(result) +
         ")";
}

std::string one_line(std::string text) {
  text.resize(std::min(text.find('\0'), text.size()));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string build_log(const ClApi& api, ClProgram program, ClDevice device) {
  std::string out = asked_bytes([&](std::size_t room, void* into, std::size_t* size) {
    return api.build_info(program, device, kClBuildLog, room, into, size);
  });
  out.resize(std::min(out.find('\0'), out.size()));
  return out;
}

}  // namespace tlcb::opencl
