// SPDX-License-Identifier: MIT
// Contents that say by themselves whether they are right.
//
// A member of `name`, version v, is "<name>|<member>|<v>|<size>|" and then bytes that these four and the place
// determine.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace agent {

constexpr std::size_t kLeastSize = 128;
constexpr std::size_t kSecondSize = 200;  // of member b, which is there beside a

inline std::string make_content(std::string_view name, char member, std::uint64_t version, std::size_t size) {
  std::string text(name);
  text += '|';
  text += member;
  text += '|' + std::to_string(version) + '|' + std::to_string(size) + '|';
  std::uint64_t state = 0xcbf29ce484222325U;
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  text.reserve(size + 8);
  while (text.size() < size) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    char bytes[sizeof state];
    std::memcpy(bytes, &state, sizeof state);
    text.append(bytes, sizeof bytes);
  }
  text.resize(size);
  return text;
}

/// The version the content says it has; -1 if a byte of it is not what was put under this name.
inline long long version_of(std::string_view name, char member, const void* data, std::size_t size) {
  const std::string_view content(static_cast<const char*>(data), size);
  const std::string start = std::string(name) + '|' + member + '|';
  if (!content.starts_with(start)) return -1;
  const std::string_view rest = content.substr(start.size());
  const std::size_t bar = rest.find('|');
  if (bar == 0 || bar > 18) return -1;
  std::uint64_t version = 0;
  for (const char c : rest.substr(0, bar)) {
    if (c < '0' || c > '9') return -1;
    version = version * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return make_content(name, member, version, size) == content ? static_cast<long long>(version) : -1;
}

}  // namespace agent
