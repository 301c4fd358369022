// SPDX-License-Identifier: MIT
// For people: what there is on this machine, and what a binary says of itself.
#include <algorithm>

#include "opencl/binary_check.hpp"
#include "opencl/opencl.hpp"
#include "opencl/program_info.hpp"
#include "support/json.hpp"
#include "support/members.hpp"
#include "support/worker.hpp"

namespace tlcb::opencl {
namespace {

std::string device_json(std::size_t number, const DeviceFacts& facts) {
  return R"({"device": )" + std::to_string(number) + R"(, "name": )" + json_text(facts.name) + R"(, "target": )" +
         json_text(facts.target()) + R"(, "platform": )" + json_text(facts.platform + " " + facts.platform_version) +
         R"(, "driver": )" + json_text(facts.driver) + R"(, "version": )" + json_text(facts.version) + R"(, "pci": )" +
         json_text(facts.pci) + "}";
}

/// What the driver told, with the arguments from the binary where it did not.
std::vector<KernelInfo> kernels_of(const Binary& binary, const std::optional<ProgramInfo>& info) {
  if (!info || info->kernels.empty()) return binary.kernels;
  std::vector<KernelInfo> out = info->kernels;
  for (KernelInfo& kernel : out) {
    const auto in_binary = std::find_if(binary.kernels.begin(), binary.kernels.end(),
                                        [&](const KernelInfo& one) { return one.name == kernel.name; });
    const bool told = std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                                  [](const std::string& argument) { return !argument.empty(); });
    if (!told && in_binary != binary.kernels.end()) kernel.arguments = in_binary->arguments;
  }
  return out;
}

std::string kernel_json(const KernelInfo& kernel) {
  std::string arguments;
  for (const std::string& argument : kernel.arguments)
    arguments += (arguments.empty() ? "" : ", ") + (argument.empty() ? "?" : argument);
  std::string out = R"({"name": )" + json_text(kernel.name) + R"(, "arguments": )" + json_text(arguments);
  const auto number = [&](const char* name, std::uint64_t value) {
    out.append(", \"").append(name).append("\": ").append(std::to_string(value));
  };
  number("max_threads", kernel.max_threads);
  number("multiple", kernel.multiple);
  number("shared_bytes", kernel.shared_bytes);
  number("private_bytes", kernel.private_bytes);
  return out + (kernel.required.empty() ? "}" : R"(, "required_group": )" + json_text(kernel.required) + "}");
}

std::string describe_binary(std::string_view bytes, const std::optional<ProgramInfo>& info) {
  const Binary binary = check_binary(bytes);
  std::string problem = binary.problem;
  if (problem.empty() && info) problem = mismatch(*info, bytes);
  std::string out = R"({"format": )" + json_text(format_name(binary.format));
  if (!problem.empty()) return out + R"(, "problem": )" + json_text(problem) + "}";
  if (info) {
    const DeviceFacts& device = info->device;
    out += R"(, "device": )" + json_text(device.name) + R"(, "platform": )" + json_text(device.platform) +
           R"(, "driver": )" + json_text(device.driver);
  }
  std::string kernels;
  for (const KernelInfo& kernel : kernels_of(binary, info))
    kernels += (kernels.empty() ? "" : ", ") + kernel_json(kernel);
  return out + R"(, "kernels": [)" + kernels + "]}";
}

}  // namespace

std::string probe(State& state, tlc_call* call) {
  const Listing listing = state.toolchains.list(state.host, call, {});
  if (listing.devices.empty()) {
    throw Failure(TLC_E_UNAVAILABLE, "OpenCL (" + listing.library + ") has no device: " +
                                         (listing.problem.empty() ? "its drivers find none" : listing.problem));
  }
  std::string devices;
  for (std::size_t i = 0; i < listing.devices.size(); ++i) {
    if (const auto facts = parse_identity(listing.devices[i].identity))
      devices += (devices.empty() ? "" : ", ") + device_json(i, *facts);
  }
  const ListedDevice& usual =
      listing.devices[default_device(listing.devices, [](const ListedDevice& one) { return one.computes; })];
  const auto usual_facts = parse_identity(usual.identity);
  return R"({"loader": )" + json_text(listing.library) + R"(, "native": )" +
         json_text(usual_facts ? usual_facts->target() : "") + R"(, "worker": )" + json_text(find_worker()) +
         R"(, "devices": [)" + devices + R"(], "passed_over": )" + json_text(listing.problem) + R"(, "files": )" +
         json_list(listing.files) + "}";
}

std::string describe(State& state, const tlc_artifact* artifact) {
  const auto beside = find_member(state.host, artifact, kInfoMember);
  const std::optional<ProgramInfo> info = beside ? parse_program(beside->bytes) : std::nullopt;
  return describe_device_code(state.host, artifact,
                              [&](std::string_view bytes) { return describe_binary(bytes, info); });
}

}  // namespace tlcb::opencl
