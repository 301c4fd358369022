// SPDX-License-Identifier: MIT
// PTX is text: comments as in C, directives that begin with a dot. `.version` and `.target` come first.
#include "cuda/ptx.hpp"

#include <algorithm>

#include "cuda/binary_check.hpp"

namespace tlcb::cuda {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/// Words of a PTX text: comments and blanks part them, and so does each of ( , ; { } [ ].
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  /// The next word; empty at the end.
  std::string_view next() {
    skip();
    const std::size_t begin = at_;
    if (at_ < text_.size() && is_mark(text_[at_])) {
      ++at_;
    } else if (at_ < text_.size() && text_[at_] == '"') {
      at_ = std::min(text_.find('"', at_ + 1), text_.size() - 1) + 1;
    } else {
      while (at_ < text_.size() && !is_blank(text_[at_]) && !is_mark(text_[at_]) && text_[at_] != '"' &&
             !comment_starts()) {
        ++at_;
      }
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  static bool is_mark(char c) { return std::string_view("(),;{}[]").find(c) != std::string_view::npos; }
  [[nodiscard]] bool comment_starts() const {
    const std::string_view rest = text_.substr(at_, 2);
    return rest == "//" || rest == "/*";
  }

  void skip() {
    while (at_ < text_.size()) {
      if (is_blank(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

PtxFacts read_ptx(std::string_view text) {
  PtxFacts out;
  Words words(text);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == ".version" && out.version.empty()) out.version = words.next();
    if (word == ".target" && out.target.empty()) out.target = words.next();
    if (word == ".entry") out.entries.emplace_back(words.next());
  }
  return out;
}

Binary check_ptx(std::string_view bytes) {
  Binary out;
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  const std::string_view text = bytes.substr(0, end);
  const PtxFacts facts = read_ptx(text);
  if (facts.version.empty()) {
    out.problem = "it is no PTX: it has no .version";
    return out;
  }
  out.format = Format::ptx;
  Image image;
  image.format = Format::ptx;
  image.bytes = text;
  if (facts.target.empty()) {
    out.problem = "its PTX has no .target: it is cut or damaged";
  } else if (!parse_arch(facts.target, image.arch)) {
    out.problem = "its PTX is for '" + facts.target + "', which is no arch";
  } else if (end + 1 != bytes.size()) {
    out.problem = end == bytes.size() ? "its PTX does not end in a NUL: it is cut or damaged"
                                      : "its PTX has a NUL before its end: it is damaged";
  }
  image.arch.is_virtual = true;
  out.images.push_back(image);
  return out;
}

}  // namespace tlcb::cuda
