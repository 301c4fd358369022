// SPDX-License-Identifier: MIT
// Reading a request's fields through the host's table.
#include "cuda/request.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "support/failure.hpp"

namespace tlcb::cuda {
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
    for (const auto& [key, value] : map(name, "must be a map of names to values")) out.push_back(define(key, value));
    return out;
  }

  std::vector<std::pair<std::string, std::string>> headers(const char* name) {
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& [key, value] : map(name, "must be a map of names to texts")) {
      if (key.empty()) wrong(name, "has an entry without a name");
      out.emplace_back(key, text_of(value, name));
    }
    return out;
  }

  Launch launch(const char* name) {
    constexpr const char* kRule = "must be a map of kernels to maps of attributes";
    Launch out;
    for (const auto& [kernel, attributes] : map(name, kRule)) {
      auto& into = out[kernel];
      for (const auto& [attribute, value] : entries(attributes, name, kRule)) {
        into[attribute] = attribute_value(name, attribute, value);
      }
    }
    return out;
  }

 private:
  using Entries = std::vector<std::pair<std::string, const tlc_value*>>;

  const tlc_value* find(const char* name) {
    const tlc_value* value = host_->request_find(request_, tlcb::text(name));
    return value != nullptr && host_->value_type(value) != TLC_TYPE_NULL ? value : nullptr;
  }

  std::string text_of(const tlc_value* value, const char* name) {
    if (host_->value_type(value) != TLC_TYPE_TEXT) wrong(name, "must be text");
    std::string text(view(host_->value_text(value)));
    if (text.find('\0') != std::string::npos) wrong(name, "must not contain a NUL");
    return text;
  }

  Entries map(const char* name, const char* rule) {
    const tlc_value* value = find(name);
    return value == nullptr ? Entries() : entries(value, name, rule);
  }

  std::int32_t attribute_value(const char* field, const std::string& attribute, const tlc_value* value) {
    if (!function_attribute(attribute)) {
      wrong(field, "has '" + attribute + "', which is no attribute; known: " + function_attribute_names());
    }
    std::int64_t number = 0;
    if (host_->value_int(value, &number) != TLC_OK || number != static_cast<std::int32_t>(number)) {
      wrong(field, "has '" + attribute + "' with what is no int of 32 bits");
    }
    return static_cast<std::int32_t>(number);
  }

  /// Sorted: the order of a map means nothing.
  Entries entries(const tlc_value* value, const char* name, const char* rule) {
    if (host_->value_type(value) != TLC_TYPE_MAP) wrong(name, rule);
    Entries out;
    for (std::size_t i = 0; i < host_->value_count(value); ++i) {
      tlc_str key{};
      const tlc_value* entry = host_->value_at(value, i, &key);
      if (view(key).find('\0') != std::string_view::npos) wrong(name, "has a name with a NUL");
      out.emplace_back(view(key), entry);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  std::string define(const std::string& name, const tlc_value* value) {
    const auto part_of_name = [](unsigned char c) {
      return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    if (name.empty() || (name[0] >= '0' && name[0] <= '9') || !std::all_of(name.begin(), name.end(), part_of_name)) {
      wrong("defines", "has an entry '" + name + "', which is no name of a macro");
    }
    std::int64_t number = 0;
    switch (host_->value_type(value)) {
      case TLC_TYPE_NULL:
        return name;
      case TLC_TYPE_TEXT:
        return name + "=" + text_of(value, "defines");
      case TLC_TYPE_BOOL:
      case TLC_TYPE_INT:
        if (host_->value_int(value, &number) == TLC_OK) return name + "=" + std::to_string(number);
        break;
      default:
        break;
    }
    wrong("defines", "has an entry '" + name + "' that is neither text, int, bool nor null");
  }

  Host host_;
  const tlc_request* request_;
};

Output output_of(const std::string& text) {
  if (text == "cubin") return Output::cubin;
  if (text == "ptx") return Output::ptx;
  if (text == "ltoir") return Output::ltoir;
  wrong("output", "is '" + text + "'; it must be \"cubin\", \"ptx\" or \"ltoir\"");
}

}  // namespace

Request read_request(Host host, const tlc_request* request) {
  Reader reader(host, request);
  Request out;
  out.source = reader.text("source");
  if (const auto output = reader.text("output")) out.output = output_of(*output);
  out.compiler = reader.text("compiler").value_or("");
  out.options = reader.texts("options");
  out.defines = reader.defines("defines");
  out.includes = reader.texts("include_dirs");
  for (const std::string& folder : out.includes) {
    if (folder.empty() || folder.front() != '/') {
      wrong("include_dirs", "has '" + folder + "', which is no absolute path");
    }
  }
  out.headers = reader.headers("headers");
  out.name_expressions = reader.texts("name_expressions");
  for (const std::string& expression : out.name_expressions) {
    if (expression.empty()) wrong("name_expressions", "has an empty entry");
  }
  out.launch = reader.launch("launch");
  return out;
}

}  // namespace tlcb::cuda
