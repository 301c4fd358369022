// SPDX-License-Identifier: MIT
#include "metal/target.hpp"

#include <array>
#include <charconv>

#include "support/failure.hpp"

namespace tlcb::metal {
namespace {

constexpr const char* kExamples = "write metal, metal:apple7, metal:mac2:macos14.0:msl3.1, or metal:native";
constexpr std::array<std::string_view, 3> kSystems = {"macos", "ios", "tvos"};
constexpr std::string_view kLanguage = "msl";

[[noreturn]] void wrong(std::string_view target, const std::string& why) {
  throw Failure(TLC_E_INVALID, "target '" + std::string(target) + "' " + why + "; " + kExamples);
}

/// A number without a leading zero.
bool take_number(std::string_view& text, unsigned& value) {
  if (text.empty() || text.front() == '0' || text.front() < '0' || text.front() > '9') {
    if (!text.starts_with('0')) return false;
    text.remove_prefix(1);
    value = 0;
    return true;
  }
  constexpr unsigned kMost = 999;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > kMost) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// 14, 14.2
bool read_version(std::string_view text, Version& version) {
  version = {};
  if (!take_number(text, version.major) || version.major == 0) return false;
  if (text.empty()) return true;
  if (text.front() != '.') return false;
  text.remove_prefix(1);
  return take_number(text, version.minor) && text.empty();
}

struct Family {
  std::string_view name;
  long first;  ///< the number of its first
  unsigned lowest;
};
constexpr std::array<Family, 4> kFamilies = {
    {{"apple", 1001, 1}, {"mac", 2001, 1}, {"common", 3001, 1}, {"metal", 5001, 3}}};

class Parser {
 public:
  explicit Parser(std::string_view text) : whole_(text) {}

  Target run() {
    if (whole_.find(',') != std::string_view::npos) wrong(whole_, "lists several; a metal artifact is for one");
    const std::size_t colon = whole_.find(':');
    if (whole_.substr(0, colon) != "metal") wrong(whole_, "is not of kind metal");
    std::string_view rest = colon == std::string_view::npos ? std::string_view() : whole_.substr(colon + 1);
    bool more = colon != std::string_view::npos;
    while (more) {
      const std::size_t end = rest.find(':');
      part(rest.substr(0, end));
      more = end != std::string_view::npos;
      if (more) rest.remove_prefix(end + 1);
    }
    return out_;
  }

 private:
  void part(std::string_view text) {
    if (family_number(text) != 0) {
      once(out_.family.empty(), "GPU family");
      out_.family = text;
      return;
    }
    if (Version version; text.starts_with(kLanguage) && read_version(text.substr(kLanguage.size()), version)) {
      once(out_.language == Version(), "version of the language");
      out_.language = version;
      return;
    }
    for (const std::string_view os : kSystems) {
      if (!text.starts_with(os) || !read_version(text.substr(os.size()), out_.os_version)) continue;
      once(out_.os.empty(), "system");
      out_.os = os;
      return;
    }
    wrong(whole_, "has the part '" + std::string(text) +
                      "', which is no GPU family, no system with a version and no version of the language");
  }

  void once(bool first, const char* what) const {
    if (!first) wrong(whole_, std::string("names more than one ") + what);
  }

  std::string_view whole_;
  Target out_;
};

}  // namespace

std::string Target::text() const {
  std::string out = "metal";
  if (!family.empty()) out += ":" + family;
  if (!os.empty()) out += ":" + os + os_version.text();
  if (language != Version()) out.append(":").append(kLanguage).append(language.text());
  return out;
}

Target parse_target(std::string_view text) {
  return Parser(text).run();
}

bool wants_device(std::string_view text) {
  return text == "metal:native" || text == "metal:auto";
}

long family_number(std::string_view family) {
  for (const Family& one : kFamilies) {
    if (!family.starts_with(one.name)) continue;
    std::string_view rest = family.substr(one.name.size());
    constexpr unsigned kMost = 99;
    unsigned number = 0;
    if (!take_number(rest, number) || !rest.empty() || number < one.lowest || number > kMost) return 0;
    return one.first + static_cast<long>(number - one.lowest);
  }
  return 0;
}

std::string misfit(const Metallib& library, const Target& target) {
  if (!target.os.empty() && !library.os.empty()) {
    if (library.os != target.os) return "it is for " + library.os + ", but the artifact is for " + target.os;
    if (library.os_version > target.os_version) {
      return "it needs " + library.os + " " + library.os_version.text() + ", but the artifact is for " +
             target.os_version.text() + " and newer";
    }
  }
  if (target.language == Version()) return {};
  for (const Function& function : library.functions) {
    if (function.language > target.language) {
      return "its function '" + function.name + "' is of language version " + function.language.text() +
             ", but the artifact is for " + target.language.text();
    }
  }
  return {};
}

}  // namespace tlcb::metal
