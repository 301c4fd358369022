// SPDX-License-Identifier: MIT
// A host table for testing a backend without a cache: requests, bundles and artifacts are plain structs, digests are
// real, memos are kept in memory. One per process: most functions of the table have no context to tell hosts apart.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/blob.hpp"
#include "port/elf_id.hpp"
#include "port/file.hpp"
#include "tlcache/backend.h"
#include "trust/file_digest.hpp"
#include "trust/hash.hpp"

namespace tlc::test {

/// A field's value; `entries` are a list's elements (without names) or a map's entries.
struct FakeValue {
  std::uint32_t type = TLC_TYPE_NULL;
  std::string text;
  std::int64_t number = 0;
  std::vector<std::pair<std::string, FakeValue>> entries;
};

inline FakeValue text_value(std::string text) {
  return {TLC_TYPE_TEXT, std::move(text), 0, {}};
}
inline FakeValue list_value(const std::vector<std::string>& texts) {
  FakeValue list{TLC_TYPE_LIST, {}, 0, {}};
  for (const std::string& text : texts) list.entries.emplace_back("", text_value(text));
  return list;
}

struct FakeRequest {
  std::map<std::string, FakeValue> fields;
  operator const tlc_request*() const { return reinterpret_cast<const tlc_request*>(this); }  // NOLINT
};

struct FakeMember {
  std::string name;
  std::uint32_t type = 0;
  std::string bytes;
};

/// What a compile adds; later the artifact itself.
struct FakeBundle {
  std::vector<FakeMember> members;
  std::map<std::string, std::string> present;  ///< guarded path -> digest
  std::vector<std::string> absent;
  std::string target;
  std::string folder;  ///< where artifact_folder puts the members

