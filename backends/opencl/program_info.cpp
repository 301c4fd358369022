// SPDX-License-Identifier: MIT
#include "opencl/program_info.hpp"

#include <algorithm>
#include <array>

#include "opencl/checksum.hpp"
#include "support/json.hpp"
#include "support/json_parse.hpp"

namespace tlcb::opencl {
namespace {

constexpr std::int64_t kFormat = 1;

struct Number {
  const char* name;
  std::uint64_t KernelInfo::*value;
};
constexpr std::array kNumbers = {
    Number{"max_threads", &KernelInfo::max_threads},
    Number{"multiple", &KernelInfo::multiple},
    Number{"shared_bytes", &KernelInfo::shared_bytes},
    Number{"private_bytes", &KernelInfo::private_bytes},
};

const Json* find(const Json& object, std::string_view name, Json::Type type) {
  for (const Json::Entry& entry : object.entries) {
    if (entry.name == name) return entry.value.type == type ? &entry.value : nullptr;
  }
  return nullptr;
}

bool read_number(const Json& object, std::string_view name, std::uint64_t& into) {
  const Json* found = find(object, name, Json::Type::number);
  if (found == nullptr || found->number < 0) return false;
  into = static_cast<std::uint64_t>(found->number);
  return true;
}

bool read_kernel(const Json& json, KernelInfo& into) {
  for (const Number& number : kNumbers) {
    if (!read_number(json, number.name, into.*number.value)) return false;
  }
  if (const Json* required = find(json, "required", Json::Type::text)) into.required = required->text;
  const Json* arguments = find(json, "arguments", Json::Type::object);
  if (arguments == nullptr) return false;
  for (const Json::Entry& entry : arguments->entries) {
    if (entry.value.type != Json::Type::text) return false;
    into.arguments.push_back(entry.value.text);
  }
  return true;
}

}  // namespace

std::string kernels_json(const std::vector<KernelInfo>& kernels) {
  // A driver's number may be anything; what is written must be read again.
  constexpr std::uint64_t kMost = INT64_MAX;
  std::string out;
  for (const KernelInfo& kernel : kernels) {
    out.append(out.empty() ? "" : ", ").append(json_text(kernel.name)).append(": {");
    for (const Number& number : kNumbers) {
      out += json_text(number.name) + ": " + std::to_string(std::min(kernel.*number.value, kMost)) + ", ";
    }
    if (!kernel.required.empty()) out += R"("required": )" + json_text(kernel.required) + ", ";
    out += R"("arguments": {)";
    for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
      out += (i == 0 ? "" : ", ") + json_text(std::to_string(i)) + ": " + json_text(kernel.arguments[i]);
    }
    out += "}}";
  }
  return "{" + out + "}";
}

std::string program_json(const DeviceFacts& device, std::string_view binary, const std::string& kernels) {
  return R"({"format": )" + std::to_string(kFormat) + R"(, "device": )" + json_text(device.identity()) +
         R"(, "size": )" + std::to_string(binary.size()) + R"(, "crc64": )" + json_text(crc64_text(binary)) +
         R"(, "kernels": )" + kernels + "}\n";
}

std::optional<ProgramInfo> parse_program(std::string_view json) {
  const std::optional<Json> root = parse_json_object(json);
  if (!root) return std::nullopt;
  ProgramInfo out;
  std::uint64_t format = 0;
  const Json* device = find(*root, "device", Json::Type::text);
  const Json* crc = find(*root, "crc64", Json::Type::text);
  const Json* kernels = find(*root, "kernels", Json::Type::object);
  if (device == nullptr || crc == nullptr || kernels == nullptr || !read_number(*root, "format", format) ||
      format != static_cast<std::uint64_t>(kFormat) || !read_number(*root, "size", out.size))
    return std::nullopt;
  const std::optional<DeviceFacts> facts = parse_identity(device->text);
  if (!facts) return std::nullopt;
  out.device = *facts;
  out.crc64 = crc->text;
  for (const Json::Entry& entry : kernels->entries) {
    KernelInfo kernel;
    kernel.name = entry.name;
    if (entry.value.type != Json::Type::object || !read_kernel(entry.value, kernel)) return std::nullopt;
    out.kernels.push_back(std::move(kernel));
  }
  return out;
}

std::string mismatch(const ProgramInfo& info, std::string_view binary) {
  if (info.size != binary.size()) {
    return "it has " + std::to_string(binary.size()) + " bytes, and the driver made " + std::to_string(info.size) +
           ": it is cut or damaged";
  }
  return info.crc64 == crc64_text(binary) ? std::string() : "its bytes are not those that the driver made";
}

}  // namespace tlcb::opencl
