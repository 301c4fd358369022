// SPDX-License-Identifier: MIT
// Reading requests, values and artifacts through the public types: what the C API and the host's table both offer.
#pragma once

#include <string_view>

#include "cache/handles.hpp"
#include "port/result.hpp"

namespace tlc::cache {

[[nodiscard]] inline std::string_view view_of(tlc_str text) {
  if (text.data == nullptr) return {};
  return text.len == TLC_STRLEN ? std::string_view(text.data) : std::string_view(text.data, text.len);
}
[[nodiscard]] inline tlc_str str_of(std::string_view text) {
  return {text.data(), text.size()};
}

/// Fills a caller's error, as far as its struct_size reaches. Returns the status.
tlc_status fill_error(tlc_error* error, const Error& from);

/// A text field of the library's in an artifact's stored key (key::kFieldTarget, ...), in place; empty if it is not
/// there.
[[nodiscard]] std::string_view key_text(const store::Artifact& artifact, std::string_view field);

[[nodiscard]] const tlc_value* request_find(const tlc_request* request, tlc_str name);
[[nodiscard]] std::uint32_t value_type(const tlc_value* value);
[[nodiscard]] tlc_str value_text(const tlc_value* value);
tlc_status value_int(const tlc_value* value, std::int64_t* out);
tlc_status value_f64(const tlc_value* value, double* out);
[[nodiscard]] std::size_t value_count(const tlc_value* value);
[[nodiscard]] const tlc_value* value_at(const tlc_value* value, std::size_t index, tlc_str* name);

[[nodiscard]] std::size_t member_count(const tlc_artifact* artifact);
tlc_status member_at(const tlc_artifact* artifact, std::size_t index, tlc_member* member, tlc_error* error);
tlc_status find_member(const tlc_artifact* artifact, tlc_str name, tlc_member* member, tlc_error* error);

}  // namespace tlc::cache
