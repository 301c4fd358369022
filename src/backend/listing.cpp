// SPDX-License-Identifier: MIT
// The listing of backends as JSON:
//
//   {"backends": [{"name", "engine", "kinds": [], "default_of": [], "origin", "host_bound",
//                  "survives_fork", "available", "reason", "found": {}}],
//    "refused":  [{"origin", "reason"}]}
#include <string>

#include "backend/json.hpp"
#include "backend/registry.hpp"

namespace tlc::backend {
namespace {

std::string json_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ", ";
    out += json_quoted(text);
  }
  return out + "]";
}

std::string json_bool(bool value) {
  return value ? "true" : "false";
}

std::string json_of(const Listed& listed) {
  // A probe that is no JSON must not break the document: it is shown as text.
  const std::string found =
      is_json_object(listed.probe) ? listed.probe : "{\"text\": " + json_quoted(listed.probe) + "}";
  return "{\"name\": " + json_quoted(listed.name) + ", \"engine\": " + json_quoted(listed.engine) +
         ", \"kinds\": " + json_list(listed.kinds) + ", \"default_of\": " + json_list(listed.default_of) +
         ", \"origin\": " + json_quoted(listed.origin) +
         ", \"host_bound\": " + json_bool((listed.caps & TLC_BACKEND_HOST_BOUND) != 0) +
         ", \"survives_fork\": " + json_bool((listed.caps & TLC_BACKEND_SURVIVES_FORK) != 0) +
         ", \"available\": " + json_bool(listed.available) + ", \"reason\": " + json_quoted(listed.reason) +
         ", \"found\": " + found + "}";
}

}  // namespace

std::string listing_json(const Registry& registry, tlc_call* call) {
  std::string out = "{\"backends\": [";
  bool first = true;
  for (const Listed& listed : registry.list(call)) {
    if (!first) out += ", ";
    first = false;
    out += json_of(listed);
  }
  out += "], \"refused\": [";
  first = true;
  for (const Refusal& refusal : registry.refusals()) {
    if (!first) out += ", ";
    first = false;
    out += "{\"origin\": " + json_quoted(refusal.origin) + ", \"reason\": " + json_quoted(refusal.reason) + "}";
  }
  return out + "]}";
}

}  // namespace tlc::backend
