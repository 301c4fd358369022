// SPDX-License-Identifier: MIT
#include "support/json_parse.hpp"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace tlcb {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<Json> document() {
    Json out;
    space();
    if (peek() != '{' || !value(out, 0)) return std::nullopt;
    space();
    if (at_ != text_.size()) return std::nullopt;
    return out;
  }

 private:
  static constexpr int kMaxDepth = 4;

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++at_;
  }
  bool take(char wanted) {
    space();
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  bool value(Json& out, int depth) {
    space();
    if (peek() == '"') {
      out.type = Json::Type::text;
      return string(out.text);
    }
    if (peek() == '{') return depth < kMaxDepth && object(out, depth);
    out.type = Json::Type::number;
    const char* const begin = text_.data() + at_;
    const auto [end, problem] = std::from_chars(begin, text_.data() + text_.size(), out.number);
    at_ += static_cast<std::size_t>(end - begin);
    return problem == std::errc() && peek() != '.' && peek() != 'e' && peek() != 'E';
  }

  bool object(Json& out, int depth) {
    out.type = Json::Type::object;
    ++at_;
    if (take('}')) return true;
    do {
      auto& [name, entry] = out.entries.emplace_back();
      space();
      if (!string(name) || !take(':') || !value(entry, depth + 1)) return false;
    } while (take(','));
    return take('}');
  }

  bool string(std::string& out) {
    if (peek() != '"') return false;
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        out += c;
      } else if (!escape(out)) {
        return false;
      }
    }
    return false;
  }

  bool escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
    ++at_;
    if (const std::size_t which = kLetters.find(peek()); at_ < text_.size() && which != std::string_view::npos) {
      out += kMeaning[which];
      return true;
    }
    if (peek() != 'u' || text_.size() - at_ < 5) return false;
    std::uint32_t code = 0;
    const char* const digits = text_.data() + at_ + 1;
    if (std::from_chars(digits, digits + 4, code, 16).ptr != digits + 4) return false;
    if (code >= 0xd800 && code < 0xe000) return false;  // json_text makes no pairs of surrogates
    append_utf8(out, code);
    at_ += 4;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Json> parse_json_object(std::string_view text) {
  return Parser(text).document();
}

}  // namespace tlcb
