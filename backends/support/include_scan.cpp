// SPDX-License-Identifier: MIT
// Two readings of one text, put together:
//
//  - as a preprocessor reads it: lines joined, comments and literals taken out
//  - line by line, whatever they are in: an #include that the first reading takes for a comment or text counts as well
//
// The second one may find too much. Names that macros compute are taken from the first reading only.
#include "support/include_scan.hpp"

#include <algorithm>
#include <cstddef>

namespace tlcb {
namespace {

bool is_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Takes the word at the front.
std::string_view take_word(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_word(text[end])) ++end;
  const std::string_view word = text.substr(0, end);
  text = trim(text.substr(end));
  return word;
}

/// Without `\` at the ends of lines; blanks after it count as the end.
std::string join_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      std::size_t end = i + 1;
      while (end < text.size() && is_blank(text[end])) ++end;
      if (end < text.size() && text[end] == '\n') {
        i = end;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

/// The directives of a text: what follows `#`, without comments.
class Directives {
 public:
  explicit Directives(std::string_view text) : text_(text) {}

  std::vector<std::string> run() {
    bool start_of_line = true;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        start_of_line = true;
        ++at_;
      } else if (is_blank(c)) {
        ++at_;
      } else if (comment()) {
        continue;
      } else if (start_of_line && hash()) {
        directive();
      } else {
        start_of_line = false;
        if (!raw_text() && !literal()) ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool next_is(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  bool comment() {
    if (next_is("//")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return true;
    }
    if (!next_is("/*")) return false;
    const std::size_t end = text_.find("*/", at_ + 2);
    at_ = end == std::string_view::npos ? text_.size() : end + 2;
    return true;
  }

  bool hash() {
    if (!next_is("#") && !next_is("%:")) return false;
    at_ += text_[at_] == '#' ? 1 : 2;
    return true;
  }

  /// "..." or '...' up to the end of the line at most. A quote after a digit separates digits.
  bool literal(std::string* keep = nullptr) {
    const char quote = text_[at_];
    if (quote != '"' && quote != '\'') return false;
    if (quote == '\'' && at_ > 0 && is_word(text_[at_ - 1])) return false;
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '\n') {
      const char c = text_[at_++];
      if (c == quote) break;
      if (c == '\\' && at_ < text_.size() && text_[at_] != '\n') ++at_;
    }
    if (keep != nullptr) keep->append(text_.substr(begin, at_ - begin));
    return true;
  }

  /// R"mark(...)mark", with a prefix that may stand before it.
  bool raw_text() {
    if (!next_is("R\"")) return false;
    std::size_t before = at_;
    while (before > 0 && is_word(text_[before - 1])) --before;
    const std::string_view prefix = text_.substr(before, at_ - before);
    if (!prefix.empty() && prefix != "u8" && prefix != "u" && prefix != "U" && prefix != "L") return false;
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos || open - at_ > 18) return false;
    const std::string close = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
    const std::size_t end = text_.find(close, open);
    if (end == std::string_view::npos) return false;
    at_ = end + close.size();
    return true;
  }

  /// A header's name stands as it is: // in it is no comment.
  bool header_name(std::string& line) {
    const std::string_view sofar = trim(line);
    if (!sofar.starts_with("include") && !sofar.starts_with("import") && !sofar.starts_with("embed")) return false;
    if (text_[at_] != '<') return false;
    const std::size_t end = text_.find_first_of(">\n", at_);
    if (end == std::string_view::npos || text_[end] == '\n') return false;
    line.append(text_.substr(at_, end + 1 - at_));
    at_ = end + 1;
    return true;
  }

  void directive() {
    std::string line;
    while (at_ < text_.size() && text_[at_] != '\n') {
      if (comment()) {
        line += ' ';
      } else if (!header_name(line) && !literal(&line)) {
        line += text_[at_++];
      }
    }
    out_.push_back(std::move(line));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> out_;
};

bool is_include(std::string_view word) {
  return word == "include" || word == "include_next" || word == "import" || word == "embed";
}

/// The header's name at the front; false if there is none.
bool front_header(std::string_view text, HeaderName& name) {
  if (text.empty() || (text[0] != '"' && text[0] != '<')) return false;
  const std::size_t end = text.find(text[0] == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos || end == 1) return false;
  name = {std::string(text.substr(1, end - 1)), text[0] == '"', false};
  return true;
}

/// Could this be a header's name, where `<` may as well compare numbers?
bool looks_like_header(std::string_view name) {
  return std::none_of(name.begin(), name.end(), [](char c) { return is_blank(c) || c == '(' || c == ')' || c == '&'; });
}

class Scanner {
 public:
  IncludeScan run(std::string_view text) {
    for (const std::string& line : Directives(join_lines(text)).run()) directive(line);
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      plain_line(trim(text.substr(0, end)));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return std::move(out_);
  }

 private:
  void directive(std::string_view line) {
    std::string_view rest = trim(line);
    const std::string_view word = take_word(rest);
    if (is_include(word)) return include(word, rest);
    if (word == "define") add_macro(rest);
    if (word == "if" || word == "elif") questions(rest);
    // In a macro's body too: what is asked is known there, unless it is the macro's own parameter.
    asked_by_name(rest, word == "if" || word == "elif");
  }

  void include(std::string_view word, std::string_view rest) {
    HeaderName name;
    if (front_header(rest, name)) {
      name.all = word == "include_next";
      out_.headers.insert(std::move(name));
      return;
    }
    const std::string whole(rest);
    const std::string_view macro = take_word(rest);
    if (!macro.empty() && rest.empty()) {
      out_.computed.emplace(macro);
    } else {
      out_.unreadable.insert("#" + std::string(word) + " " + whole);
    }
  }

  /// Every <name> and "name" in a condition: a macro may hide the question.
  void questions(std::string_view rest) {
    for (std::size_t i = 0; i < rest.size(); ++i) {
      HeaderName name;
      if (!front_header(rest.substr(i), name) || !looks_like_header(name.name)) continue;
      i += name.name.size() + 1;
      out_.headers.insert(std::move(name));
    }
  }

  void asked_by_name(std::string_view rest, bool condition) {
    for (const std::string_view question : {"__has_include", "__has_include_next", "__has_embed"}) {
      for (std::size_t at = rest.find(question); at != std::string_view::npos; at = rest.find(question, at + 1)) {
        std::string_view after = trim(rest.substr(at + question.size()));
        if (!after.starts_with('(')) continue;
        after = trim(after.substr(1));
        HeaderName name;
        if (front_header(after, name)) {
          name.all = question == "__has_include_next";
          out_.headers.insert(std::move(name));
          continue;
        }
        const std::string_view macro = take_word(after);
        if (condition && !macro.empty() && after.starts_with(')')) out_.computed.emplace(macro);
      }
    }
  }

  void add_macro(std::string_view rest) {
    std::size_t end = 0;
    while (end < rest.size() && is_word(rest[end])) ++end;
    MacroValues& values = out_.macros[std::string(rest.substr(0, end))];
    const std::string_view body = trim(rest.substr(end));
    HeaderName name;
    const bool takes_arguments = end < rest.size() && rest[end] == '(';
    if (!takes_arguments && read_header_name(body, name)) {
      values.headers.insert(std::move(name));
    } else if (!takes_arguments && !body.empty() && std::all_of(body.begin(), body.end(), is_word)) {
      values.macros.emplace(body);
    } else {
      values.other = true;
    }
  }

  void plain_line(std::string_view line) {
    if (!line.starts_with('#') && !line.starts_with("%:")) return;
    line = trim(line.substr(line[0] == '#' ? 1 : 2));
    const std::string_view word = take_word(line);
    HeaderName name;
    if (!is_include(word) || !front_header(line, name)) return;
    name.all = word == "include_next";
    out_.headers.insert(std::move(name));
  }

  IncludeScan out_;
};

}  // namespace

bool read_header_name(std::string_view text, HeaderName& name) {
  text = trim(text);
  return front_header(text, name) && name.name.size() + 2 == text.size();
}

void add_define(std::map<std::string, MacroValues>& macros, std::string_view define) {
  const std::size_t equals = define.find('=');
  std::string line = "#define " + std::string(define.substr(0, equals)) + " ";
  line += equals == std::string_view::npos ? "1" : define.substr(equals + 1);
  IncludeScan scan = scan_includes(line);
  for (auto& [name, values] : scan.macros) {
    macros[name].headers.merge(values.headers);
    macros[name].macros.merge(values.macros);
    macros[name].other = macros[name].other || values.other;
  }
}

IncludeScan scan_includes(std::string_view text) {
  return Scanner().run(text);
}

}  // namespace tlcb
