// SPDX-License-Identifier: MIT
#include "cuda/target.hpp"

#include <charconv>

#include "support/failure.hpp"

namespace tlcb::cuda {
namespace {

[[noreturn]] void wrong(std::string_view target, const std::string& why) {
  throw Failure(TLC_E_INVALID, "target '" + std::string(target) + "' " + why);
}

/// What follows `cuda:`; empty for a bare `cuda`.
std::string_view arch_of(std::string_view target) {
  if (target.find(',') != std::string_view::npos) wrong(target, "lists several archs; compile for each by itself");
  const std::size_t colon = target.find(':');
  if (target.substr(0, colon) != "cuda") wrong(target, "is not of kind cuda");
  const std::string_view arch = colon == std::string_view::npos ? std::string_view() : target.substr(colon + 1);
  if (arch.find(':') != std::string_view::npos) wrong(target, "has features, which kind cuda knows none of");
  return arch;
}

}  // namespace

std::string Arch::text() const {
  std::string out = (is_virtual ? "compute_" : "sm_") + std::to_string(number);
  if (variant != '\0') out += variant;
  return out;
}

bool parse_arch(std::string_view text, Arch& arch) {
  arch = {};
  if (text.starts_with("sm_")) {
    text.remove_prefix(3);
  } else if (text.starts_with("compute_")) {
    text.remove_prefix(8);
    arch.is_virtual = true;
  } else {
    return false;
  }
  if (text.ends_with('a') || text.ends_with('f')) {
    arch.variant = text.back();
    text.remove_suffix(1);
  }
  if (text.empty() || text.front() < '1' || text.front() > '9') return false;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), arch.number);
  return problem == std::errc() && end == text.data() + text.size() && arch.number >= 10 && arch.number < 10000;
}

Arch parse_target(std::string_view text) {
  const std::string_view word = arch_of(text);
  Arch arch;
  if (word.empty()) wrong(text, "names no arch; write cuda:sm_90, cuda:compute_90 or cuda:native");
  if (!parse_arch(word, arch)) {
    wrong(text, "names no CUDA arch; write cuda:sm_90, cuda:sm_90a, cuda:sm_100f, cuda:compute_90 or cuda:native");
  }
  return arch;
}

bool wants_device(std::string_view text) {
  const std::string_view word = arch_of(text);
  return word == "native" || word == "auto";
}

std::string misfit(const Arch& arch, int device) {
  const int major = device / 10;
  const std::string have = "this device is sm_" + std::to_string(device);
  if (arch.is_virtual) {
    const bool exact = arch.variant == 'a';
    const bool family = arch.variant == 'f';
    if (exact    ? device == arch.number
        : family ? major == arch.major() && device >= arch.number
                 : device >= arch.number) {
      return {};
    }
    return "PTX for " + arch.text() + " cannot be compiled for it: " + have;
  }
  if (arch.variant == 'a' && device != arch.number) {
    return "code for " + arch.text() + " runs on sm_" + std::to_string(arch.number) + " devices only; " + have;
  }
  if (major != arch.major() || device < arch.number) {
    return "code for " + arch.text() + " runs on devices sm_" + std::to_string(arch.number) + " to sm_" +
           std::to_string(arch.major()) + "9; " + have;
  }
  return {};
}

}  // namespace tlcb::cuda
