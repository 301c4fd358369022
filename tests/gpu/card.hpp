// SPDX-License-Identifier: MIT
// The card, for tests: what of the driver they need, opened at run time so that they build anywhere.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace tlc::gpu {

using Handle = void*;
using Address = unsigned long long;

class Card {
 public:
  /// The card of this process; ends the program with exit code 77, "skipped", where there is none.
  static Card& get() {
    static Card card;
    return card;
  }

  [[nodiscard]] std::string name() const {
    char text[128] = {};
    call("cuDeviceGetName", text, 128, device_);
    return text;
  }
  /// 90 for capability 9.0.
  [[nodiscard]] int capability() const {
    int major = 0;
    int minor = 0;
    call("cuDeviceGetAttribute", &major, 75, device_);
    call("cuDeviceGetAttribute", &minor, 76, device_);
    return major * 10 + minor;
  }
  [[nodiscard]] int driver_version() const {
    int version = 0;
    call("cuDriverGetVersion", &version);
    return version;
  }

  /// The primary context, current in this thread.
  void use_primary() const { call("cuCtxSetCurrent", primary_); }
  [[nodiscard]] Handle primary() const { return primary_; }
  [[nodiscard]] Handle current() const {
    Handle context = nullptr;
    call("cuCtxGetCurrent", &context);
    return context;
  }
  void set_current(Handle context) const { call("cuCtxSetCurrent", context); }
  /// A new context, not current.
  [[nodiscard]] Handle make_context() const {
    Handle context = nullptr;
    Handle popped = nullptr;
    call("cuCtxCreate_v2", &context, 0U, device_);
    call("cuCtxPopCurrent_v2", &popped);
    return context;
  }
  void destroy_context(Handle context) const { call("cuCtxDestroy_v2", context); }

  [[nodiscard]] Handle load(const void* image) const {
    Handle module = nullptr;
    call("cuModuleLoadData", &module, image);
    return module;
  }
  void unload(Handle module) const { call("cuModuleUnload", module); }
  [[nodiscard]] Handle function(Handle module, const char* kernel) const {
    Handle function = nullptr;
    call("cuModuleGetFunction", &function, module, kernel);
    return function;
  }

  void launch(Handle function, unsigned blocks_x, unsigned blocks_y, unsigned threads_x, unsigned threads_y,
              unsigned shared, std::vector<void*> arguments) const {
    call("cuLaunchKernel", function, blocks_x, blocks_y, 1U, threads_x, threads_y, 1U, shared, Handle{},
         arguments.data(), static_cast<void**>(nullptr));
  }
  void synchronize() const { call("cuCtxSynchronize"); }

  /// Calls one of the driver's functions; an error ends the program.
  template <typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    const int result = try_call(name, arguments...);
    if (result == 0) return;
    std::fprintf(stderr, "%s failed: %d\n", name, result);
    std::exit(1);
  }
  template <typename... Arguments>
  int try_call(const char* name, Arguments... arguments) const {
    void* address = ::dlsym(library_, name);
    if (address == nullptr) {
      std::fprintf(stderr, "the driver has no %s\n", name);
      std::exit(1);
    }
    return reinterpret_cast<int (*)(Arguments...)>(address)(arguments...);
  }

 private:
  Card() : library_(::dlopen("libcuda.so.1", RTLD_NOW)) {
    if (library_ == nullptr || try_call("cuInit", 0U) != 0 || try_call("cuDeviceGet", &device_, 0) != 0) {
      std::puts("skipped: there is no CUDA device");
      std::exit(77);
    }
    call("cuDevicePrimaryCtxRetain", &primary_, device_);
  }

  void* library_;
  int device_ = 0;
  Handle primary_ = nullptr;
};

/// Values in the card's memory.
template <typename T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t count) : count_(count) {
    Card::get().call("cuMemAlloc_v2", &address_, count * sizeof(T));
  }
  explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(values.size()) {
    Card::get().call("cuMemcpyHtoD_v2", address_, static_cast<const void*>(values.data()), count_ * sizeof(T));
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { Card::get().call("cuMemFree_v2", address_); }

  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> out(count_);
    Card::get().call("cuMemcpyDtoH_v2", static_cast<void*>(out.data()), address_, count_ * sizeof(T));
    return out;
  }
  /// For a launch's list of arguments.
  [[nodiscard]] void* argument() { return &address_; }

 private:
  Address address_ = 0;
  std::size_t count_;
};

}  // namespace tlc::gpu
