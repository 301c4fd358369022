// SPDX-License-Identifier: MIT
// Reading a request's fields through the host's table.
#include "cpu/request.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "cpu/failure.hpp"

namespace tlcb::cpu {
namespace {

[[noreturn]] void wrong(const std::string& field, const std::string& rule) {
  throw Failure(TLC_E_INVALID, "field '" + field + "' " + rule);
}

class Reader {
 public:
  Reader(Host host, const tlc_request* request) : host_(host), request_(request) {}

  std::optional<std::string> text(const char* name) {
    const tlc_value* value = find(name);
    if (value == nullptr) return std::nullopt;
    return text_of(value, name);
  }

  std::vector<std::string> texts(const char* name) {
    std::vector<std::string> out;
    const tlc_value* value = find(name);
    if (value == nullptr) return out;
    if (host_->value_type(value) != TLC_TYPE_LIST) wrong(name, "must be a list of text");
    for (std::size_t i = 0; i < host_->value_count(value); ++i) {
      out.push_back(text_of(host_->value_at(value, i, nullptr), name));
    }
    return out;
  }

  std::vector<std::string> defines(const char* name) {
    std::vector<std::string> out;
    const tlc_value* value = find(name);
    if (value == nullptr) return out;
    if (host_->value_type(value) != TLC_TYPE_MAP) wrong(name, "must be a map of names to values");
    for (std::size_t i = 0; i < host_->value_count(value); ++i) {
      tlc_str key{};
      const tlc_value* entry = host_->value_at(value, i, &key);
      out.push_back(define(std::string(view(key)), entry));
    }
    std::sort(out.begin(), out.end());  // the order of a map means nothing
    return out;
  }

 private:
  const tlc_value* find(const char* name) {
    const tlc_value* value = host_->request_find(request_, text_view(name));
    return value != nullptr && host_->value_type(value) != TLC_TYPE_NULL ? value : nullptr;
  }

  static tlc_str text_view(const char* name) { return tlcb::text(name); }

  std::string text_of(const tlc_value* value, const char* name) {
    if (host_->value_type(value) != TLC_TYPE_TEXT) wrong(name, "must be text");
    std::string text(view(host_->value_text(value)));
    if (text.find('\0') != std::string::npos) wrong(name, "must not contain a NUL");
    return text;
  }

  std::string define(std::string name, const tlc_value* value) {
    const auto part_of_name = [](unsigned char c) {
      return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    if (name.empty() || (name[0] >= '0' && name[0] <= '9') || !std::all_of(name.begin(), name.end(), part_of_name)) {
      wrong("defines", "has an entry '" + name + "', which is no name of a macro");
    }
    switch (host_->value_type(value)) {
      case TLC_TYPE_NULL:
        return name;
      case TLC_TYPE_TEXT:
        return name + "=" + text_of(value, "defines");
      case TLC_TYPE_BOOL:
      case TLC_TYPE_INT: {
        std::int64_t number = 0;
        if (host_->value_int(value, &number) == TLC_OK) return name + "=" + std::to_string(number);
        break;
      }
      default:
        break;
    }
    wrong("defines", "has an entry '" + name + "' that is neither text, int, bool nor null");
  }

  Host host_;
  const tlc_request* request_;
};

Language language_of(const std::string& text) {
  if (text == "c") return Language::c;
  if (text == "c++") return Language::cxx;
  wrong("language", "is '" + text + "'; it must be \"c\" or \"c++\"");
}

}  // namespace

Request read_request(Host host, const tlc_request* request) {
  Reader reader(host, request);
  Request out;
  auto source = reader.text("source");
  if (!source) wrong("source", "is missing; it holds the text to compile");
  out.source = *std::move(source);
  out.language = language_of(reader.text("language").value_or("c"));
  out.compiler = reader.text("compiler").value_or("");
  out.options = reader.texts("options");
  out.includes = reader.texts("include_dirs");
  for (const std::string& folder : out.includes) {
    if (folder.empty() || folder.front() != '/') {
      wrong("include_dirs", "has '" + folder + "', which is no absolute path");
    }
  }
  out.defines = reader.defines("defines");
  return out;
}

}  // namespace tlcb::cpu
