// SPDX-License-Identifier: MIT
#include "opencl/cl_device.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tlcb::opencl {
namespace {

struct Line {
  const char* name;
  std::string DeviceFacts::*value;
};
/// In the order in which differences are told.
constexpr std::array kLines = {
    Line{"device", &DeviceFacts::name},
    Line{"platform", &DeviceFacts::platform},
    Line{"driver", &DeviceFacts::driver},
    Line{"platform version", &DeviceFacts::platform_version},
    Line{"device version", &DeviceFacts::version},
    Line{"driver uuid", &DeviceFacts::driver_uuid},
    Line{"platform vendor", &DeviceFacts::platform_vendor},
    Line{"device vendor", &DeviceFacts::vendor},
    Line{"OpenCL C", &DeviceFacts::c_version},
    Line{"pci", &DeviceFacts::pci},
};

std::string hex(std::string_view bytes) {
  constexpr const char* kHex = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

std::string hex16(std::uint32_t number) {
  const std::array<char, 2> bytes = {static_cast<char>(number >> 8 & 255), static_cast<char>(number & 255)};
  return hex({bytes.data(), bytes.size()});
}

auto asking_platform(const ClApi& api, ClPlatform platform, ClNumber what) {
  return [&api, platform, what](std::size_t room, void* out, std::size_t* size) {
    return api.platform_info(platform, what, room, out, size);
  };
}
auto asking_device(const ClApi& api, ClDevice device, ClNumber what) {
  return [&api, device, what](std::size_t room, void* out, std::size_t* size) {
    return api.device_info(device, what, room, out, size);
  };
}

bool has_extension(const std::string& list, std::string_view name) {
  const std::string padded = " " + list + " ";
  return padded.find(" " + std::string(name) + " ") != std::string::npos;
}

/// Vendor and, where an extension tells it, device: what the model is on the bus, not where it is plugged in.
std::string pci_of(const ClApi& api, ClDevice device, const std::string& extensions) {
  const auto number = [&](ClNumber what) { return asked_number<std::uint32_t>(asking_device(api, device, what), 0); };
  std::string out = hex16(number(kClDeviceVendorId));
  ClNumber what = 0;
  if (has_extension(extensions, "cl_intel_device_attribute_query")) what = kClIntelDeviceId;
  if (has_extension(extensions, "cl_amd_device_attribute_query")) what = kClAmdDeviceId;
  if (const std::uint32_t told = what != 0 ? number(what) : 0; told != 0) out += ":" + hex16(told);
  return out;
}

std::string uuid_of(const ClApi& api, ClDevice device, const std::string& extensions) {
  if (!has_extension(extensions, "cl_khr_device_uuid")) return {};
  constexpr std::size_t kSize = 16;
  const std::string bytes = asked_bytes(asking_device(api, device, kClDriverUuid));
  return bytes.size() == kSize ? hex(bytes) : std::string();
}

void note(std::string& problem, const std::string& more) {
  problem += (problem.empty() ? "" : "; ") + more;
}

void add_devices(const ClApi& api, ClPlatform platform, DeviceList& out) {
  const std::string name = asked_text(asking_platform(api, platform, kClPlatformName));
  ClNumber count = 0;
  ClResult result = api.devices(platform, kClTypeAll, 0, nullptr, &count);
  std::vector<ClDevice> ids(result == kClOk ? count : 0);
  if (!ids.empty()) result = api.devices(platform, kClTypeAll, count, ids.data(), nullptr);
  if (result != kClOk) {
    const bool none = result == kClDeviceNotFound;
    note(out.problem, "platform '" + name + "' " + (none ? "has no device" : "does not list its devices: ") +
                          (none ? "" : result_name(result)));
    return;
  }
  for (ClDevice id : ids) {
    if (auto device = describe_device(api, platform, id)) {
      out.devices.push_back(*std::move(device));
    } else {
      note(out.problem, "a device of platform '" + name + "' does not tell what it is");
    }
  }
}

}  // namespace

std::string DeviceFacts::identity() const {
  std::string out;
  for (const Line& line : kLines) {
    const std::string& value = this->*line.value;
    if (!value.empty()) out.append(line.name).append(": ").append(value).append("\n");
  }
  return out;
}

std::string DeviceFacts::target() const {
  return "opencl:" + target_word(name) + ":" + target_word(platform);
}

std::optional<DeviceFacts> parse_identity(std::string_view text) {
  DeviceFacts out;
  std::size_t next = 0;  // each line once, in their order
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos || colon + 2 == line.size()) return std::nullopt;
    while (next < kLines.size() && line.substr(0, colon) != kLines[next].name) ++next;
    if (next == kLines.size()) return std::nullopt;
    out.*kLines[next++].value = line.substr(colon + 2);
  }
  if (out.name.empty() || out.platform.empty()) return std::nullopt;
  return out;
}

std::string difference(const DeviceFacts& is, const DeviceFacts& wanted) {
  for (const Line& line : kLines) {
    const std::string& one = is.*line.value;
    const std::string& other = wanted.*line.value;
    if (one == other) continue;
    const auto told = [](const std::string& value) { return value.empty() ? "not told" : "'" + value + "'"; };
    return std::string(line.name) + " is " + told(one) + ", not " + told(other);
  }
  return {};
}

std::string target_word(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '+';
    if (kept) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "unnamed" : out;
}

std::optional<Device> describe_device(const ClApi& api, ClPlatform platform, ClDevice id) {
  const auto of_device = [&](ClNumber what) { return asked_text(asking_device(api, id, what)); };
  const auto of_platform = [&](ClNumber what) { return asked_text(asking_platform(api, platform, what)); };
  Device out;
  out.id = id;
  DeviceFacts& facts = out.facts;
  facts.name = of_device(kClDeviceName);
  facts.platform = of_platform(kClPlatformName);
  if (facts.name.empty() || facts.platform.empty()) return std::nullopt;
  facts.platform_vendor = of_platform(kClPlatformVendor);
  facts.platform_version = of_platform(kClPlatformVersion);
  facts.driver = of_device(kClDriverVersion);
  facts.vendor = of_device(kClDeviceVendor);
  facts.version = of_device(kClDeviceVersion);
  facts.c_version = of_device(kClDeviceCVersion);
  const std::string extensions = of_device(kClDeviceExtensions);
  facts.driver_uuid = uuid_of(api, id, extensions);
  facts.pci = pci_of(api, id, extensions);
  const auto type = asked_number<ClBits>(asking_device(api, id, kClDeviceType), 0);
  out.computes = (type & (kClTypeGpu | kClTypeAccelerator)) != 0;
  return out;
}

DeviceList list_devices(const ClApi& api) {
  DeviceList out;
  ClNumber count = 0;
  ClResult result = api.platforms(0, nullptr, &count);
  std::vector<ClPlatform> platforms(result == kClOk ? count : 0);
  if (!platforms.empty()) result = api.platforms(count, platforms.data(), nullptr);
  if (result != kClOk && result != kClPlatformNotFound) {
    out.problem = "the OpenCL loader does not list its platforms: " + result_name(result);
    return out;
  }
  if (platforms.empty()) {
    out.problem =
        "there is an OpenCL loader, but no driver: /etc/OpenCL/vendors (or OCL_ICD_VENDORS) names none that can be "
        "opened; install the GPU's, or for the CPU pocl-opencl-icd";
  }
  for (ClPlatform platform : platforms) add_devices(api, platform, out);
  return out;
}

}  // namespace tlcb::opencl