  operator tlc_bundle*() { return reinterpret_cast<tlc_bundle*>(this); }      // NOLINT
  operator tlc_artifact*() { return reinterpret_cast<tlc_artifact*>(this); }  // NOLINT
  [[nodiscard]] bool is_absent(const std::string& path) const {
    return std::find(absent.begin(), absent.end(), path) != absent.end();
  }
};

struct FakeLog {
  std::string text;
  operator tlc_log*() { return reinterpret_cast<tlc_log*>(this); }  // NOLINT
};

struct FakeState {
  std::map<std::string, std::string> memos;
  bool cancelled = false;
};
inline FakeState& fake_state() {
  static FakeState state;
  return state;
}

namespace fake {

inline std::string_view sv(tlc_str text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.len);
}
inline tlc_str str(const std::string& text) {
  return {text.data(), text.size()};
}
inline const FakeValue* value(const tlc_value* v) {
  return reinterpret_cast<const FakeValue*>(v);
}
inline FakeBundle* bundle(tlc_bundle* b) {
  return reinterpret_cast<FakeBundle*>(b);
}
inline const FakeBundle* artifact(const tlc_artifact* a) {
  return reinterpret_cast<const FakeBundle*>(a);
}

inline tlc_status raise(tlc_error* error, tlc_status status, int32_t sys_errno, int64_t backend_code, tlc_str message) {
  if (error == nullptr) return status;
  error->code = status;
  error->sys_errno = sys_errno;
  error->backend_code = backend_code;
  error->message_length = message.len;
  const std::size_t len = std::min(message.len, sizeof error->message - 1);
  std::memcpy(error->message, message.data, len);
  error->message[len] = '\0';
  return status;
}

inline void take_digest(const trust::Digest& digest, std::uint8_t* into) {
  std::memcpy(into, digest.bytes.data(), digest.bytes.size());
}

inline tlc_status file_digest(tlc_call*, tlc_str path, std::uint8_t* digest, tlc_error* error) {
  const auto file = port::open_at(AT_FDCWD, std::string(sv(path)).c_str(), O_RDONLY);
  if (!file) return raise(error, TLC_E_IO, file.error().sys_errno, 0, str(file.error().message));
  take_digest(*trust::digest_of_file(file->get()), digest);
  return TLC_OK;
}

inline tlc_status file_identity(tlc_call* call, tlc_str path, std::uint8_t* digest, tlc_error* error) {
  const auto file = port::open_at(AT_FDCWD, std::string(sv(path)).c_str(), O_RDONLY);
  const auto id = file ? port::build_id(file->get()) : std::nullopt;
  if (!id) return file_digest(call, path, digest, error);
  take_digest(trust::blake2b(id->data(), id->size()), digest);
  return TLC_OK;
}

inline tlc_status find_member(const tlc_artifact* a, tlc_str name, tlc_member* out, tlc_error* e) {
  for (const FakeMember& member : artifact(a)->members) {
    if (member.name != sv(name)) continue;
    out->name = str(member.name);
    out->data = member.bytes.data();
    out->size = member.bytes.size();
    out->type = member.type;
    return TLC_OK;
  }
  return raise(e, TLC_E_NOT_FOUND, 0, 0, str("no such member"));
}

inline tlc_status folder(tlc_artifact* a, tlc_blob** path, tlc_error*) {
  for (const FakeMember& member : artifact(a)->members) {
    // Never rewritten: a file that is loaded must not change.
    const std::string file = artifact(a)->folder + "/" + member.name;
    if (!std::filesystem::exists(file)) std::ofstream(file, std::ios::binary) << member.bytes;
  }
  *path = backend::make_blob(artifact(a)->folder).release();
  return TLC_OK;
}

inline tlc_host_api make() {
  tlc_host_api api{};
  api.struct_size = TLC_SIZEOF(tlc_host_api, cancelled);
  api.abi_major = TLC_ABI_MAJOR;
  api.abi_minor = TLC_ABI_MINOR;
  api.log = [](int32_t, tlc_str, tlc_str) {};
  api.fail = raise;
  api.blob_create = [](const void* data, size_t len) {
    return backend::make_blob(std::string(static_cast<const char*>(data), len)).release();
  };
  api.blob_data = [](const tlc_blob* blob, size_t* len) {
    if (len != nullptr) *len = blob->bytes.size();
    return blob->bytes.c_str();
  };
  api.blob_release = [](tlc_blob* blob) { backend::BlobFree()(blob); };
  api.request_find = [](const tlc_request* request, tlc_str name) -> const tlc_value* {
    const auto& fields = reinterpret_cast<const FakeRequest*>(request)->fields;
    const auto found = fields.find(std::string(sv(name)));
    return found == fields.end() ? nullptr : reinterpret_cast<const tlc_value*>(&found->second);
  };
  api.value_type = [](const tlc_value* v) { return v == nullptr ? 0U : value(v)->type; };
  api.value_text = [](const tlc_value* v) { return str(value(v)->text); };
  api.value_int = [](const tlc_value* v, int64_t* out) {
    *out = value(v)->number;
    return tlc_status{TLC_OK};
  };
  api.value_f64 = [](const tlc_value*, double*) { return tlc_status{TLC_E_INVALID}; };
  api.value_count = [](const tlc_value* v) { return value(v)->entries.size(); };
  api.value_at = [](const tlc_value* v, size_t i, tlc_str* name) -> const tlc_value* {
    if (i >= value(v)->entries.size()) return nullptr;
    if (name != nullptr) *name = str(value(v)->entries[i].first);
    return reinterpret_cast<const tlc_value*>(&value(v)->entries[i].second);
  };
  api.bundle_add = [](tlc_bundle* b, tlc_str name, uint32_t type, const void* data, size_t len, uint32_t, tlc_error*) {
    bundle(b)->members.push_back({std::string(sv(name)), type, std::string(static_cast<const char*>(data), len)});
    return tlc_status{TLC_OK};
  };
  api.bundle_add_guard = [](tlc_bundle* b, tlc_str path, const uint8_t* digest, tlc_error*) {
    bundle(b)->present[std::string(sv(path))] = std::string(reinterpret_cast<const char*>(digest), TLC_DIGEST_SIZE);
    return tlc_status{TLC_OK};
  };
  api.bundle_add_absent = [](tlc_bundle* b, tlc_str path, tlc_error*) {
    bundle(b)->absent.emplace_back(sv(path));
    return tlc_status{TLC_OK};
  };
  api.log_append = [](tlc_log* log, tlc_str text) { reinterpret_cast<FakeLog*>(log)->text += sv(text); };
  api.artifact_member_count = [](const tlc_artifact* a) { return artifact(a)->members.size(); };
  api.artifact_member_at = [](const tlc_artifact* a, size_t i, tlc_member* out, tlc_error* e) {
    return find_member(a, str(artifact(a)->members.at(i).name), out, e);
  };
  api.artifact_find = find_member;
  api.artifact_folder = folder;
  api.artifact_target = [](const tlc_artifact* a) { return str(artifact(a)->target); };
  api.file_identity = file_identity;
  api.file_digest = file_digest;
  api.memo_get = [](tlc_call*, const void* key, size_t len, tlc_blob** out, tlc_error*) {
    const auto& memos = fake_state().memos;
    const auto found = memos.find(std::string(static_cast<const char*>(key), len));
    if (found == memos.end()) return tlc_status{TLC_MISS};
    *out = backend::make_blob(found->second).release();
    return tlc_status{TLC_OK};
  };
  api.memo_put = [](tlc_call*, const void* key, size_t key_len, const void* data, size_t len, tlc_error*) {
    fake_state().memos[std::string(static_cast<const char*>(key), key_len)] =
        std::string(static_cast<const char*>(data), len);
    return tlc_status{TLC_OK};
  };
  api.cancelled = [](const tlc_call*) { return fake_state().cancelled ? 1 : 0; };
  return api;
}

}  // namespace fake

inline const tlc_host_api* fake_host() {
  static const tlc_host_api api = fake::make();
  return &api;
}

}  // namespace tlc::test
