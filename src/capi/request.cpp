// SPDX-License-Identifier: MIT
// Requests, values and keys.
#include <nlohmann/json.hpp>

#include "capi/call.hpp"
#include "key/describe.hpp"
#include "key/diff.hpp"

using namespace tlc;        // NOLINT: the definitions of the C API only call the core
using namespace tlc::capi;  // NOLINT

namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kFieldFlags = TLC_FIELD_DIGEST_ONLY;

/// One more field of a request.
template <typename Add>
tlc_status add_field(tlc_request* request, uint32_t flags, tlc_error* error, const Add& add) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(request);
    if ((flags & ~kFieldFlags) != 0) return make_error(TLC_E_UNSUPPORTED, "flags has an unknown TLC_FIELD_* bit");
    return status_of(add(request->request, (flags & TLC_FIELD_DIGEST_ONLY) != 0 ? key::kDigestOnly : key::Flags{0}));
  });
}

template <typename Set>
tlc_status set_property(tlc_request* request, tlc_error* error, const Set& set) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(request);
    return status_of(set(request->request));
  });
}

std::span<const uint8_t> bytes_of(const void* data, size_t len) {
  return {static_cast<const uint8_t*>(data), len};
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

tlc_status tlc_request_create(tlc_str name_space, tlc_request** request, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(request);
    *request = nullptr;
    auto made = std::make_unique<tlc_request>();
    if (Result<void> named = made->request.set_namespace(view_of(name_space)); !named) return std::move(named).error();
    *request = made.release();
    return tlc_status{TLC_OK};
  });
}

void tlc_request_destroy(tlc_request* request) {
  std::default_delete<tlc_request>()(request);
}

tlc_status tlc_request_set_target(tlc_request* request, tlc_str target, tlc_error* error) {
  return set_property(request, error, [&](key::Request& to) { return to.set_target(view_of(target)); });
}

tlc_status tlc_request_set_engine(tlc_request* request, tlc_str engine, tlc_error* error) {
  return set_property(request, error, [&](key::Request& to) { return to.set_engine(view_of(engine)); });
}

tlc_status tlc_request_set_toolchain(tlc_request* request, const void* data, size_t len, tlc_error* error) {
  return set_property(request, error, [&](key::Request& to) -> Result<void> {
    if (data == nullptr || len == 0) return invalid("a toolchain's identity has at least one byte");
    return to.set_toolchain(bytes_of(data, len));
  });
}

tlc_status tlc_request_set_no_toolchain(tlc_request* request, tlc_error* error) {
  return set_property(request, error, [&](key::Request& to) -> Result<void> {
    to.set_flag_no_toolchain();
    return {};
  });
}

tlc_status tlc_request_set_label(tlc_request* request, tlc_str label, tlc_error* error) {
  return set_property(request, error, [&](key::Request& to) { return to.set_label(view_of(label)); });
}

tlc_status tlc_request_require_member(tlc_request* request, tlc_str name, tlc_error* error) {
  return set_property(request, error, [&](key::Request& to) { return to.require_member(view_of(name)); });
}

tlc_status tlc_request_add_null(tlc_request* request, tlc_str name, uint32_t flags, tlc_error* error) {
  return add_field(request, flags, error, [&](auto& to, auto bits) { return to.add_null(view_of(name), bits); });
}

tlc_status tlc_request_add_bool(tlc_request* request, tlc_str name, int32_t value, uint32_t flags, tlc_error* error) {
  return add_field(request, flags, error,
                   [&](auto& to, auto bits) { return to.add_bool(view_of(name), value != 0, bits); });
}

tlc_status tlc_request_add_int(tlc_request* request, tlc_str name, int64_t value, uint32_t flags, tlc_error* error) {
  return add_field(request, flags, error, [&](auto& to, auto bits) { return to.add_int(view_of(name), value, bits); });
}

tlc_status tlc_request_add_uint(tlc_request* request, tlc_str name, uint64_t value, uint32_t flags, tlc_error* error) {
  return add_field(request, flags, error, [&](auto& to, auto bits) { return to.add_uint(view_of(name), value, bits); });
}

tlc_status tlc_request_add_f64(tlc_request* request, tlc_str name, double value, uint32_t flags, tlc_error* error) {
  return add_field(request, flags, error, [&](auto& to, auto bits) { return to.add_f64(view_of(name), value, bits); });
}

tlc_status tlc_request_add_text(tlc_request* request, tlc_str name, tlc_str value, uint32_t flags, tlc_error* error) {
  return add_field(request, flags, error,
                   [&](auto& to, auto bits) { return to.add_text(view_of(name), view_of(value), bits); });
}

tlc_status tlc_request_add_bytes(tlc_request* request, tlc_str name, const void* data, size_t len, uint32_t flags,
                                 tlc_error* error) {
  return add_field(request, flags, error, [&](auto& to, auto bits) -> Result<void> {
    if (data == nullptr && len != 0) return invalid("data is NULL and len is not 0");
    return to.add_bytes(view_of(name), bytes_of(data, len), bits);
  });
}

tlc_status tlc_request_add_digest(tlc_request* request, tlc_str name, const uint8_t* digest, uint32_t flags,
                                  tlc_error* error) {
  return add_field(request, flags, error, [&](auto& to, auto bits) -> Result<void> {
    TLC_REQUIRE(digest);
    trust::Digest value;
    std::copy(digest, digest + TLC_DIGEST_SIZE, value.bytes.begin());
    return to.add_digest(view_of(name), value, bits);
  });
}

tlc_status tlc_request_begin_list(tlc_request* request, tlc_str name, uint32_t flags, tlc_error* error) {
  return add_field(request, flags, error, [&](auto& to, auto bits) { return to.begin_list(view_of(name), bits); });
}

