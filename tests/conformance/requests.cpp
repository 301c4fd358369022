// SPDX-License-Identifier: MIT
#include "requests.hpp"

#include <stdexcept>

namespace conformance {

std::string unhex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

std::string bytes(const json& given) {
  if (given.is_string()) return given.get<std::string>();
  if (given.contains("hex")) return unhex(given["hex"]);
  const std::string part = given.at("repeat");
  std::string out;
  for (std::size_t i = 0; i < given.at("times").get<std::size_t>(); ++i) out += part;
  return out;
}

namespace {

// The types that scenarios use; keys.json is run by a test of its own.
tlc_status add_field(tlc_request* request, const json& field, tlc_error* error) {
  const std::string name = field.at("name");
  const std::string type = field.at("type");
  const std::string value = field.at("value");
  if (type == "int") return tlc_request_add_int(request, text(name), std::stoll(value), 0, error);
  if (type == "text") return tlc_request_add_text(request, text(name), text(value), 0, error);
  throw std::runtime_error("scenarios have no fields of type " + type);
}

tlc_status set_toolchain(tlc_request* request, const json& given, tlc_error* error) {
  if (!given.contains("toolchain")) return TLC_OK;
  const std::string toolchain = given["toolchain"];
  if (toolchain == "none") return tlc_request_set_no_toolchain(request, error);
  const std::string identity = unhex(toolchain);
  return tlc_request_set_toolchain(request, identity.data(), identity.size(), error);
}

}  // namespace

tlc_status make_request(const json& given, Owned<tlc_request>& request, tlc_error* error) {
  tlc_request* made = nullptr;
  const std::string name_space = given.at("namespace");
  tlc_status status = tlc_request_create(text(name_space), &made, error);
  request.reset(made);
  if (status != TLC_OK) return status;
  for (const auto& [name, set] :
       {std::pair{"target", &tlc_request_set_target}, std::pair{"engine", &tlc_request_set_engine},
        std::pair{"label", &tlc_request_set_label}}) {
    const std::string value = given.value(name, std::string());
    if (given.contains(name) && (status = set(made, text(value), error)) != TLC_OK) return status;
  }
  if ((status = set_toolchain(made, given, error)) != TLC_OK) return status;
  for (const std::string member : given.value("require", json::array())) {
    if ((status = tlc_request_require_member(made, text(member), error)) != TLC_OK) return status;
  }
  for (const json& field : given.at("fields")) {
    if ((status = add_field(made, field, error)) != TLC_OK) return status;
  }
  return TLC_OK;
}

tlc_status make_key(const json& given, Owned<tlc_key>& key, tlc_error* error) {
  Owned<tlc_request> request;
  tlc_key* made = nullptr;
  tlc_status status = make_request(given, request, error);
  if (status == TLC_OK) status = tlc_request_key(request.get(), &made, error);
  key.reset(made);
  return status;
}

}  // namespace conformance
