// SPDX-License-Identifier: MIT
// What finding a compiler and naming it by its content takes, whichever compiler it is.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/host.hpp"

namespace tlcb {

/// An environment variable; empty where it is not set, or the program runs with another user's rights.
[[nodiscard]] std::string environment(const char* name);

/// The folders of LD_LIBRARY_PATH, where the loader looks first.
[[nodiscard]] std::vector<std::string> loader_folders();
/// The first of these names that is a file in these folders, each folder asked for all of them; empty if there is none.
[[nodiscard]] std::string first_file_in(const std::vector<std::string>& folders, std::span<const char* const> names);
/// What to open, in this order: the names in the folders, by the loader's own ways, in the usual folder.
[[nodiscard]] std::vector<std::string> candidates_of(const std::vector<std::string>& folders,
                                                     std::span<const char* const> names, const std::string& usual);
/// When the loader's own list of libraries was last written.
[[nodiscard]] std::string loader_cache_stamp();

/// Identity of a file by content, in hexadecimal. Throws Failure where it cannot be read.
[[nodiscard]] std::string file_identity(Host host, tlc_call* call, const std::string& path);

/// What was recalled or remembered on the way to a decision, by key: a store that did not take part gets it by note().
class Facts {
 public:
  bool recall(Host host, tlc_call* call, const std::string& key, std::string& value) {
    if (!host.recall(call, key, value)) return false;
    all_[key] = value;
    return true;
  }
  void remember(Host host, tlc_call* call, const std::string& key, const std::string& value) {
    host.remember(call, key, value);
    all_[key] = value;
  }
  void note(Host host, tlc_call* call) const {
    for (const auto& [key, value] : all_) host.remember(call, key, value);
  }

 private:
  std::map<std::string, std::string> all_;
};

/// Whether a library is a part of libc: it changes with the system, and no compiler is judged by it.
[[nodiscard]] bool is_libc(std::string_view file_name);

/// What follows the last slash.
[[nodiscard]] std::string base_name(std::string_view path);
/// A file's whole content; empty where it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);
/// Takes one line from the front of a text.
[[nodiscard]] std::string take_line(std::string_view& text);

}  // namespace tlcb
