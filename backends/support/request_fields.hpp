// SPDX-License-Identifier: MIT
// Reading a request's fields, in the forms that several backends have in common. What does not fit throws Failure
// (TLC_E_INVALID) that names the field. A field that is null is absent.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/host.hpp"

namespace tlcb {

[[noreturn]] void wrong_field(const std::string& field, const std::string& rule);

class RequestFields {
 public:
  using Entries = std::vector<std::pair<std::string, const tlc_value*>>;

  RequestFields(Host host, const tlc_request* request) : host_(host), request_(request) {}

  [[nodiscard]] std::optional<std::string> text(const char* name) const;
  /// A list of texts.
  [[nodiscard]] std::vector<std::string> texts(const char* name) const;
  /// A list of absolute folders.
  [[nodiscard]] std::vector<std::string> folders(const char* name) const;
  /// A map of macros, to text, int, bool or null: NAME or NAME=value, sorted.
  [[nodiscard]] std::vector<std::string> defines(const char* name) const;
  /// A map, sorted, since its order means nothing; `rule` is what the error says where it is none.
  [[nodiscard]] Entries map(const char* name, const char* rule) const;

  /// A map of headers' names to their texts.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> headers(const char* name) const;
  /// A list of texts, none of them empty.
  [[nodiscard]] std::vector<std::string> words(const char* name) const;

  // A value within a field; the name is for messages.
  [[nodiscard]] Entries entries(const tlc_value* value, const char* name, const char* rule) const;
  [[nodiscard]] std::string text_of(const tlc_value* value, const char* name) const;

 private:
  [[nodiscard]] const tlc_value* find(const char* name) const;
  [[nodiscard]] std::string define(const char* field, const std::string& name, const tlc_value* value) const;

  Host host_;
  const tlc_request* request_;
};

}  // namespace tlcb
