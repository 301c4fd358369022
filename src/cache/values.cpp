// SPDX-License-Identifier: MIT
#include "cache/values.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "key/reader.hpp"
#include "store/format.hpp"

namespace tlc::cache {
namespace {

/// Length of the text cut to fit, without splitting a UTF-8 sequence.
std::size_t cut(std::string_view text, std::size_t room) {
  if (text.size() <= room) return text.size();
  std::size_t at = room;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

tlc_status give_member(const store::MemberView& member, tlc_member* out, tlc_error* error) {
  tlc_member facts{};
  facts.name = str_of(member.name);
  facts.data = member.data.data();
  facts.size = member.data.size();
  facts.type = member.type;
  Result<void> given = give_struct(facts, out, TLC_SIZEOF(tlc_member, type), "tlc_member");
  return given ? tlc_status{TLC_OK} : fill_error(error, given.error());
}

}  // namespace

tlc_status fill_error(tlc_error* error, const Error& from) {
  if (from.status == store::kReplaced) {  // it could not be opened anew; the number is the core's own
    Error busy = from;
    busy.status = TLC_E_BUSY;
    return fill_error(error, busy);
  }
  constexpr std::size_t kText = offsetof(tlc_error, message);
  if (error == nullptr || error->struct_size < sizeof error->struct_size) return from.status;
  tlc_error facts{};
  facts.code = from.status;
  facts.sys_errno = from.sys_errno;
  facts.backend_code = from.backend_code;
  facts.message_length = from.message.size();
  const std::size_t room = std::min(error->struct_size, TLC_SIZEOF(tlc_error, message));
  if (room > kText) std::memcpy(facts.message, from.message.data(), cut(from.message, room - kText - 1));
  (void)give_struct(facts, error, TLC_SIZEOF(tlc_error, message), "tlc_error");
  return from.status;
}

std::string_view key_text(const store::Artifact& artifact, std::string_view field) {
  key::Items fields(artifact.meta().key_encoding, true);
  key::Item item;
  while (fields.next(item) == key::Walk::item)
    if (item.name == field && item.type == key::Type::text && !item.hashed)
      return {reinterpret_cast<const char*>(item.payload.data()), item.payload.size()};
  return {};
}

const tlc_value* request_find(const tlc_request* request, tlc_str name) {
  return request == nullptr ? nullptr : to_public(request->request.find(view_of(name)));
}

std::uint32_t value_type(const tlc_value* value) {
  return value == nullptr ? std::uint32_t{TLC_TYPE_NULL} : static_cast<std::uint32_t>(to_core(value)->type);
}

tlc_str value_text(const tlc_value* value) {
  if (value == nullptr) return {nullptr, 0};
  const key::Type type = to_core(value)->type;
  if (type != key::Type::text && type != key::Type::bytes && type != key::Type::digest) return {nullptr, 0};
  return str_of(to_core(value)->str());
}

tlc_status value_int(const tlc_value* value, std::int64_t* out) {
  if (value == nullptr || out == nullptr) return TLC_E_INVALID;
  const key::Value& core = *to_core(value);
  if (core.type == key::Type::boolean) {
    *out = core.boolean ? 1 : 0;
    return TLC_OK;
  }
  if (core.type != key::Type::integer) return TLC_E_INVALID;
  if (!core.negative && core.integer > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return TLC_E_INVALID;
  *out = static_cast<std::int64_t>(core.integer);
  return TLC_OK;
}

tlc_status value_f64(const tlc_value* value, double* out) {
  if (value == nullptr || out == nullptr) return TLC_E_INVALID;
  const key::Value& core = *to_core(value);
  if (core.type == key::Type::f64)
    *out = core.number;
  else if (core.type == key::Type::integer)
    *out = core.negative ? static_cast<double>(static_cast<std::int64_t>(core.integer))
                         : static_cast<double>(core.integer);
  else
    return TLC_E_INVALID;
  return TLC_OK;
}

std::size_t value_count(const tlc_value* value) {
  return value == nullptr ? 0 : to_core(value)->items.size();
}

const tlc_value* value_at(const tlc_value* value, std::size_t index, tlc_str* name) {
  if (value == nullptr || index >= to_core(value)->items.size()) return nullptr;
  const key::Value::Entry& entry = to_core(value)->items[index];
  if (name != nullptr) *name = str_of(entry.first);
  return to_public(&entry.second);
}

std::size_t member_count(const tlc_artifact* artifact) {
  return artifact == nullptr ? 0 : to_core(artifact)->members().size();
}

tlc_status member_at(const tlc_artifact* artifact, std::size_t index, tlc_member* member, tlc_error* error) {
  if (artifact == nullptr) return fill_error(error, make_error(TLC_E_INVALID, "artifact is NULL"));
  if (member == nullptr) return fill_error(error, make_error(TLC_E_INVALID, "member is NULL"));
  const auto& members = to_core(artifact)->members();
  if (index >= members.size())
    return fill_error(error,
                      make_error(TLC_E_INVALID, "the artifact has " + std::to_string(members.size()) + " members"));
  return give_member(members[index], member, error);
}

tlc_status find_member(const tlc_artifact* artifact, tlc_str name, tlc_member* member, tlc_error* error) {
  if (artifact == nullptr) return fill_error(error, make_error(TLC_E_INVALID, "artifact is NULL"));
  if (member == nullptr) return fill_error(error, make_error(TLC_E_INVALID, "member is NULL"));
  if (const store::MemberView* found = to_core(artifact)->find(view_of(name)))
    return give_member(*found, member, error);
  std::string names;
  for (const store::MemberView& one : to_core(artifact)->members())
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  return fill_error(error, make_error(TLC_E_NOT_FOUND, "the artifact has no member named " +
                                                           std::string(view_of(name)) + "; it has: " + names));
}

}  // namespace tlc::cache
