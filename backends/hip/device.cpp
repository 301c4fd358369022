// SPDX-License-Identifier: MIT
#include "hip/device.hpp"

#include <cstdint>

namespace tlcb::hip {

int choose_device(const Runtime& runtime, const tlc_load_options* options) {
  if (options != nullptr && options->struct_size >= TLC_SIZEOF(tlc_load_options, context) &&
      options->context != nullptr) {
    throw Failure(TLC_E_UNSUPPORTED, "HIP has no contexts: name the device in the options instead");
  }
  std::int64_t wanted = 0;
  if (options != nullptr && options->struct_size >= TLC_SIZEOF(tlc_load_options, device)) wanted = options->device;
  if (wanted < -1 || wanted > INT32_MAX) throw Failure(TLC_E_INVALID, "there is no device " + std::to_string(wanted));
  if (wanted > 0) {
    runtime.check_device(static_cast<int>(wanted));
    return static_cast<int>(wanted);
  }
  int current = 0;
  runtime.check(runtime.api.get_device(&current), "the current device cannot be found");
  return current;
}

CurrentDevice::CurrentDevice(const Runtime& runtime, int device)
    : runtime_(runtime), had_error_(runtime.api.peek_last_error() != kHipOk) {
  runtime.check(runtime.api.get_device(&before_), "the current device cannot be found");
  if (before_ == device) return;
  runtime.check(runtime.api.set_device(device), "device " + std::to_string(device) + " cannot be used");
  changed_ = true;
}

CurrentDevice::~CurrentDevice() {
  if (changed_) (void)runtime_.api.set_device(before_);
  if (!had_error_) (void)runtime_.api.last_error();
}

}  // namespace tlcb::hip
