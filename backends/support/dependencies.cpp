// SPDX-License-Identifier: MIT
// Parsers of compiler output. They take any bytes: what is malformed yields names of no file.
#include "support/dependencies.hpp"

#include <algorithm>
#include <set>

namespace tlcb {
namespace {

/// Cuts make text into words; "\n" as a word of its own ends a rule.
std::vector<std::string> make_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\\' && next == '\r' && i + 2 < text.size() && text[i + 2] == '\n') {
      end_word();
      i += 2;
    } else if (c == '\\' && next == '\n') {
      end_word();
      ++i;
    } else if (c == '\\' && (next == ' ' || next == '#' || next == '\t')) {
      word += next;
      ++i;
    } else if (c == '\\' && next == '\\') {
      // Only backslashes before a space are doubled: look where this run of them ends.
      const std::size_t end = std::min(text.find_first_not_of('\\', i), text.size());
      const std::size_t count = end - i;
      const bool space_follows = end < text.size() && (text[end] == ' ' || text[end] == '\t');
      if (!space_follows) {
        word.append(count, '\\');
        i = end - 1;
      } else {
        word.append(count / 2, '\\');
        i = end - 1 - (count % 2);  // an odd one escapes the space
      }
    } else if (c == '$' && next == '$') {
      word += '$';
      ++i;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
    } else if (c == '\n') {
      end_word();
      words.emplace_back("\n");
    } else {
      word += c;
    }
  }
  end_word();
  return words;
}

}  // namespace

std::vector<std::string> parse_dependencies(std::string_view make) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  bool in_targets = true;
  for (std::string& word : make_words(make)) {
    if (word == "\n") {
      in_targets = true;
    } else if (in_targets) {
      in_targets = word.back() != ':';
    } else if (seen.insert(word).second) {
      out.push_back(std::move(word));
    }
  }
  return out;
}

SearchList parse_search_list(std::string_view verbose) {
  constexpr std::string_view kIgnoring = "ignoring nonexistent directory \"";
  SearchList list;
  std::vector<std::string>* into = nullptr;
  while (!verbose.empty()) {
    const std::size_t end = verbose.find('\n');
    std::string_view line = verbose.substr(0, end);
    verbose = end == std::string_view::npos ? std::string_view() : verbose.substr(end + 1);
    if (line.starts_with(kIgnoring) && line.ends_with('"')) {
      line.remove_prefix(kIgnoring.size());
      list.missing.emplace_back(line.substr(0, line.size() - 1));
    } else if (line.starts_with("#include \"...\"")) {
      into = &list.quoted;
    } else if (line.starts_with("#include <...>")) {
      into = &list.folders;
    } else if (line.starts_with("End of search list")) {
      into = nullptr;
    } else if (into != nullptr && line.starts_with(' ')) {
      into->emplace_back(line.substr(1));
    }
  }
  return list;
}

std::vector<std::string> has_include_names(std::string_view source) {
  constexpr std::string_view kWord = "__has_include";
  std::vector<std::string> names;
  for (std::size_t at = source.find(kWord); at != std::string_view::npos; at = source.find(kWord, at + 1)) {
    std::string_view rest = source.substr(at + kWord.size(), 300);
    if (rest.starts_with("_next")) rest.remove_prefix(5);
    const std::size_t open = rest.find_first_not_of(" \t(");
    if (open == std::string_view::npos || open == 0) continue;
    const char close = rest[open] == '<' ? '>' : rest[open] == '"' ? '"' : '\0';
    const std::size_t end = close != '\0' ? rest.find(close, open + 1) : std::string_view::npos;
    if (end == std::string_view::npos) continue;
    const std::string_view name = rest.substr(open + 1, end - open - 1);
    if (!name.empty() && name.find('\n') == std::string_view::npos) names.emplace_back(name);
  }
  return names;
}

}  // namespace tlcb
