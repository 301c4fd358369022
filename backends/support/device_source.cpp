// SPDX-License-Identifier: MIT
#include "support/device_source.hpp"

#include "support/failure.hpp"
#include "support/request_fields.hpp"

namespace tlcb {

DeviceSource read_device_source(Host host, const tlc_request* request) {
  const RequestFields fields(host, request);
  DeviceSource out;
  out.source = fields.text("source");
  out.compiler = fields.text("compiler").value_or("");
  out.options = fields.texts("options");
  out.defines = fields.defines("defines");
  out.includes = fields.folders("include_dirs");
  out.headers = fields.headers("headers");
  out.name_expressions = fields.words("name_expressions");
  return out;
}

void need_source(const DeviceSource& request) {
  if (!request.source) throw Failure(TLC_E_INVALID, "field 'source' is missing; it holds the text to compile");
}

std::vector<std::string> folders_of(const DeviceSource& request, const CommonOptions& options) {
  std::vector<std::string> out = request.includes;
  out.insert(out.end(), options.folders.begin(), options.folders.end());
  return out;
}

IncludeSources include_sources_of(const DeviceSource& request, const CommonOptions& options) {
  IncludeSources sources;
  sources.source = *request.source;
  sources.headers = &request.headers;
  sources.folders = folders_of(request, options);
  sources.pre_includes = options.pre_includes;
  sources.defines = request.defines;
  sources.defines.insert(sources.defines.end(), options.defines.begin(), options.defines.end());
  return sources;
}

}  // namespace tlcb
