// SPDX-License-Identifier: MIT
#include "cuda/request.hpp"

#include <cstdint>

#include "support/request_fields.hpp"

namespace tlcb::cuda {
namespace {

Output output_of(const std::string& text) {
  if (text == "cubin") return Output::cubin;
  if (text == "ptx") return Output::ptx;
  if (text == "ltoir") return Output::ltoir;
  wrong_field("output", "is '" + text + "'; it must be \"cubin\", \"ptx\" or \"ltoir\"");
}

std::int32_t attribute_value(Host host, const char* field, const std::string& attribute, const tlc_value* value) {
  if (!function_attribute(attribute)) {
    wrong_field(field, "has '" + attribute + "', which is no attribute; known: " + function_attribute_names());
  }
  std::int64_t number = 0;
  if (host->value_int(value, &number) != TLC_OK || number != static_cast<std::int32_t>(number)) {
    wrong_field(field, "has '" + attribute + "' with what is no int of 32 bits");
  }
  return static_cast<std::int32_t>(number);
}

Launch launch_of(Host host, const RequestFields& fields, const char* name) {
  constexpr const char* kRule = "must be a map of kernels to maps of attributes";
  Launch out;
  for (const auto& [kernel, attributes] : fields.map(name, kRule)) {
    auto& into = out[kernel];
    for (const auto& [attribute, value] : fields.entries(attributes, name, kRule)) {
      into[attribute] = attribute_value(host, name, attribute, value);
    }
  }
  return out;
}

}  // namespace

Request read_request(Host host, const tlc_request* request) {
  const RequestFields fields(host, request);
  Request out{read_device_source(host, request), {}, {}};
  if (const auto output = fields.text("output")) out.output = output_of(*output);
  out.launch = launch_of(host, fields, "launch");
  return out;
}

}  // namespace tlcb::cuda
