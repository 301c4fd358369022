// SPDX-License-Identifier: MIT
#include "opencl/target.hpp"

#include <algorithm>
#include <charconv>

#include "support/failure.hpp"

namespace tlcb::opencl {
namespace {

[[noreturn]] void wrong(std::string_view target, const std::string& why) {
  throw Failure(TLC_E_INVALID, "target '" + std::string(target) + "' " + why +
                                   "; write opencl, opencl:native, opencl:1 (a device's number) or "
                                   "opencl:<device>:<platform>; `tlcache backends` lists them");
}

std::string_view after_kind(std::string_view text) {
  if (text.find(',') != std::string_view::npos) wrong(text, "lists several; an OpenCL binary is for one device");
  const std::size_t colon = text.find(':');
  if (text.substr(0, colon) != "opencl") wrong(text, "is not of kind opencl");
  return colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string Target::text() const {
  return "opencl:" + device + (platform.empty() ? "" : ":" + platform);
}

bool Target::names(const DeviceFacts& facts) const {
  return device == target_word(facts.name) && (platform.empty() || platform == target_word(facts.platform));
}

Target parse_target(std::string_view text) {
  const std::string_view rest = after_kind(text);
  const std::size_t colon = rest.find(':');
  Target out;
  out.device = rest.substr(0, colon);
  if (colon != std::string_view::npos) out.platform = rest.substr(colon + 1);
  if (out.device.empty()) wrong(text, "names no device");
  if (out.platform.find(':') != std::string::npos) wrong(text, "says more than a device and a platform");
  for (const std::string& word : {out.device, out.platform}) {
    if (!word.empty() && target_word(word) != word) wrong(text, "has '" + word + "', which is no name of a device");
  }
  return out;
}

std::optional<Wanted> wanted_device(std::string_view text) {
  const std::string_view rest = after_kind(text);
  if (rest.empty() || rest == "native" || rest == "auto") return Wanted{};
  if (!is_number(rest)) return std::nullopt;
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (problem != std::errc()) wrong(text, "names a device by a number that none has");
  return Wanted{number};
}

}  // namespace tlcb::opencl
