// SPDX-License-Identifier: MIT
#include "tier/url.hpp"

#include <charconv>
#include <optional>
#include <utility>

#include "trust/hash.hpp"

namespace tlc::tier {
namespace {

constexpr std::int64_t kMostTimeoutMs = 60'000;
constexpr std::string_view kSpaces = " \t\r\n\f\v";

Error bad(std::string_view origin, std::string_view url, std::string_view why) {
  return make_error(TLC_E_INVALID,
                    "the remotes of the " + std::string(origin) + ": " + std::string(url) + ": " + std::string(why));
}

std::optional<bool> yes_or_no(std::string_view value) {
  if (value == "yes" || value == "1") return true;
  if (value == "no" || value == "0") return false;
  return std::nullopt;
}

/// True if the parameter is one of ours; an Error if it is and its value is none.
Result<bool> read_own(RemoteUrl& into, std::string_view name, std::string_view value) {
  if (name == "timeout_ms") {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), into.timeout_ms);
    if (error != std::errc{} || end != value.data() + value.size() || into.timeout_ms < 1 ||
        into.timeout_ms > kMostTimeoutMs)
      return make_error(TLC_E_INVALID, "timeout_ms is a number from 1 to 60000");
    return true;
  }
  if (name != "names" && name != "readonly") return false;
  const auto flag = yes_or_no(value);
  if (!flag) return make_error(TLC_E_INVALID, std::string(name) + " is yes or no");
  (name == "names" ? into.names : into.read_only) = *flag;
  return true;
}

Result<RemoteUrl> parse_one(std::string_view text, std::string_view origin) {
  RemoteUrl made;
  made.origin = origin;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return bad(origin, text, "a remote is written scheme:address");
  made.scheme = text.substr(0, colon);
  const std::size_t question = text.find('?');
  made.url = text.substr(0, question);
  if (question == std::string_view::npos) return made;
  char between = '?';
  for (std::string_view rest = text.substr(question + 1); !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t equals = one.find('=');
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : one.substr(equals + 1);
    const Result<bool> own = read_own(made, one.substr(0, equals), value);
    if (!own) return bad(origin, text, own.error().message);
    if (*own || one.empty()) continue;
    made.url += between + std::string(one);
    between = '&';
  }
  return made;
}

}  // namespace

std::string RemoteUrl::shown() const {
  const std::size_t slashes = url.find("//");
  if (slashes == std::string::npos) return url;
  const std::size_t end = std::min(url.find('/', slashes + 2), url.size());
  const std::size_t at = url.rfind('@', end);
  if (at == std::string::npos || at < slashes) return url;
  return url.substr(0, slashes + 2) + "..." + url.substr(at);
}

std::string RemoteUrl::id() const {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::uint64_t hash = trust::xxh3_64(url.data(), url.size());
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, hash >>= 4) *digit = kHex[hash & 15];
  return text;
}

Result<std::vector<RemoteUrl>> parse_remotes(std::string_view text, std::string_view origin, bool& none) {
  std::vector<RemoteUrl> remotes;
  none = false;
  while (true) {
    const std::size_t start = text.find_first_not_of(kSpaces);
    if (start == std::string_view::npos) return remotes;
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, text.find_first_of(kSpaces));
    text.remove_prefix(word.size());
    if (word == "none") {
      none = true;
      continue;
    }
    Result<RemoteUrl> one = parse_one(word, origin);
    if (!one) return std::move(one).error();
    remotes.push_back(std::move(*one));
  }
}

std::string escape_path(std::string_view path) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte != '%' && byte != '?' && byte != 127) {
      text += c;
      continue;
    }
    text += '%';
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

}  // namespace tlc::tier