tlc_status tlc_request_begin_map(tlc_request* request, tlc_str name, uint32_t flags, tlc_error* error) {
  return add_field(request, flags, error, [&](auto& to, auto bits) { return to.begin_map(view_of(name), bits); });
}

tlc_status tlc_request_end(tlc_request* request, tlc_error* error) {
  return set_property(request, error, [&](key::Request& to) { return to.end(); });
}

const tlc_value* tlc_request_find(const tlc_request* request, tlc_str name) {
  return cache::request_find(request, name);
}

uint32_t tlc_value_type(const tlc_value* value) {
  return cache::value_type(value);
}

tlc_str tlc_value_text(const tlc_value* value) {
  return cache::value_text(value);
}

tlc_status tlc_value_int(const tlc_value* value, int64_t* out) {
  return cache::value_int(value, out);
}

tlc_status tlc_value_f64(const tlc_value* value, double* out) {
  return cache::value_f64(value, out);
}

size_t tlc_value_count(const tlc_value* value) {
  return cache::value_count(value);
}

const tlc_value* tlc_value_at(const tlc_value* value, size_t index, tlc_str* name) {
  return cache::value_at(value, index, name);
}

tlc_str tlc_request_target(const tlc_request* request) {
  return request == nullptr ? tlc_str{nullptr, 0} : str_of(request->request.target());
}

tlc_str tlc_request_engine(const tlc_request* request) {
  return request == nullptr ? tlc_str{nullptr, 0} : str_of(request->request.engine());
}

tlc_str tlc_request_namespace(const tlc_request* request) {
  return request == nullptr ? tlc_str{nullptr, 0} : str_of(request->request.name_space());
}

tlc_str tlc_request_label(const tlc_request* request) {
  return request == nullptr ? tlc_str{nullptr, 0} : str_of(request->request.label());
}

tlc_status tlc_cache_key(tlc_cache* cache, const tlc_request* request, tlc_key** key, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(key);
    *key = nullptr;
    TLC_REQUIRE(cache);
    TLC_REQUIRE(request);
    Result<key::Key> made = cache->cache->make_key(*request, nullptr);
    if (!made) return std::move(made).error();
    *key = std::make_unique<tlc_key>(std::move(*made)).release();
    return tlc_status{TLC_OK};
  });
}

tlc_status tlc_request_key(const tlc_request* request, tlc_key** key, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(key);
    *key = nullptr;
    TLC_REQUIRE(request);
    if (!request->request.target().empty() && request->request.engine().empty()) {
      return make_error(TLC_E_UNCACHEABLE,
                        "the request has a target but no engine; set the engine, or let tlc_cache_key choose it");
    }
    Result<key::Key> made = request->request.make_key(request->request.target(), request->request.engine());
    if (!made) return std::move(made).error();
    *key = std::make_unique<tlc_key>(std::move(*made)).release();
    return tlc_status{TLC_OK};
  });
}

tlc_status tlc_key_decode(const void* encoding, size_t len, tlc_key** key, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(key);
    *key = nullptr;
    TLC_REQUIRE(encoding);
    Result<key::Key> made = key::Key::decode(bytes_of(encoding, len));
    if (!made) return invalid("the encoding is not canonical: " + made.error().message);
    *key = std::make_unique<tlc_key>(std::move(*made)).release();
    return tlc_status{TLC_OK};
  });
}

tlc_key* tlc_key_retain(tlc_key* key) {
  if (key != nullptr) key->references.fetch_add(1, std::memory_order_relaxed);
  return key;
}

void tlc_key_release(tlc_key* key) {
  tlc_key_release_one{}(key);
}

const uint8_t* tlc_key_digest(const tlc_key* key) {
  return key == nullptr ? nullptr : key->key.digest().bytes.data();
}

const uint8_t* tlc_key_encoding(const tlc_key* key, size_t* len) {
  if (len != nullptr) *len = key == nullptr ? 0 : key->key.encoding().size();
  return key == nullptr ? nullptr : key->key.encoding().data();
}

tlc_status tlc_key_describe(const tlc_key* key, tlc_blob** json, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(json);
    *json = nullptr;
    TLC_REQUIRE(key);
    Result<std::vector<key::Field>> fields = key::describe(key->key.encoding());
    if (!fields) return std::move(fields).error();
    Json list = Json::array();
    for (const key::Field& field : *fields)
      list.push_back({{"name", field.name},
                      {"type", key::type_name(field.type)},
                      {"value", field.text},
                      {"hashed", field.hashed},
                      {"length", field.length}});
    return give(json, dump({{"digest", trust::to_hex(key->key.digest())},
                            {"namespace", key->key.name_space()},
                            {"target", key->key.library_text(key::kFieldTarget)},
                            {"engine", key->key.library_text(key::kFieldEngine)},
                            {"fields", std::move(list)}}));
  });
}

tlc_status tlc_key_diff(const tlc_key* was, const tlc_key* now, tlc_blob** json, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(json);
    *json = nullptr;
    TLC_REQUIRE(was);
    TLC_REQUIRE(now);
    Result<std::vector<key::Difference>> found = key::diff(was->key.encoding(), now->key.encoding());
    if (!found) return std::move(found).error();
    constexpr const char* kNames[] = {"changed", "added", "removed"};
    Json list = Json::array();
    for (const key::Difference& one : *found)
      list.push_back(
          {{"path", one.path}, {"kind", kNames[static_cast<int>(one.kind)]}, {"was", one.was}, {"now", one.now}});
    return give(json, dump(list));
  });
}
