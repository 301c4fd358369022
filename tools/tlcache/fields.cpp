// SPDX-License-Identifier: MIT
// Fields and members as a person writes them on a command line.
#include "fields.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <set>
#include <utility>

#include "files.hpp"

namespace tlc::tool {
namespace {

constexpr std::string_view types = "text, int, f64, bool, file, null";

struct Parts {
  std::string name;
  std::string type;
  std::string value;
  bool has_value = false;
};

Parts split(const std::string& given) {
  Parts parts;
  const std::size_t equals = given.find('=');
  parts.has_value = equals != std::string::npos;
  parts.name = given.substr(0, equals);
  if (parts.has_value) parts.value = given.substr(equals + 1);
  const std::size_t colon = parts.name.rfind(':');
  if (colon != std::string::npos) {
    parts.type = parts.name.substr(colon + 1);
    parts.name.erase(colon);
  }
  return parts;
}

tlc_status add_int(tlc_request* request, const Parts& field, tlc_error* error) {
  const char* first = field.value.data();
  const char* last = first + field.value.size();
  std::int64_t small = 0;
  std::uint64_t large = 0;
  if (const auto [end, code] = std::from_chars(first, last, small);
      code == std::errc() && end == last && first != last) {
    return tlc_request_add_int(request, str(field.name), small, 0, error);
  }
  if (const auto [end, code] = std::from_chars(first, last, large);
      code == std::errc() && end == last && first != last) {
    return tlc_request_add_uint(request, str(field.name), large, 0, error);
  }
  fail(exit_usage, "field '{}': '{}' is no whole number from -2^63 to 2^64-1", field.name, field.value);
}

tlc_status add_f64(tlc_request* request, const Parts& field, tlc_error* error) {
  double value = 0;
  const char* last = field.value.data() + field.value.size();
  const auto [end, code] = std::from_chars(field.value.data(), last, value);
  if (code != std::errc() || end != last || field.value.empty()) {
    fail(exit_usage, "field '{}': '{}' is no number that fits a double", field.name, field.value);
  }
  return tlc_request_add_f64(request, str(field.name), value, 0, error);
}

tlc_status add_bool(tlc_request* request, const Parts& field, tlc_error* error) {
  const bool yes = field.value == "true" || field.value == "1";
  if (!yes && field.value != "false" && field.value != "0") {
    fail(exit_usage, "field '{}': '{}' is neither true nor false", field.name, field.value);
  }
  return tlc_request_add_bool(request, str(field.name), yes ? 1 : 0, 0, error);
}

tlc_status add_one(tlc_request* request, const Parts& field, const std::string& given, tlc_error* error) {
  if (field.type == "null") {
    if (field.has_value) fail(exit_usage, "field '{}': null takes no value", field.name);
    return tlc_request_add_null(request, str(field.name), 0, error);
  }
  if (!field.has_value) {
    fail(exit_usage, "field '{}' has no value: write NAME=TEXT, NAME:TYPE=VALUE or NAME:null", given);
  }
  if (field.type.empty() || field.type == "text") {
    return tlc_request_add_text(request, str(field.name), str(field.value), 0, error);
  }
  if (field.type == "int") return add_int(request, field, error);
  if (field.type == "f64") return add_f64(request, field, error);
  if (field.type == "bool") return add_bool(request, field, error);
  if (field.type == "file") {
    const std::string bytes = read_file(field.value);
    return tlc_request_add_bytes(request, str(field.name), bytes.data(), bytes.size(), 0, error);
  }
  fail(exit_usage, "field '{}': there is no type '{}' (types: {})", field.name, field.type, types);
}

std::uint32_t guess_type(const std::string& name) {
  using Pair = std::pair<std::string_view, std::uint32_t>;
  static constexpr std::array<Pair, 19> endings = {{
      {".so", TLC_MEMBER_SHARED_OBJECT},
      {".cubin", TLC_MEMBER_DEVICE_BINARY},
      {".hsaco", TLC_MEMBER_DEVICE_BINARY},
      {".fatbin", TLC_MEMBER_DEVICE_BINARY},
      {".clbin", TLC_MEMBER_DEVICE_BINARY},
      {".metallib", TLC_MEMBER_DEVICE_BINARY},
      {".ptx", TLC_MEMBER_DEVICE_IR},
      {".spv", TLC_MEMBER_DEVICE_IR},
      {".ll", TLC_MEMBER_DEVICE_IR},
      {".c", TLC_MEMBER_SOURCE},
      {".cpp", TLC_MEMBER_SOURCE},
      {".cc", TLC_MEMBER_SOURCE},
      {".cu", TLC_MEMBER_SOURCE},
      {".hip", TLC_MEMBER_SOURCE},
      {".cl", TLC_MEMBER_SOURCE},
      {".metal", TLC_MEMBER_SOURCE},
      {".py", TLC_MEMBER_SOURCE},
      {".json", TLC_MEMBER_JSON},
      {".o", TLC_MEMBER_OBJECT},
  }};
  for (const auto& [ending, type] : endings) {
    if (name.size() > ending.size() && std::string_view(name).ends_with(ending)) return type;
  }
  return TLC_MEMBER_OPAQUE;
}

/// The value of a type's short name; false if there is none.
bool named_type(std::string_view name, std::uint32_t& type) {
  using Pair = std::pair<std::string_view, std::uint32_t>;
  static constexpr std::array<Pair, 7> names = {{{"opaque", TLC_MEMBER_OPAQUE},
                                                 {"so", TLC_MEMBER_SHARED_OBJECT},
                                                 {"binary", TLC_MEMBER_DEVICE_BINARY},
                                                 {"ir", TLC_MEMBER_DEVICE_IR},
                                                 {"source", TLC_MEMBER_SOURCE},
                                                 {"json", TLC_MEMBER_JSON},
                                                 {"object", TLC_MEMBER_OBJECT}}};
  for (const auto& [known, value] : names) {
    if (known == name) {
      type = value;
      return true;
    }
  }
  return false;
}

}  // namespace

void add_fields(tlc_request* request, const std::vector<std::string>& fields) {
  std::set<std::string> seen;
  for (const std::string& given : fields) {
    const Parts field = split(given);
    if (field.name.empty()) fail(exit_usage, "field '{}' has no name", given);
    if (!seen.insert(field.name).second) {
      fail(exit_usage, "field '{}' is given twice", field.name);
    }
    Error error;
    check(add_one(request, field, given, &error), error, fmt::format("field '{}'", field.name));
  }
}

MemberFile parse_member(const std::string& given) {
  const std::size_t equals = given.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == given.size()) {
    fail(exit_usage, "'{}' is no member: write NAME=PATH, for example kernel.so=build/kernel.so", given);
  }
  MemberFile member{given.substr(0, equals), given.substr(equals + 1), TLC_MEMBER_OPAQUE};
  const std::size_t colon = member.name.rfind(':');
  if (colon != std::string::npos && named_type(member.name.substr(colon + 1), member.type)) {
    member.name.erase(colon);
  } else {
    member.type = guess_type(member.name);
  }
  return member;
}

}  // namespace tlc::tool
