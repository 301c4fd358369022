// SPDX-License-Identifier: MIT
#include "support/compiler_log.hpp"

#include <cstddef>

namespace tlcb {

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

std::string first_error(std::string_view log) {
  std::string_view fallback;
  while (!log.empty()) {
    const std::size_t end = log.find('\n');
    const std::string_view line = log.substr(0, end);
    log = end == std::string_view::npos ? std::string_view() : log.substr(end + 1);
    if (line.find("error") != std::string_view::npos || line.find("fatal") != std::string_view::npos) {
      return std::string(line);
    }
    if (fallback.empty()) fallback = line;
  }
  return std::string(fallback);
}

std::string last_words(std::string_view log) {
  const std::size_t end = log.find_last_not_of(" \n\r\t");
  if (end == std::string_view::npos) return {};
  log = log.substr(0, end + 1);
  return std::string(log.substr(log.rfind('\n') + 1));
}

}  // namespace tlcb
