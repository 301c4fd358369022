// SPDX-License-Identifier: MIT
#include "hip/target.hpp"

#include <algorithm>

#include "support/failure.hpp"

namespace tlcb::hip {
namespace {

constexpr const char* kExamples = "write hip:gfx90a, hip:gfx90a:sramecc+:xnack-, or hip:native";

[[noreturn]] void wrong(std::string_view target, const std::string& why) {
  throw Failure(TLC_E_INVALID, "target '" + std::string(target) + "' " + why + "; " + kExamples);
}

bool is_processor(std::string_view text) {
  const auto plain = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-'; };
  return text.starts_with("gfx") && text.size() > 3 && text.size() < 32 && text[3] >= '0' && text[3] <= '9' &&
         std::all_of(text.begin(), text.end(), plain);
}

/// What a setting of the device is asked to be, and is.
std::string setting_misfit(const char* name, char code, char device) {
  if (code == '\0' || code == device) return {};
  const std::string wanted = std::string(name) + code;
  return device == '\0' ? "it needs " + wanted + ", which this device does not have"
                        : "it needs " + wanted + ", and this device runs with " + name + device;
}

}  // namespace

std::string TargetId::text() const {
  std::string out = processor;
  if (sramecc != '\0') out.append(":sramecc").append(1, sramecc);
  if (xnack != '\0') out.append(":xnack").append(1, xnack);
  return out;
}

bool parse_target_id(std::string_view text, TargetId& id) {
  id = {};
  std::size_t colon = text.find(':');
  id.processor = text.substr(0, colon);
  if (!is_processor(id.processor)) return false;
  while (colon != std::string_view::npos) {
    text.remove_prefix(colon + 1);
    colon = text.find(':');
    std::string_view feature = text.substr(0, colon);
    if (feature.empty()) return false;
    const char sign = feature.back();
    feature.remove_suffix(1);
    char* const setting = feature == "sramecc" ? &id.sramecc : feature == "xnack" ? &id.xnack : nullptr;
    if (setting == nullptr || *setting != '\0' || (sign != '+' && sign != '-')) return false;
    *setting = sign;
  }
  return true;
}

std::vector<std::string> target_parts(std::string_view text) {
  std::vector<std::string> out;
  const std::string_view whole = text;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t colon = part.find(':');
    if (part.substr(0, colon) != "hip") wrong(whole, "is not of kind hip alone");
    out.emplace_back(colon == std::string_view::npos ? std::string_view() : part.substr(colon + 1));
  }
  return out;
}

std::vector<TargetId> parse_targets(std::string_view text) {
  std::vector<TargetId> out;
  for (const std::string& part : target_parts(text)) {
    if (part.empty()) wrong(text, "names no arch");
    TargetId id;
    if (!parse_target_id(part, id)) wrong(text, "names no AMD GPU by '" + part + "'");
    if (std::find(out.begin(), out.end(), id) != out.end()) wrong(text, "lists " + id.text() + " twice");
    out.push_back(std::move(id));
  }
  if (out.empty()) wrong(text, "names no arch");
  return out;
}

bool wants_device(std::string_view part) {
  return part == "native" || part == "auto";
}

std::string misfit(const TargetId& code, const TargetId& device) {
  if (code.processor.ends_with("-generic")) return {};
  if (code.processor != device.processor) {
    return "it is for " + code.text() + ", and this device is " + device.text();
  }
  std::string why = setting_misfit("sramecc", code.sramecc, device.sramecc);
  return why.empty() ? setting_misfit("xnack", code.xnack, device.xnack) : why;
}

}  // namespace tlcb::hip
