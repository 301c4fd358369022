// SPDX-License-Identifier: MIT
#include "metal/source.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "support/include_scan.hpp"

namespace tlcb::metal {
namespace {

bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_word(char c) {
  return is_word_start(c) || (c >= '0' && c <= '9');
}

/// Length of the UTF-8 character at the front; 0 for what is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool outside = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
  return overlong || outside ? 0 : length;
}

/// A text's words, marks and quoted texts, without comments and lines of the preprocessor.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : rest_(text) {}

  /// Empty at the end. A quoted text keeps its first quote.
  std::string_view next() {
    while (pass_over()) {
    }
    if (rest_.empty()) return {};
    std::size_t size = 1;
    if (is_word_start(rest_.front())) {
      while (size < rest_.size() && is_word(rest_[size])) ++size;
    } else if (rest_.front() == '"' || rest_.front() == '\'') {
      return quoted();
    }
    line_begins_ = false;
    return take(size);
  }

  /// Whether a comment had no end.
  [[nodiscard]] bool open_comment() const { return open_comment_; }

 private:
  std::string_view take(std::size_t size) {
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(out.size());
    return out;
  }

  bool pass_over() {
    if (rest_.empty()) return false;
    if (rest_.front() == '\n') line_begins_ = true;
    if (std::string_view(" \t\r\n\f\v").find(rest_.front()) != std::string_view::npos) {
      take(1);
      return true;
    }
    if (rest_.starts_with("//") || (line_begins_ && rest_.front() == '#')) {
      pass_line();
      return true;
    }
    if (!rest_.starts_with("/*")) return false;
    const std::size_t end = rest_.find("*/", 2);
    open_comment_ = end == std::string_view::npos;
    take(open_comment_ ? rest_.size() : end + 2);
    return true;
  }

  /// To the end of the line, and on where that is a backslash. A comment may begin in it and go on.
  void pass_line() {
    const bool comment = rest_.starts_with("//");
    while (!rest_.empty() && rest_.front() != '\n') {
      if (!comment && rest_.starts_with("/*")) return;
      if (!comment && rest_.starts_with("//")) return pass_line();
      take(rest_.starts_with("\\\n") ? 2 : rest_.starts_with("\\\r\n") ? 3 : 1);
    }
  }

  std::string_view quoted() {
    std::size_t size = 1;
    while (size < rest_.size() && rest_[size] != rest_.front() && rest_[size] != '\n') {
      size += rest_[size] == '\\' && size + 1 < rest_.size() ? 2 : 1;
    }
    const std::string_view out = take(size);
    if (!rest_.empty() && rest_.front() == out.front()) take(1);
    line_begins_ = false;
    return out;
  }

  std::string_view rest_;
  bool line_begins_ = true;
  bool open_comment_ = false;
};

/// What marks a function, and of which kind it is then.
std::string_view kind_of(std::string_view word, bool in_attribute) {
  constexpr std::array<std::string_view, 3> kKinds = {"kernel", "vertex", "fragment"};
  if (std::find(kKinds.begin(), kKinds.end(), word) != kKinds.end()) return word;
  if (!in_attribute) return {};
  if (word == "visible" || word == "stitchable") return "visible";
  return word == "intersection" ? word : std::string_view();
}

/// One function's head at a time: what is marked up to its parameters.
class Heads {
 public:
  explicit Heads(std::string_view text) : tokens_(text) {}

  std::vector<Function> run() {
    for (std::string_view token = tokens_.next(); !token.empty(); token = tokens_.next()) one(token);
    return std::move(out_);
  }

 private:
  void one(std::string_view token) {
    const bool opens = token == "[" && before_ == "[";
    const bool closes = token == "]" && before_ == "]";
    before_ = opens || closes ? std::string_view() : token;
    if (opens) ++attributes_;
    if (closes && attributes_ > 0) --attributes_;
    if (attributes_ > 0) return in_attribute(token);
    if (token == ";" || token == "{" || token == "}") return forget();
    if (!kind_.empty() && (token == "(" || token == "<") && !word_.empty()) {
      add();
      return forget();
    }
    const std::string_view kind = kind_of(token, false);
    if (!kind.empty()) kind_ = kind;
    if (kind.empty() && is_word_start(token.front())) word_ = token;
  }

  void in_attribute(std::string_view token) {
    if (token.front() == '"' && wants_name_) name_ = token.substr(1);
    wants_name_ = token == "host_name" || (wants_name_ && token == "(");
    if (const std::string_view kind = kind_of(token, true); !kind.empty()) kind_ = kind;
  }

  void add() {
    Function found;
    found.name = name_.empty() ? word_ : name_;
    found.kind = kind_;
    const auto same = [&](const Function& other) { return other.name == found.name; };
    if (std::none_of(out_.begin(), out_.end(), same)) out_.push_back(std::move(found));
  }

  void forget() {
    kind_ = word_ = name_ = {};
    wants_name_ = false;
  }

  Tokens tokens_;
  std::vector<Function> out_;
  std::string_view before_;
  std::string_view kind_;
  std::string_view word_;
  std::string_view name_;
  bool wants_name_ = false;
  int attributes_ = 0;
};

/// Headers that a compiler of Metal has without any file of ours.
bool is_metals(const HeaderName& header) {
  return !header.quoted &&
         (header.name.starts_with("metal_") || header.name.starts_with("metal/") || header.name.starts_with("simd/") ||
          header.name.starts_with("MetalPerformancePrimitives/") || header.name == "TargetConditionals.h");
}

}  // namespace

std::string source_problem(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return "it is empty";
  if (is_metallib(text)) return "it is a metallib, not a text";
  if (text.find('\0') != std::string_view::npos) return "it has a NUL: it is no text";
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    if (length == 0) return "it is not UTF-8 from byte " + std::to_string(text.size() - rest.size()) + " on";
    rest.remove_prefix(length);
  }
  Tokens tokens(text);
  while (!tokens.next().empty()) {
  }
  return tokens.open_comment() ? "a comment in it has no end" : "";
}

std::vector<Function> functions_of(std::string_view text) {
  return Heads(text).run();
}

std::string foreign_include(std::string_view text) {
  const IncludeScan scan = scan_includes(text);
  for (const HeaderName& header : scan.headers) {
    if (!is_metals(header)) return header.quoted ? "\"" + header.name + "\"" : "<" + header.name + ">";
  }
  return scan.computed.empty() ? scan.unreadable.empty() ? "" : *scan.unreadable.begin() : *scan.computed.begin();
}

}  // namespace tlcb::metal
