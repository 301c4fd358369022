// SPDX-License-Identifier: MIT
// Follows every header that may be included, as compilers look for it:
//
//  1. from memory, when a header of the request has exactly this name
//  2. "name" only: beside the file that includes it, where the compiler does so; for clang this comes first
//  3. in the folders, in their order
//
// Measured with NVRTC 11.8, 12.9 and 13, and with hiprtc 5.2 and clang 19.
//
// The first file there is is guarded and read; the places before it are to stay empty.
#include "support/includes.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "support/failure.hpp"
#include "support/include_scan.hpp"
#include "support/toolchain.hpp"

namespace tlcb {
namespace {

bool is_file(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && !S_ISDIR(st.st_mode);
}

std::string joined(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

/// The words of a header's name, which the preprocessor replaces when a macro holds it as <name>.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> out(1);
  for (const char c : name) {
    const bool word = c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (word) {
      out.back() += c;
    } else {
      out.emplace_back();
    }
  }
  return out;
}

class Follower {
 public:
  explicit Follower(const IncludeSources& sources) : sources_(sources) {}

  GuardSet run() {
    for (const std::string& define : sources_.defines) add_define(macros_, define);
    for (const std::string& name : sources_.pre_includes) pre_include(name);
    take(scan_includes(sources_.source), {});
    while (follow_files() || follow_macros()) {
    }
    refuse_what_is_hidden();
    return std::move(out_);
  }

 private:
  /// A text's includes; `folder` is that of its file, empty for what comes from memory.
  void take(IncludeScan scan, const std::string& folder) {
    for (const HeaderName& name : scan.headers) look_for(name, folder);
    for (const std::string& macro : scan.computed) computed_.insert({macro, folder});
    unreadable_.merge(scan.unreadable);
    for (auto& [name, values] : scan.macros) {
      macros_[name].headers.merge(values.headers);
      macros_[name].macros.merge(values.macros);
      macros_[name].other = macros_[name].other || values.other;
    }
  }

  void pre_include(const std::string& name) {
    if (!name.starts_with('/') && header_text(name) == nullptr) {
      throw Failure(TLC_E_INVALID, "option -include names '" + name +
                                       "', which is neither an absolute path nor one of the field 'headers'; " +
                                       sources_.compiler + " would look for it in the working directory");
    }
    look_for({name, false, false}, {});
  }

  [[nodiscard]] const std::string* header_text(const std::string& name) const {
    for (const auto& [known, text] : *sources_.headers) {
      if (known == name) return &text;
    }
    return nullptr;
  }

  void look_for(const HeaderName& header, const std::string& folder) {
    if (!looked_for_.insert({header, header.quoted && sources_.beside ? folder : std::string()}).second) return;
    if (sources_.beside_first && try_beside(header, folder)) return;
    if (const std::string* text = header_text(header.name)) {
      if (memory_.insert(header.name).second) take(scan_includes(*text), {});
      if (!header.all) return;
    }
    if (header.name.starts_with('/')) {
      (void)try_file(header.name);
      return;
    }
    if (!sources_.beside_first && try_beside(header, folder)) return;
    for (const std::string& place : sources_.folders) {
      if (try_file(joined(place, header.name)) && !header.all) return;
    }
  }

  /// Beside the file that includes it; true when that settles it.
  bool try_beside(const HeaderName& header, const std::string& folder) {
    if (!header.quoted || !sources_.beside || folder.empty() || header.name.starts_with('/')) return false;
    return try_file(joined(folder, header.name)) && !header.all;
  }

  bool try_file(const std::string& path) {
    if (!is_file(path)) {
      struct stat st {};
      if (::stat(path.c_str(), &st) != 0) out_.nothing_at(path);
      return false;
    }
    if (out_.present().count(path) == 0) {
      out_.read(path);
      files_.push_back(path);
    }
    return true;
  }

  bool follow_files() {
    if (files_.empty()) return false;
    const std::string path = std::move(files_.front());
    files_.pop_front();
    take(scan_includes(read_file(path)), path.substr(0, path.rfind('/')));
    return true;
  }

  /// Looks for what macros are known to stand for; true when that was something new.
  bool follow_macros() {
    const std::size_t before = looked_for_.size();
    for (const auto& [macro, folder] : std::set<std::pair<std::string, std::string>>(computed_)) {
      std::set<std::string> seen;
      follow_macro(macro, folder, seen);
    }
    return looked_for_.size() != before;
  }

  void follow_macro(const std::string& macro, const std::string& folder, std::set<std::string>& seen) {
    const auto found = macros_.find(macro);
    if (found == macros_.end() || !seen.insert(macro).second) return;
    const std::set<HeaderName> headers = found->second.headers;
    const std::set<std::string> others = found->second.macros;
    for (const HeaderName& header : headers) look_for(header, folder);
    for (const std::string& other : others) follow_macro(other, folder, seen);
  }

  void refuse_what_is_hidden() const {
    if (!unreadable_.empty()) hidden("'" + *unreadable_.begin() + "'");
    for (const auto& [macro, folder] : computed_) {
      std::set<std::string> seen;
      if (!is_plain(macro, seen)) hidden("'#include " + macro + "'");
    }
  }

  /// A macro that is defined nowhere includes nothing: the compile fails where it is used.
  bool is_plain(const std::string& macro, std::set<std::string>& seen) const {
    const auto found = macros_.find(macro);
    if (found == macros_.end() || !seen.insert(macro).second) return true;
    const MacroValues& values = found->second;
    if (values.other) return false;
    for (const HeaderName& header : values.headers) {
      if (header.quoted) continue;
      for (const std::string& word : words_of(header.name)) {
        if (macros_.count(word) != 0) return false;
      }
    }
    return std::all_of(values.macros.begin(), values.macros.end(),
                       [&](const std::string& other) { return is_plain(other, seen); });
  }

  [[noreturn]] void hidden(const std::string& what) const {
    throw Failure(TLC_E_UNCACHEABLE,
                  what + " does not say which header it means, and " + sources_.compiler +
                      " does not tell what it read; define the macro as \"name\" or <name>, or write "
                      "the name itself");
  }

  const IncludeSources& sources_;
  std::map<std::string, MacroValues> macros_;
  std::set<std::pair<std::string, std::string>> computed_;  ///< macro, folder of the file that uses it
  std::set<std::string> unreadable_;
  std::set<std::pair<HeaderName, std::string>> looked_for_;
  std::set<std::string> memory_;
  std::deque<std::string> files_;
  GuardSet out_;
};

}  // namespace

GuardSet find_includes(const IncludeSources& sources) {
  return Follower(sources).run();
}

}  // namespace tlcb
