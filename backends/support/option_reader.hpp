// SPDX-License-Identifier: MIT
// Reading compiler options by the rule that only what is known is passed on: each must change the result by its text
// alone. What several compilers spell alike is here.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/device_source.hpp"

namespace tlcb {

struct RefusedOption {
  std::string_view name;
  tlc_status status;
  std::string_view why;
};

[[noreturn]] void refuse_option(std::string_view option, tlc_status status, std::string_view why);

/// What a source may not name as an option, whatever the compiler: a file of more options, an input.
void refuse_non_options(const std::string& option);

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// Throws with its reason if a table refuses an option of this name.
template <std::size_t N>
void refuse_listed(std::string_view option, std::string_view name, const std::array<RefusedOption, N>& table) {
  for (const RefusedOption& row : table) {
    if (name == row.name) refuse_option(option, row.status, row.why);
  }
}

class OptionReader {
 public:
  explicit OptionReader(const std::vector<std::string>& options) : options_(options) {}

  /// The next option as it stands; nullptr at the end.
  [[nodiscard]] const std::string* take() { return at_ < options_.size() ? &options_[at_++] : nullptr; }
  /// The word after an option, which must be there.
  [[nodiscard]] const std::string& next(const std::string& option);
  /// After the `=`, or the next word.
  [[nodiscard]] std::string value(const std::string& option);

  /// -DX=1, -UX, -I/folder, and the same in two words.
  [[nodiscard]] bool glued(const std::string& option, CommonOptions& out);

 private:
  const std::vector<std::string>& options_;
  std::size_t at_ = 0;
};

void add_define_option(const std::string& given, CommonOptions& out);
void add_folder_option(const std::string& option, const std::string& path, CommonOptions& out);
/// The words for the compiler are the caller's.
void add_pre_include(const std::string& option, const std::string& name, CommonOptions& out);

}  // namespace tlcb
