// SPDX-License-Identifier: MIT
// The devices that OpenCL has here, and what each is: the identity that a binary is for. In the library and in
// tlcache-worker.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opencl/cl_api.hpp"

namespace tlcb::opencl {

/// What a driver's binary depends on. Two devices of one model under one driver are equal.
struct DeviceFacts {
  std::string platform;
  std::string platform_vendor;
  std::string platform_version;
  std::string driver;
  std::string driver_uuid;  ///< hexadecimal; empty where it is not told
  std::string name;
  std::string vendor;
  std::string version;
  std::string c_version;
  std::string pci;  ///< 8086:56a0, or the vendor alone where the device is not told

  bool operator==(const DeviceFacts&) const = default;

  /// As text: lines `what: value`, the same for equal facts.
  [[nodiscard]] std::string identity() const;
  /// opencl:<device>:<platform>, as docs/backends/opencl.md says
  [[nodiscard]] std::string target() const;
};

/// Reads what identity() writes; nullopt for anything else.
[[nodiscard]] std::optional<DeviceFacts> parse_identity(std::string_view text);

/// The first thing in which two differ: "driver is 3.1, not 4.0".
[[nodiscard]] std::string difference(const DeviceFacts& is, const DeviceFacts& wanted);

/// A name as a part of a target: in lower case, with one '-' for whatever is neither a letter, a digit, '.', '_' nor
/// '+'.
[[nodiscard]] std::string target_word(std::string_view name);

struct Device {
  ClDevice id = nullptr;
  DeviceFacts facts;
  bool computes = false;  ///< a GPU or an accelerator
};

struct DeviceList {
  std::vector<Device> devices;  ///< in the loader's order
  std::string problem;          ///< why there are none, or what was passed over; empty: nothing
};

/// Of all platforms. A platform or device that does not answer is passed over.
[[nodiscard]] DeviceList list_devices(const ClApi& api);

/// What a device is; nullopt where it does not tell its name.
[[nodiscard]] std::optional<Device> describe_device(const ClApi& api, ClPlatform platform, ClDevice id);

/// The position of the one to take where none is asked for: the first that is no CPU, else the first.
template <typename Devices, typename Computes>
[[nodiscard]] std::size_t default_device(const Devices& devices, Computes&& computes) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (computes(devices[i])) return i;
  }
  return 0;
}

}  // namespace tlcb::opencl
