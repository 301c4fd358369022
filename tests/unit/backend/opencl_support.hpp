// SPDX-License-Identifier: MIT
// What tests of the opencl backend share: its table with a fake host, devices, artifacts.
#pragma once

#include <cstdint>
#include <string>

#include "device_support.hpp"
#include "opencl/program_info.hpp"

extern "C" tlc_status tlc_opencl_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                                tlc_error* error);

namespace tlc::test {

inline backend::Ops new_opencl_ops() {
  return new_ops(tlc_opencl_plugin_init_v1);
}

inline const backend::Ops& opencl_ops() {
  static const backend::Ops ops = new_opencl_ops();
  return ops;
}

/// The fake's devices (fake_opencl.c).
inline tlcb::opencl::DeviceFacts fake_gpu() {
  tlcb::opencl::DeviceFacts facts;
  facts.platform = "Fake (R) GPUs";
  facts.platform_vendor = facts.vendor = "Fakes, Inc.";
  facts.platform_version = facts.version = "OpenCL 3.0 Fake";
  facts.driver = "1.0";
  facts.driver_uuid = "ab010000000000000000000000000000";
  facts.name = "Fake GPU(TM) 9000";
  facts.c_version = "OpenCL C 1.2";
  facts.pci = "10de";
  return facts;
}
inline tlcb::opencl::DeviceFacts fake_cpu() {
  tlcb::opencl::DeviceFacts facts = fake_gpu();
  facts.platform = "Fake CPU Platform";
  facts.name = "Fake CPU";
  facts.driver_uuid = "";
  facts.pci = "8086:56a0";
  return facts;
}
inline const char* const kFakeGpuTarget = "opencl:fake-gpu-tm-9000:fake-r-gpus";
inline const char* const kFakeCpuTarget = "opencl:fake-cpu:fake-cpu-platform";

/// An artifact as compile() makes it, for the device.
inline FakeBundle opencl_artifact(const tlcb::opencl::DeviceFacts& device, const std::string& binary) {
  FakeBundle artifact;
  artifact.members.push_back({"program.clbin", TLC_MEMBER_DEVICE_BINARY, binary});
  artifact.members.push_back({"program.json", TLC_MEMBER_JSON, tlcb::opencl::program_json(device, binary, "{}")});
  artifact.target = device.target();
  return artifact;
}

namespace pocl {

template <typename T>
void number(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline void text(std::string& out, const std::string& text) {
  number(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

/// A small one as PoCL writes it (backends/opencl/pocl_binary.cpp), with one kernel of one argument.
inline std::string binary(std::uint32_t version = 9, const std::string& path = "/k/0-0-0/k.txt",
                          const std::string& content = "code") {
  std::string out("poclbin\0", 8);
  number(out, std::uint64_t{7});
  number(out, version);
  number(out, std::uint32_t{1});
  number(out, std::uint64_t{version >= 10 ? 2U : 0U});
  number(out, std::uint32_t{1});
  out += std::string("AB/") + std::string(37, 'C') + '\0';
  if (version >= 10) number(out, std::uint64_t{0});
  std::string files;
  text(files, "/program.bc");
  text(files, "bitcode");
  number(out, std::uint64_t{files.size()});
  out += files;
  std::string arguments;
  number(arguments, std::uint32_t{0x11a3});
  number(arguments, std::uint32_t{0x119b});
  number(arguments, std::uint64_t{0});
  number(arguments, std::uint32_t{1});
  number(arguments, std::uint32_t{8});
  text(arguments, "x");
  text(arguments, "float*");
  std::string rest;
  number(rest, static_cast<std::uint32_t>(arguments.size()));
  text(rest, "k");
  number(rest, std::uint32_t{1});
  number(rest, std::uint32_t{1});
  rest += std::string(24, '\0') + std::string(8, '\0');
  text(rest, "");
  number(rest, std::uint32_t{0x1f});
  number(rest, version >= 11 ? std::uint32_t{6} : std::uint32_t{0});
  if (version >= 11) rest += std::string(28, '\0');
  rest += arguments;
  std::string of_kernel;
  text(of_kernel, path);
  text(of_kernel, content);
  number(out, std::uint64_t{16 + rest.size() + of_kernel.size()});
  number(out, std::uint64_t{of_kernel.size()});
  return out + rest + of_kernel;
}

}  // namespace pocl
}  // namespace tlc::test
