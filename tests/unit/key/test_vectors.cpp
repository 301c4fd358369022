// SPDX-License-Identifier: MIT
// keys.json, made by an independent encoder, against the library: the encoding and digest of every
// vector, byte by byte, and the class of every refusal.
#include "tlc_test.hpp"

#include <bit>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "key/encode.hpp"
#include "key/key.hpp"
#include "key/request.hpp"
#include "trust/digest.hpp"

using nlohmann::json;
using namespace tlc;
using namespace tlc::key;

namespace {

std::string g_path;

std::string unhex(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return out;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string out;
  char pair[3];
  for (const auto byte : bytes) {
    (void)snprintf(pair, sizeof pair, "%02x", byte);
    out += pair;
  }
  return out;
}

std::string as_text(const json& value) {
  return value.is_object() ? unhex(value.at("hex")) : value.get<std::string>();
}

std::span<const std::uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

template <typename Sink>
void add(Sink& sink, const json& entry);

template <typename Sink>
void add_all(Sink& sink, const json& entries) {
  for (const auto& entry : entries) add(sink, entry);
}

template <typename Sink>
void add_int(Sink& sink, const std::string& name, const std::string& text, Flags flags) {
  if (text[0] == '-') {
    (void)sink.add_int(name, std::stoll(text), flags);
  } else {
    (void)sink.add_uint(name, std::stoull(text), flags);
  }
}

template <typename Sink>
void add(Sink& sink, const json& entry) {
  const std::string name = entry.contains("name") ? as_text(entry["name"]) : "";
  const std::string type = entry["type"];
  Flags flags = 0;
  for (const auto& flag : entry.value("flags", json::array())) {
    assert_string_equal(flag.get<std::string>().c_str(), "digest_only");
    flags |= kDigestOnly;
  }
  const json value = entry.value("value", json());
  if (type == "null") {
    (void)sink.add_null(name, flags);
  } else if (type == "bool") {
    (void)sink.add_bool(name, value.get<bool>(), flags);
  } else if (type == "int") {
    add_int(sink, name, value, flags);
  } else if (type == "f64") {
    const auto bits = std::stoull(value.get<std::string>(), nullptr, 16);
    (void)sink.add_f64(name, std::bit_cast<double>(static_cast<std::uint64_t>(bits)), flags);
  } else if (type == "f32") {
    const auto bits = static_cast<std::uint32_t>(std::stoul(value.get<std::string>(), nullptr, 16));
    (void)sink.add_f64(name, static_cast<double>(std::bit_cast<float>(bits)), flags);
  } else if (type == "text") {
    (void)sink.add_text(name, as_text(value), flags);
  } else if (type == "bytes") {
    (void)sink.add_bytes(name, as_bytes(unhex(value)), flags);
  } else if (type == "digest") {
    (void)sink.add_digest(name, *trust::digest_from_hex(value.get<std::string>()), flags);
  } else if (type == "list") {
    (void)sink.begin_list(name, flags);
    add_all(sink, value);
    (void)sink.end();
  } else {
    assert_string_equal(type.c_str(), "map");
    (void)sink.begin_map(name, flags);
    add_all(sink, value);
    (void)sink.end();
  }
}

bool has(const json& vector, const char* member) {
  return vector.contains(member) && !vector[member].is_null();
}

Result<Key> by_builder(const json& v) {
  Builder builder;
  add_all(builder, v["fields"]);
  if (has(v, "namespace")) builder.set_namespace(v["namespace"].get<std::string>());
  if (has(v, "target")) builder.set_target(v["target"].get<std::string>());
  if (has(v, "engine")) builder.set_engine(v["engine"].get<std::string>());
  if (has(v, "toolchain")) {
    const json& tool = v["toolchain"];
    if (tool.is_array()) {
      builder.set_toolchain(as_bytes(unhex(tool[0])), as_bytes(unhex(tool[1])));
    } else if (tool == "none") {
      builder.set_no_toolchain();
    } else {
      builder.set_toolchain(as_bytes(unhex(tool)));
    }
  }
  if (has(v, "host")) builder.set_host(v["host"].get<std::string>());
  return builder.finish();
}

// The same by way of a request, where the vector has what a request needs.
Result<Key> by_request(const json& v) {
  Request request;
  add_all(request, v["fields"]);
  if (has(v, "namespace")) (void)request.set_namespace(v["namespace"].get<std::string>());
  const json& tool = v["toolchain"];
  std::string identified;
  if (tool.is_array()) identified = unhex(tool[0]);
  if (tool == "none") {
    request.set_flag_no_toolchain();
  } else {
    (void)request.set_toolchain(as_bytes(unhex(tool.is_array() ? tool[1] : tool)));
  }
  std::optional<std::span<const std::uint8_t>> identity;
  if (!identified.empty()) identity = as_bytes(identified);
  std::optional<std::string> host;
  if (has(v, "host")) host = v["host"].get<std::string>();
  return request.make_key(v["target"].get<std::string>(), v["engine"].get<std::string>(), identity, host);
}

void check_refusal(const std::string& name, const Result<Key>& key, const std::string& expected) {
  static const std::map<std::string, std::pair<tlc_status, const char*>> kClasses = {
      {"utf8", {TLC_E_INVALID, "not valid UTF-8"}},        {"name", {TLC_E_INVALID, "name has"}},
      {"reserved", {TLC_E_INVALID, "is reserved"}},        {"duplicate", {TLC_E_INVALID, "given twice"}},
      {"depth", {TLC_E_INVALID, "nested deeper"}},         {"namespace", {TLC_E_INVALID, "namespace"}},
      {"target", {TLC_E_INVALID, "the target"}},           {"engine", {TLC_E_INVALID, "the engine"}},
      {"unresolved", {TLC_E_UNCACHEABLE, "not resolved"}},
  };
  assert_true_msg(!key.ok(), "%s: not refused", name.c_str());
  const auto& [status, words] = kClasses.at(expected);
  assert_true_msg(key.error().status == status, "%s: status %d", name.c_str(), key.error().status);
  assert_true_msg(key.error().message.find(words) != std::string::npos, "%s: message \"%s\"", name.c_str(),
                  key.error().message.c_str());
}

void check(const std::string& name, const Result<Key>& key, const json& expect) {
  if (expect.contains("error")) {
    check_refusal(name, key, expect["error"]);
    return;
  }
  assert_true_msg(key.ok(), "%s: %s", name.c_str(), key.ok() ? "" : key.error().message.c_str());
  const std::string encoding = to_hex(key->encoding());
  const std::string digest = trust::to_hex(key->digest());
  assert_true_msg(encoding == expect["encoding"].get<std::string>(), "%s: encoding %s", name.c_str(), encoding.c_str());
  assert_true_msg(digest == expect["digest"].get<std::string>(), "%s: digest %s", name.c_str(), digest.c_str());
  const auto decoded = Key::decode(key->encoding());
  assert_true_msg(decoded.ok() && *decoded == *key, "%s: does not decode", name.c_str());
}

void test_vectors(void**) {
  std::ifstream in(g_path);
  assert_true_msg(in.good(), "cannot read %s", g_path.c_str());
  const json file = json::parse(in);
  assert_string_equal(file["format"].get<std::string>().c_str(), "tlcache-key-1");
  assert_true(file["vectors"].size() >= 180);
  for (const auto& v : file["vectors"]) {
    const std::string name = v["name"];
    check(name + " (builder)", by_builder(v), v["expect"]);
    if (!has(v, "target") || !has(v, "engine") || !has(v, "toolchain")) continue;
    if (v["target"] == "" || v["engine"] == "") continue;  // to a request these mean "none"
    check(name + " (request)", by_request(v), v["expect"]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  g_path = argv[1];
  const CMUnitTest tests[] = {cmocka_unit_test(test_vectors)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
