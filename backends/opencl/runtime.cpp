// SPDX-License-Identifier: MIT
#include "opencl/runtime.hpp"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "opencl/toolchain.hpp"
#include "support/compiler_log.hpp"
#include "support/toolchain.hpp"
#include "support/worker.hpp"

namespace tlcb::opencl {
namespace {

/// AMD's compiler as a library, if this process has it (hiprtc's does): LLVM is in it, as it is in PoCL, and two copies
/// of LLVM may end the process that they meet in.
std::string amd_compiler_in_process() {
  std::string found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        const std::string path = info->dlpi_name != nullptr ? info->dlpi_name : "";
        if (base_name(path).starts_with("libamd_comgr.so")) *static_cast<std::string*>(into) = path;
        return 0;
      },
      &found);
  return found;
}

/// Whether the drivers can be opened here, tried out in a worker where there is something to be feared. Throws Failure.
void check_no_clash(const std::string& loader) {
  constexpr std::chrono::seconds kLimit{60};
  Order order;
  order.beside = amd_compiler_in_process();
  if (order.beside.empty()) return;
  order.library = loader.empty() ? loader_already_open() : loader;
  const WorkerAnswer answer = run_worker({kWorkerTask, encode(order)}, worker_environment(), {}, kLimit);
  if (!answer.answers.empty()) return;
  throw Failure(TLC_E_UNAVAILABLE,
                "OpenCL is not opened in this process, which has " + order.beside +
                    ": an OpenCL driver ends a process that has both (tlcache-worker " + answer.ended.describe() +
                    ", saying: " + last_words(answer.said) +
                    "). Use hiprtc and OpenCL in processes of their own, or hide that driver by OCL_ICD_VENDORS");
}

std::unique_ptr<Runtime> open_runtime() {
  check_no_clash(environment("TLC_OPENCL"));
  Loader loader = open_loader(environment("TLC_OPENCL"));
  DeviceList found = list_devices(loader.api);
  if (found.devices.empty()) {
    throw Failure(TLC_E_UNAVAILABLE,
                  "OpenCL (" + loader.path + ") has no device: " +
                      (found.problem.empty() ? "its drivers find none on this machine" : found.problem));
  }
  return std::make_unique<Runtime>(std::move(loader), std::move(found.devices));
}

/// What each code means for whoever asked, as a status; a refused binary is what the library takes out of the cache.
tlc_status status_of(ClResult result) {
  switch (result) {
    case kClInvalidBinary:
    case kClBuildFailure:
    case kClCompileFailure:
    case kClLinkFailure:
    case kClInvalidProgram:
    case kClInvalidExecutable:
    case kClInvalidBuildOptions:
      return TLC_E_LOAD;
    case kClOutOfHostMemory:
    case kClOutOfResources:
    case kClMemObjectAllocation:
      return TLC_E_NOMEM;
    case kClInvalidContext:
    case kClInvalidDevice:
      return TLC_E_INVALID;
    case kClInvalidKernelName:
      return TLC_E_NOT_FOUND;
    default:
      return TLC_E_UNAVAILABLE;
  }
}

}  // namespace

const Device& Runtime::device(std::int64_t number) const {
  if (number >= 0 && static_cast<std::uint64_t>(number) < devices.size())
    return devices[static_cast<std::size_t>(number)];
  throw Failure(TLC_E_INVALID, "there is no OpenCL device " + std::to_string(number) + "; this process sees " +
                                   std::to_string(devices.size()) + ", counted from 0");
}

const Device& Runtime::default_device() const {
  return devices[opencl::default_device(devices, [](const Device& device) { return device.computes; })];
}

ClContext Runtime::own_context(const Device& device) {
  const std::scoped_lock lock(mutex_);
  ClContext& context = contexts_[device.id];
  if (context == nullptr) {
    ClResult result = kClOk;
    context = api.create_context(nullptr, 1, &device.id, nullptr, nullptr, &result);
    check(result, "a context for " + device.facts.name + " cannot be made");
  }
  return context;
}

std::vector<Device> Runtime::devices_of(ClContext context) const {
  const std::string bytes = asked_bytes([&](std::size_t room, void* out, std::size_t* size) {
    return api.context_info(context, kClContextDevices, room, out, size);
  });
  std::vector<ClDevice> ids(bytes.size() / sizeof(void*));
  if (!ids.empty()) std::memcpy(ids.data(), bytes.data(), ids.size() * sizeof(void*));
  std::vector<Device> out;
  for (ClDevice id : ids) {
    const auto known = std::find_if(devices.begin(), devices.end(), [&](const Device& one) { return one.id == id; });
    if (known != devices.end()) {
      out.push_back(*known);
      continue;
    }
    // One that is not listed may be a part of one (a sub-device): what it is, it says itself.
    constexpr ClNumber kPlatform = 0x1031;
    ClPlatform platform = nullptr;
    (void)api.device_info(id, kPlatform, sizeof(void*), static_cast<void*>(&platform), nullptr);
    if (platform == nullptr) continue;
    if (auto device = describe_device(api, platform, id)) out.push_back(*std::move(device));
  }
  if (out.empty()) throw Failure(TLC_E_INVALID, "the context in the options does not tell its devices");
  return out;
}

void Runtime::fail(ClResult result, const std::string& doing) {
  throw Failure(status_of(result), doing + ": " + result_name(result), 0, result);
}

Runtime& RuntimeFinder::get() {
  const std::scoped_lock lock(mutex_);
  if (found_ == nullptr) {
    found_ = open_runtime();
    opened_by_ = ::getpid();
  }
  if (opened_by_ != ::getpid()) {
    throw Failure(
        TLC_E_FORKED,
        "this process is a fork of one that had opened OpenCL, whose drivers do not work in it; start workers "
        "by spawn, or load nothing before the fork");
  }
  return *found_;
}

Runtime* RuntimeFinder::try_get(std::string* reason) {
  try {
    return &get();
  } catch (const Failure& failure) {
    if (reason != nullptr) *reason = failure.what();
    return nullptr;
  }
}

}  // namespace tlcb::opencl
