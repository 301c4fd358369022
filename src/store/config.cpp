// SPDX-License-Identifier: MIT
#include "store/config.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "port/file.hpp"
#include "store/format.hpp"

namespace tlc::store {
namespace {

constexpr const char* kFileName = "config";
constexpr std::string_view kFirstLine = "tlcache-store 1\n";
constexpr std::size_t kMaxFile = std::size_t{1} << 20;

std::string check_line(std::string_view body) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const std::uint64_t sum = trust::xxh3_64(body.data(), body.size());
  std::string hex(16, '0');
  for (int i = 0; i < 16; ++i) hex[i] = kDigits[(sum >> (60 - 4 * i)) & 15];
  return "check " + hex + "\n";
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool read_line(Config& config, std::string_view word, std::string_view rest) {
  if (word == "id") {
    const auto digest = trust::digest_from_hex(rest);
    if (digest) std::copy(digest->bytes.begin(), digest->bytes.end(), config.id.bytes.begin());
    return digest.has_value();
  }
  if (word == "clear") {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return false;
    const auto sequence = number(rest.substr(0, space));
    if (sequence) config.clears[std::string(rest.substr(space + 1))] = *sequence;
    return sequence.has_value();
  }
  const auto value = number(rest);
  if (!value) return false;
  if (word == "limit")
    config.limit = *value;
  else if (word == "segment")
    config.segment_size = *value;
  else
    return false;
  return true;
}

}  // namespace

std::string Config::encode() const {
  trust::Digest hex;
  std::copy(id.bytes.begin(), id.bytes.end(), hex.bytes.begin());
  std::string text(kFirstLine);
  text += "id " + trust::to_hex(hex) + "\n";
  text += "limit " + std::to_string(limit) + "\n";
  text += "segment " + std::to_string(segment_size) + "\n";
  for (const auto& [name, sequence] : clears) text += "clear " + std::to_string(sequence) + " " + name + "\n";
  return text + check_line(text);
}

std::optional<Config> Config::decode(const std::string& text) {
  const std::size_t check = text.rfind("check ");
  if (!text.starts_with(kFirstLine) || check == std::string::npos) return std::nullopt;
  const std::string_view body = std::string_view(text).substr(0, check);
  if (text.substr(check) != check_line(body)) return std::nullopt;
  Config config;
  for (std::size_t at = kFirstLine.size(); at < body.size();) {
    const std::size_t end = body.find('\n', at);
    const std::string_view line = body.substr(at, end - at);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || !read_line(config, line.substr(0, space), line.substr(space + 1)))
      return std::nullopt;
    at = end + 1;
  }
  if (config.limit < kMinLimit || config.segment_size < kMinSegment || config.segment_size > kMaxSegment)
    return std::nullopt;
  return config;
}

Result<std::optional<Config>> read_config(int format_dir) {
  Result<std::string> text = port::read_file_at(format_dir, kFileName, kMaxFile);
  if (text) return Config::decode(*text);
  if (text.error().sys_errno == ENOENT || text.error().status == TLC_TOO_LARGE) return std::optional<Config>{};
  return std::move(text).error();
}

Result<void> write_config(int format_dir, const Config& config, bool durable) {
  return port::write_file_atomic_at(format_dir, kFileName, config.encode(), 0600, durable);
}

}  // namespace tlc::store
