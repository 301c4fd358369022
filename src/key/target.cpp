// SPDX-License-Identifier: MIT
#include "key/target.hpp"

#include <algorithm>
#include <utility>

#include "key/char_set.hpp"

namespace tlc::key {

namespace {

constexpr char kHex[] = "0123456789ABCDEF";

constexpr CharSet kPlain("abcdefghijklmnopqrstuvwxyz0123456789_.+-");

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_encoded(std::string& out, unsigned char c) {
  if (kPlain.has(static_cast<char>(c))) {
    out.push_back(static_cast<char>(c));
  } else {
    out.push_back('%');
    out.push_back(kHex[c >> 4U]);
    out.push_back(kHex[c & 15U]);
  }
}

bool is_unresolved(std::string_view word) {
  return word == "auto" || word == "native";
}

// One pass over the text; the position is the byte that an error names.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<TargetPart>> parts() {
    std::vector<TargetPart> out;
    do {
      if (out.size() == kMaxTargetWords) return error("has over 64 parts");
      out.emplace_back();
      if (auto r = part(out.back()); !r) return r.error();
    } while (take(','));
    return out;
  }

 private:
  [[nodiscard]] Error error(const std::string& what) const {
    return make_error(TLC_E_INVALID, "the target " + what + " at byte " + std::to_string(at_) +
                                         "; a target is kind[:arch[:feature...]], several separated by commas");
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Result<void> part(TargetPart& out) {
    if (auto r = word(out.kind, "kind"); !r) return r;
    if (!take(':')) return {};
    if (auto r = word(out.arch, "arch"); !r) return r;
    while (take(':')) {
      if (out.features.size() == kMaxTargetWords) return error("has over 64 features in one part");
      out.features.emplace_back();
      if (auto r = word(out.features.back(), "feature"); !r) return r;
    }
    std::sort(out.features.begin(), out.features.end());
    const auto twice = std::adjacent_find(out.features.begin(), out.features.end());
    if (twice != out.features.end()) return error("has the feature " + *twice + " twice, ending");
    return {};
  }

  Result<void> word(std::string& out, std::string_view what) {
    while (at_ < text_.size() && text_[at_] != ':' && text_[at_] != ',') {
      if (auto r = character(out); !r) return r;
    }
    if (out.empty()) return error("has an empty " + std::string(what));
    return {};
  }

  Result<void> character(std::string& out) {
    const char c = text_[at_];
    if (c == '%') {
      const int high = hex_at(at_ + 1);
      const int low = hex_at(at_ + 2);
      if (high < 0 || low < 0) return error("has a % without two hexadecimal digits");
      if (high == 0 && low == 0) return error("has a zero byte");
      append_encoded(out, static_cast<unsigned char>(high * 16 + low));
      at_ += 3;
      return {};
    }
    if (!kPlain.has(c)) {
      std::string spelled;
      append_encoded(spelled, static_cast<unsigned char>(c));
      return error("has a character outside [a-z0-9_.+-] (write it as " + spelled + ")");
    }
    out.push_back(c);
    ++at_;
    return {};
  }

  [[nodiscard]] int hex_at(std::size_t at) const { return at < text_.size() ? hex_value(text_[at]) : -1; }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool part_resolved(const TargetPart& part) {
  return !is_unresolved(part.kind) && !is_unresolved(part.arch) &&
         std::none_of(part.features.begin(), part.features.end(), is_unresolved);
}

}  // namespace

std::string TargetPart::text() const {
  std::string out = kind;
  if (!arch.empty()) out += ":" + arch;
  for (const auto& feature : features) out += ":" + feature;
  return out;
}

Result<Target> Target::parse(std::string_view text) {
  if (text.empty()) {
    return make_error(TLC_E_INVALID, "the target is empty; give kind[:arch[:feature...]]");
  }
  if (text.size() > kMaxTarget) {
    return make_error(TLC_E_INVALID, "the target has over " + std::to_string(kMaxTarget) + " bytes; shorten it");
  }
  auto parts = Parser(text).parts();
  if (!parts) return parts.error();
  std::vector<std::pair<std::string, TargetPart>> sorted;
  sorted.reserve(parts->size());
  for (auto& part : *parts) {
    std::string spelled = part.text();
    sorted.emplace_back(std::move(spelled), std::move(part));
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Target target;
  target.parts_.reserve(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i].first == sorted[i - 1].first) {
      return make_error(TLC_E_INVALID, "the target lists \"" + sorted[i].first + "\" twice; give each once");
    }
    if (i > 0) target.canonical_ += ',';
    target.canonical_ += sorted[i].first;
    target.resolved_ = target.resolved_ && part_resolved(sorted[i].second);
    target.parts_.push_back(std::move(sorted[i].second));
  }
  if (target.canonical_.size() > kMaxTarget) {
    return make_error(TLC_E_INVALID, "the target has over " + std::to_string(kMaxTarget) + " bytes; shorten it");
  }
  return target;
}

bool Target::is_plain(std::string_view text) {
  if (text.size() > kMaxTarget) return false;
  std::size_t words = 0;
  for (;; ++words) {
    const std::size_t end = kPlain.first_other(text);
    if (words == 3 || end == 0 || is_unresolved(text.substr(0, end))) return false;
    if (end == text.size()) return true;
    if (text[end] != ':') return false;
    text.remove_prefix(end + 1);
  }
}

bool Target::one_kind() const {
  return std::all_of(parts_.begin(), parts_.end(), [this](const TargetPart& part) { return part.kind == kind(); });
}

std::string target_encode(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (const char c : raw) append_encoded(out, static_cast<unsigned char>(c));
  return out;
}

std::string target_decode(std::string_view word) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '%' && i + 2 < word.size() && hex_value(word[i + 1]) >= 0 && hex_value(word[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_value(word[i + 1]) * 16 + hex_value(word[i + 2])));
      i += 2;
    } else {
      out.push_back(word[i]);
    }
  }
  return out;
}

}  // namespace tlc::key
