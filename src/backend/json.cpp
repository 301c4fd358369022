// SPDX-License-Identifier: MIT
// Quoting JSON text, and recognising a JSON object.
#include "backend/json.hpp"

#include <cstddef>

#include "key/value.hpp"

namespace tlc::backend {
namespace {

constexpr int kMaxDepth = 64;

/// Length of the UTF-8 character that begins here; 0 if none does.
std::size_t utf8_length(std::string_view text) {
  for (std::size_t len = 1; len <= 4 && len <= text.size(); ++len) {
    if (key::is_utf8(text.substr(0, len))) return len;
  }
  return 0;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Reads one value after the other from the front of a text; each function says whether what it
/// expects was there.
class Checker {
 public:
  explicit Checker(std::string_view text) : rest_(text) {}

  bool whole_object() {
    space();
    return peek() == '{' && value(0) && (space(), rest_.empty());
  }

 private:
  [[nodiscard]] char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  bool eat(char c) {
    if (peek() != c || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool eat(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void space() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') eat(peek());
  }
  bool digits() {
    if (!is_digit(peek())) return false;
    while (is_digit(peek())) eat(peek());
    return true;
  }

  bool number() {
    eat('-');
    if (!eat('0') && !digits()) return false;
    if (eat('.') && !digits()) return false;
    if (!eat('e') && !eat('E')) return true;
    if (!eat('+')) eat('-');
    return digits();
  }

  bool text() {
    if (!eat('"')) return false;
    while (!rest_.empty() && !eat('"')) {
      if (eat('\\')) {
        if (!escape()) return false;
        if (rest_.empty()) return false;
        continue;
      }
      const std::size_t len = utf8_length(rest_);
      if (len == 0 || static_cast<unsigned char>(rest_.front()) < 0x20) return false;
      rest_.remove_prefix(len);
      if (rest_.empty()) return false;
    }
    return true;
  }

  bool escape() {
    if (!eat('u')) {
      if (rest_.empty() || std::string_view("\"\\/bfnrt").find(rest_.front()) == std::string_view::npos) {
        return false;
      }
      rest_.remove_prefix(1);
      return true;
    }
    for (int i = 0; i < 4; ++i) {
      if (!is_hex(peek())) return false;
      rest_.remove_prefix(1);
    }
    return true;
  }

  /// What stands between `{` and `}` or `[` and `]`.
  bool elements(char end, bool named, int depth) {
    space();
    if (eat(end)) return true;
    do {
      space();
      if (named && !(text() && (space(), eat(':')))) return false;
      if (!value(depth + 1)) return false;
      space();
    } while (eat(','));
    return eat(end);
  }

  bool value(int depth) {  // NOLINT(misc-no-recursion): bounded by kMaxDepth
    if (depth > kMaxDepth) return false;
    space();
    if (eat('{')) return elements('}', true, depth);
    if (eat('[')) return elements(']', false, depth);
    if (peek() == '"') return text();
    return eat("true") || eat("false") || eat("null") || number();
  }

  std::string_view rest_;
};

}  // namespace

std::string json_quoted(std::string_view text) {
  constexpr const char* kHex = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t len = utf8_length(text);
    if (len == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
      continue;
    }
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += {kHex[c >> 4], kHex[c & 15]};
    } else {
      out += text.substr(0, len);
    }
    text.remove_prefix(len);
  }
  return out + '"';
}

bool is_json_object(std::string_view text) {
  return Checker(text).whole_object();
}

}  // namespace tlc::backend
