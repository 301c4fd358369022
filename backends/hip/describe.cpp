// SPDX-License-Identifier: MIT
// What device code says of itself: archs, kernels with their registers and memory, variables.
#include "hip/binary_check.hpp"
#include "hip/hip.hpp"
#include "support/json.hpp"
#include "support/members.hpp"

namespace tlcb::hip {
namespace {

std::string kernel_json(const KernelFacts& kernel, const TargetId* target) {
  std::string out = R"({"name": )" + json_text(kernel.name);
  if (target != nullptr) out += R"(, "arch": )" + json_text(target->text());
  const auto number = [&](const char* name, std::uint64_t value) {
    out.append(", \"").append(name).append("\": ").append(std::to_string(value));
  };
  number("registers", kernel.vgprs);
  if (kernel.agprs != 0) number("matrix_registers", kernel.agprs);
  number("scalar_registers", kernel.sgprs);
  number("shared_bytes", kernel.shared_bytes);
  number("stack_bytes", kernel.private_bytes);
  number("argument_bytes", kernel.argument_bytes);
  number("max_threads", kernel.max_threads);
  number("wave_size", kernel.wave);
  return out + "}";
}

/// Of all images; where there are several, each kernel says which one it is of.
std::string kernels_json(const std::vector<CodeObject>& images) {
  std::string out;
  for (const CodeObject& image : images) {
    if (!image.metadata) continue;
    for (const KernelFacts& kernel : image.metadata->kernels) {
      out += (out.empty() ? "" : ", ") + kernel_json(kernel, images.size() > 1 ? &image.target : nullptr);
    }
  }
  return "[" + out + "]";
}

std::string describe_binary(std::string_view bytes) {
  const Binary binary = check_binary(bytes);
  std::string out = R"({"format": )" + json_text(format_name(binary.format));
  if (!binary.ok()) return out + R"(, "problem": )" + json_text(binary.problem) + "}";
  if (binary.images.empty()) return out + "}";
  std::vector<std::string> archs;
  for (const CodeObject& image : binary.images) archs.push_back(image.target.text());
  out += R"(, "archs": )" + json_list(archs) + R"(, "code_object_version": )" +
         std::to_string(binary.images.front().version) + R"(, "kernels": )" + kernels_json(binary.images);
  return out + R"(, "symbols": )" + json_list(binary.images.front().variables) + "}";
}

}  // namespace

std::string describe(State& state, const tlc_artifact* artifact) {
  return describe_device_code(state.host, artifact, describe_binary);
}

}  // namespace tlcb::hip
