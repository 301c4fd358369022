// SPDX-License-Identifier: MIT
// Reading, resolving and checking targets of kind `cpu`.
#include "cpu/target.hpp"

#include <algorithm>

#include "cpu/cpu_features.hpp"
#include "support/failure.hpp"

namespace tlcb::cpu {
namespace {

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t end = text.find(at);
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text = text.substr(end + 1);
  }
}

/// The words of one part, checked for the kind.
std::vector<std::string> words_of(std::string_view text) {
  if (text.find(',') != std::string_view::npos) {
    throw Failure(TLC_E_INVALID, "target '" + std::string(text) + "' lists several CPUs; a shared object is for one");
  }
  std::vector<std::string> words = split(text, ':');
  if (words.front() != "cpu") {
    throw Failure(TLC_E_INVALID, "target '" + std::string(text) + "' is not of kind cpu");
  }
  return words;
}

bool means_native(const std::string& word) {
  return word == "native" || word == "auto";
}

}  // namespace

bool Target::is_host_arch() const {
  return arch == host_arch();
}

Target parse_target(std::string_view text) {
  const std::vector<std::string> words = words_of(text);
  Target target;
  target.arch = words.size() > 1 && !words[1].empty() ? words[1] : host_arch();
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (!is_feature_of(target.arch, words[i])) {
      throw Failure(TLC_E_INVALID, "target '" + std::string(text) + "' names the feature '" + words[i] +
                                       "', which is not known for " + target.arch +
                                       "; known: " + feature_names(target.arch));
    }
    target.features.push_back(words[i]);
  }
  return target;
}

std::string resolve_target(std::string_view text) {
  const std::vector<std::string> words = words_of(text);
  std::string arch = words.size() > 1 ? words[1] : host_arch();
  bool native = words.size() > 1 && arch == "native";
  if (means_native(arch)) arch = host_arch();
  std::vector<std::string> features;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (means_native(words[i])) {
      native = true;
    } else {
      features.push_back(words[i]);
    }
  }
  if (native) {
    if (arch != host_arch()) {
      throw Failure(TLC_E_INVALID,
                    "target '" + std::string(text) + "' cannot be resolved: this machine is " + host_arch());
    }
    for (std::string& feature : host_features()) features.push_back(std::move(feature));
  }
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  std::string out = "cpu:" + arch;
  for (const std::string& feature : features) out += ":" + feature;
  return out;
}

std::string missing_feature(const Target& target) {
  for (const std::string& feature : target.features) {
    if (!host_has(feature)) return feature;
  }
  return {};
}

}  // namespace tlcb::cpu
