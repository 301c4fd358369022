// SPDX-License-Identifier: MIT
#include "cpu/request.hpp"

#include <utility>

#include "support/request_fields.hpp"

namespace tlcb::cpu {
namespace {

Language language_of(const std::string& text) {
  if (text == "c") return Language::c;
  if (text == "c++") return Language::cxx;
  wrong_field("language", "is '" + text + "'; it must be \"c\" or \"c++\"");
}

}  // namespace

Request read_request(Host host, const tlc_request* request) {
  const RequestFields fields(host, request);
  Request out;
  auto source = fields.text("source");
  if (!source) wrong_field("source", "is missing; it holds the text to compile");
  out.source = *std::move(source);
  out.language = language_of(fields.text("language").value_or("c"));
  out.compiler = fields.text("compiler").value_or("");
  out.options = fields.texts("options");
  out.includes = fields.folders("include_dirs");
  out.defines = fields.defines("defines");
  return out;
}

}  // namespace tlcb::cpu
