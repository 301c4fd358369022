// SPDX-License-Identifier: MIT
#include "support/request_fields.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "support/failure.hpp"

namespace tlcb {

void wrong_field(const std::string& field, const std::string& rule) {
  throw Failure(TLC_E_INVALID, "field '" + field + "' " + rule);
}

std::optional<std::string> RequestFields::text(const char* name) const {
  const tlc_value* value = find(name);
  if (value == nullptr) return std::nullopt;
  return text_of(value, name);
}

std::vector<std::string> RequestFields::texts(const char* name) const {
  std::vector<std::string> out;
  const tlc_value* value = find(name);
  if (value == nullptr) return out;
  if (host_->value_type(value) != TLC_TYPE_LIST) wrong_field(name, "must be a list of text");
  for (std::size_t i = 0; i < host_->value_count(value); ++i) {
    out.push_back(text_of(host_->value_at(value, i, nullptr), name));
  }
  return out;
}

std::vector<std::string> RequestFields::folders(const char* name) const {
  std::vector<std::string> out = texts(name);
  for (const std::string& folder : out) {
    if (folder.empty() || folder.front() != '/') {
      wrong_field(name, "has '" + folder + "', which is no absolute path");
    }
  }
  return out;
}

std::vector<std::string> RequestFields::defines(const char* name) const {
  std::vector<std::string> out;
  for (const auto& [macro, value] : map(name, "must be a map of names to values")) {
    out.push_back(define(name, macro, value));
  }
  std::sort(out.begin(), out.end());
  return out;
}

RequestFields::Entries RequestFields::map(const char* name, const char* rule) const {
  const tlc_value* value = find(name);
  return value == nullptr ? Entries() : entries(value, name, rule);
}

std::vector<std::pair<std::string, std::string>> RequestFields::headers(const char* name) const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [key, value] : map(name, "must be a map of names to texts")) {
    if (key.empty()) wrong_field(name, "has an entry without a name");
    out.emplace_back(key, text_of(value, name));
  }
  return out;
}

std::vector<std::string> RequestFields::words(const char* name) const {
  std::vector<std::string> out = texts(name);
  for (const std::string& word : out) {
    if (word.empty()) wrong_field(name, "has an empty entry");
  }
  return out;
}

RequestFields::Entries RequestFields::entries(const tlc_value* value, const char* name, const char* rule) const {
  if (host_->value_type(value) != TLC_TYPE_MAP) wrong_field(name, rule);
  Entries out;
  for (std::size_t i = 0; i < host_->value_count(value); ++i) {
    tlc_str key{};
    const tlc_value* entry = host_->value_at(value, i, &key);
    if (view(key).find('\0') != std::string_view::npos) wrong_field(name, "has a name with a NUL");
    out.emplace_back(view(key), entry);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string RequestFields::text_of(const tlc_value* value, const char* name) const {
  if (host_->value_type(value) != TLC_TYPE_TEXT) wrong_field(name, "must be text");
  std::string text(view(host_->value_text(value)));
  if (text.find('\0') != std::string::npos) wrong_field(name, "must not contain a NUL");
  return text;
}

const tlc_value* RequestFields::find(const char* name) const {
  const tlc_value* value = host_->request_find(request_, tlcb::text(name));
  return value != nullptr && host_->value_type(value) != TLC_TYPE_NULL ? value : nullptr;
}

std::string RequestFields::define(const char* field, const std::string& name, const tlc_value* value) const {
  const auto part_of_name = [](unsigned char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (name.empty() || (name[0] >= '0' && name[0] <= '9') || !std::all_of(name.begin(), name.end(), part_of_name)) {
    wrong_field(field, "has an entry '" + name + "', which is no name of a macro");
  }
  std::int64_t number = 0;
  switch (host_->value_type(value)) {
    case TLC_TYPE_NULL:
      return name;
    case TLC_TYPE_TEXT:
      return name + "=" + text_of(value, field);
    case TLC_TYPE_BOOL:
    case TLC_TYPE_INT:
      if (host_->value_int(value, &number) == TLC_OK) return name + "=" + std::to_string(number);
      break;
    default:
      break;
  }
  wrong_field(field, "has an entry '" + name + "' that is neither text, int, bool nor null");
}

}  // namespace tlcb
