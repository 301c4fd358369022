// SPDX-License-Identifier: MIT
// What the agent's commands share: its state, what they are asked for, and the answers they make.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent_api.hpp"
#include "agent_content.hpp"

namespace agent {

using Arguments = std::vector<std::string>;
inline constexpr char kBetween = 31;

inline tlc_str str(const std::string& text) {
  return {text.data(), text.size()};
}

/// A status and what belongs to it, as one line.
struct Answer {
  std::string text;

  Answer& add(const std::string& name, const std::string& value) {
    text += kBetween + name + '=';
    for (const char c : value) text += c == '\n' || c == kBetween ? ' ' : c;
    return *this;
  }
  Answer& add(const std::string& name, long long value) { return add(name, std::to_string(value)); }
};

struct Cache {
  const Api* api = nullptr;
  tlc_cache* handle = nullptr;
};

struct State {
  Api own = linked_library();
  std::vector<std::unique_ptr<Api>> others;
  const Api* api = &own;
  std::string name_space = "test";
  std::map<std::string, Cache> caches;
  std::string cache = "0";
  struct Held {
    const Api* api;
    std::string name;
    tlc_artifact* artifact;
  };
  std::map<std::string, Held> held;
  tlc_lock* lock = nullptr;

  Cache& current() { return caches[cache]; }
};

inline State& state() {
  static State one;
  return one;
}

class Failure {
 public:
  explicit Failure(const Api& api) { api.tlc_error_init(&error); }
  Answer answer(const Api& api, tlc_status status) const {
    Answer made{api.tlc_status_name(status)};
    if (status != TLC_OK && error.message[0] != '\0') made.add("message", error.message);
    return made;
  }
  tlc_error error{};
};

/// A key of the current namespace: one field, no toolchain.
struct Wanted {
  Wanted(const Api& table, const std::string& name) : api(table) {
    api.tlc_request_create(str(state().name_space), &request, nullptr);
    api.tlc_request_set_no_toolchain(request, nullptr);
    api.tlc_request_add_text(request, {"name", 4}, str(name), 0, nullptr);
    api.tlc_request_key(request, &key, nullptr);
  }
  ~Wanted() {
    api.tlc_key_release(key);
    api.tlc_request_destroy(request);
  }
  Wanted(const Wanted&) = delete;
  Wanted& operator=(const Wanted&) = delete;
  const Api& api;
  tlc_request* request = nullptr;
  tlc_key* key = nullptr;
};

inline void fill(const Api& api, tlc_bundle* bundle, const std::string& name, std::uint64_t version, std::size_t size) {
  const std::string a = make_content(name, 'a', version, std::max(size, kLeastSize));
  const std::string b = make_content(name, 'b', version, kSecondSize);
  api.tlc_bundle_add(bundle, {"a", 1}, TLC_MEMBER_OPAQUE, a.data(), a.size(), 0, nullptr);
  api.tlc_bundle_add(bundle, {"b", 1}, TLC_MEMBER_OPAQUE, b.data(), b.size(), 0, nullptr);
}

struct Made {
  Made(const Api& table, const std::string& name, std::uint64_t version, std::size_t size) : api(table) {
    api.tlc_bundle_create(&bundle, nullptr);
    fill(api, bundle, name, version, size);
  }
  ~Made() { api.tlc_bundle_destroy(bundle); }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  const Api& api;
  tlc_bundle* bundle = nullptr;
};

inline Answer blob_answer(const Api& api, const Failure& failure, tlc_status status, const char* name, tlc_blob* blob) {
  Answer answer = failure.answer(api, status);
  if (blob != nullptr) answer.add(name, api.tlc_blob_data(blob, nullptr));
  api.tlc_blob_release(blob);
  return answer;
}

/// Compares all bytes of the artifact with what was put under the name.
inline Answer check(const Api& api, const std::string& name, tlc_artifact* artifact, bool by_read = false) {
  long long version = -1;
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const char member_name = i == 0 ? 'a' : 'b';
    tlc_member member{};
    member.struct_size = sizeof member;
    if (api.tlc_artifact_find(artifact, {&member_name, 1}, &member, nullptr) != TLC_OK)
      return Answer{"BAD"}.add("message", "a member is missing");
    std::string copy;
    if (by_read) {
      copy.resize(member.size);
      Failure failure(api);
      const tlc_status status = api.tlc_artifact_read(artifact, i, copy.data(), copy.size(), &failure.error);
      if (status != TLC_OK) return failure.answer(api, status);
    }
    const void* data = by_read ? copy.data() : member.data;
    const long long found = version_of(name, member_name, data, member.size);
    if (found < 0 || (i == 1 && found != version)) return Answer{"BAD"}.add("message", "wrong bytes");
    version = found;
    if (i == 0) size = member.size;
  }
  tlc_artifact_info info{};
  info.struct_size = sizeof info;
  api.tlc_artifact_get_info(artifact, &info, nullptr);
  return Answer{"TLC_OK"}
      .add("version", version)
      .add("size", static_cast<long long>(size))
      .add("generation", std::to_string(info.generation))
      .add("tier", info.tier);
}

inline std::uint64_t number(const Arguments& words, std::size_t at, std::uint64_t otherwise) {
  return words.size() > at ? std::stoull(words[at]) : otherwise;
}

}  // namespace agent
