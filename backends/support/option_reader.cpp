// SPDX-License-Identifier: MIT
#include "support/option_reader.hpp"

#include "support/failure.hpp"

namespace tlcb {

void refuse_option(std::string_view option, tlc_status status, std::string_view why) {
  throw Failure(status, "compiler option '" + std::string(option) + "' is refused: it " + std::string(why));
}

void refuse_non_options(const std::string& option) {
  if (option.find('\0') != std::string::npos) throw Failure(TLC_E_INVALID, "a compiler option has a NUL");
  if (option.starts_with('@')) {
    refuse_option(option, TLC_E_DENIED, "reads or writes a file that the cache cannot watch");
  }
  if (option.size() < 2 || option.front() != '-') {
    refuse_option(option, TLC_E_INVALID, "does not begin with '-'; one source is compiled, that of the field 'source'");
  }
}

const std::string& OptionReader::next(const std::string& option) {
  const std::string* word = take();
  if (word == nullptr) refuse_option(option, TLC_E_INVALID, "lacks its argument");
  return *word;
}

std::string OptionReader::value(const std::string& option) {
  const std::size_t equals = option.find('=');
  return equals == std::string::npos ? next(option) : option.substr(equals + 1);
}

bool OptionReader::glued(const std::string& option, CommonOptions& out) {
  if (option[1] != 'D' && option[1] != 'U' && option[1] != 'I') return false;
  const std::string given = option.size() > 2 ? option.substr(2) : next(option);
  if (option[1] == 'D') add_define_option(given, out);
  if (option[1] == 'U') out.words.push_back("-U" + given);
  if (option[1] == 'I') add_folder_option(option, given, out);
  return true;
}

void add_define_option(const std::string& given, CommonOptions& out) {
  out.defines.push_back(given);
  out.words.push_back("-D" + given);
}

void add_folder_option(const std::string& option, const std::string& path, CommonOptions& out) {
  if (path.empty() || path.front() != '/') {
    refuse_option(option, TLC_E_INVALID, "has a relative path; make it absolute");
  }
  out.folders.push_back(path);
}

void add_pre_include(const std::string& option, const std::string& name, CommonOptions& out) {
  if (name.empty()) refuse_option(option, TLC_E_INVALID, "names no header");
  out.pre_includes.push_back(name);
}

}  // namespace tlcb
