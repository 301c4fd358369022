// SPDX-License-Identifier: MIT
// Reading requests, values and artifacts through the public types: what the C API and the host's table both offer.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
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

/// Copies one of our structs, of which `known` bytes count, out as far as the caller's struct_size reaches. What a
/// newer caller's struct has more is cleared.
template <typename Struct>
Result<void> give_struct(const Struct& from, Struct* into, std::size_t known, const char* name) {
  constexpr std::size_t kMostUnknown = 4096;  // more is a struct_size that was never set
  const std::size_t room = into->struct_size;
  if (room < sizeof room || room > known + kMostUnknown)
    return make_error(TLC_E_INVALID, std::string(name) + ".struct_size is not set");
  auto* out = reinterpret_cast<unsigned char*>(into);
  std::memcpy(out + sizeof room, reinterpret_cast<const unsigned char*>(&from) + sizeof room,
              std::min(room, known) - sizeof room);
  if (room > known) std::memset(out + known, 0, room - known);
  return {};
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
