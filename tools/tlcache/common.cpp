// SPDX-License-Identifier: MIT
// Statuses made into exit codes and sentences; opening the cache; digests and artifacts.
#include "common.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <system_error>

#include "files.hpp"
#include "signals.hpp"

namespace tlc::tool {

std::string_view view(const Blob& blob) {
  std::size_t length = 0;
  const char* data = blob ? tlc_blob_data(blob.get(), &length) : nullptr;
  return data == nullptr ? std::string_view{} : std::string_view{data, length};
}

std::string explain(tlc_status status, const tlc_error& error) {
  std::string message = error.message[0] != '\0' ? error.message : tlc_status_message(status);
  if (error.message_length >= sizeof error.message) message += "...";
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
  return message;
}

int exit_code(tlc_status status) {
  if (status == TLC_OK) return exit_ok;
  if (status > 0) return exit_negative;
  if (status == TLC_E_INVALID) return exit_usage;
  return status == TLC_E_COMPILE ? exit_compile_error : exit_failed;
}

void check(tlc_status status, const tlc_error& error, std::string_view doing) {
  if (status == TLC_OK) return;
  if (interrupted() != 0) throw Failure(128 + interrupted(), "interrupted");
  std::string message = explain(status, error);
  if (!doing.empty()) message = fmt::format("{}: {}", doing, message);
  throw Failure(exit_code(status), message);
}

Json parse_report(const Blob& blob) {
  Json report = Json::parse(view(blob), nullptr, false);
  if (report.is_discarded()) fail(exit_failed, "the library's report is no JSON; please report this");
  return report;
}

Cache Context::open(Open how) const {
  tlc_cache_options options;
  tlc_cache_options_init(&options);
  std::string folder;
  if (!directory.empty()) {
    // The environment overrides an application's options; the command line overrides both.
    ::unsetenv("TLC_DIR");
    folder = absolute_path(directory);
    options.directory = str(folder);
  }
  if (how == Open::strict) options.flags |= TLC_OPEN_STRICT;
  if (read_only) options.flags |= TLC_OPEN_READ_ONLY;
  if (allow_plugins) options.flags |= TLC_OPEN_ALLOW_PLUGINS;
  for (const std::string& plugin : plugins) {
    Error error;
    const std::string path = absolute_path(plugin);
    check(tlc_load_plugin(str(path), &error), error, fmt::format("plugin '{}'", plugin));
  }
  Error error;
  tlc_cache* cache = nullptr;
  const tlc_status status = tlc_cache_open(&options, &cache, &error);
  Cache result(cache);
  check(status, error, "cannot open the store");
  return result;
}

void Context::require_writable(std::string_view command) const {
  if (read_only) fail(exit_usage, "{} writes to the store; leave out --read-only", command);
}

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description,
                      const std::string& details) {
  CLI::App* command = app.add_subcommand(name, description);
  command->fallthrough();
  command->group("Commands");
  command->footer(details + "\nOptions for all commands are in `tlcache --help`.\n");
  return command;
}

CLI::Validator one_of(std::vector<std::string> words) {
  const auto check_word = [words = std::move(words)](const std::string& given) {
    if (std::find(words.begin(), words.end(), given) != words.end()) return std::string();
    return fmt::format("'{}' is none of {}", given, fmt::join(words, ", "));
  };
  return {check_word, "", ""};
}

CLI::Validator whole_number() {
  const auto check_number = [](const std::string& given) {
    const bool good = !given.empty() && given.size() < 19 && given.find_first_not_of("0123456789") == std::string::npos;
    return good ? std::string() : fmt::format("'{}' is no whole number", given);
  };
  return {check_number, "", ""};
}

CLI::Validator seconds() {
  const auto check_seconds = [](const std::string& given) {
    double value = 0;
    const char* last = given.data() + given.size();
    const auto [end, code] = std::from_chars(given.data(), last, value);
    const bool good = code == std::errc() && end == last && value >= 0.001 && value <= 1e9;
    return good ? std::string() : fmt::format("'{}' is no time in seconds, 0.001 or more", given);
  };
  return {check_seconds, "", ""};
}

std::string digest_prefix(std::string_view given) {
  std::string result(given);
  for (char& letter : result) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  const bool is_hex = result.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hex || result.size() < 4 || result.size() > 2 * std::size_t{TLC_DIGEST_SIZE}) {
    fail(exit_usage, "'{}' is no digest: give 4 to 64 hex digits, as `tlcache ls` shows them", given);
  }
  return result;
}

std::string hex(const std::uint8_t* digest) {
  std::string result;
  for (std::size_t i = 0; digest != nullptr && i < TLC_DIGEST_SIZE; ++i) {
    result += fmt::format("{:02x}", digest[i]);
  }
  return result;
}

Artifact find_artifact(tlc_cache* cache, std::string_view given) {
  const std::string prefix = digest_prefix(given);
  Error error;
  tlc_artifact* found = nullptr;
  const tlc_status status = tlc_cache_find(cache, str(prefix), &found, &error);
  Artifact artifact(found);
  if (status == TLC_MISS) {
    fail(exit_negative, "nothing is stored under {}; `tlcache ls` lists what is", prefix);
  }
  check(status, error, prefix);
  return artifact;
}

tlc_artifact_info info_of(const tlc_artifact* artifact) {
  tlc_artifact_info info{};
  info.struct_size = TLC_SIZEOF(tlc_artifact_info, tier);
  Error error;
  check(tlc_artifact_get_info(artifact, &info, &error), error);
  return info;
}

std::vector<tlc_member> members_of(const tlc_artifact* artifact) {
  std::vector<tlc_member> members;
  const std::size_t count = tlc_artifact_member_count(artifact);
  for (std::size_t i = 0; i < count; ++i) {
    tlc_member member{};
    member.struct_size = TLC_SIZEOF(tlc_member, type);
    Error error;
    check(tlc_artifact_member_at(artifact, i, &member, &error), error);
    members.push_back(member);
  }
  return members;
}

Json members_json(const tlc_artifact* artifact) {
  Json list = Json::array();
  for (const tlc_member& member : members_of(artifact)) {
    list.push_back({{"name", view(member.name)}, {"type", member_type(member.type)}, {"size", member.size}});
  }
  return list;
}

std::string member_type(std::uint32_t type) {
  constexpr std::array<const char*, 7> names = {"opaque", "shared object", "device binary", "device IR",
                                                "source", "JSON",          "object"};
  return type < names.size() ? names.at(type) : fmt::format("type {}", type);
}

}  // namespace tlc::tool
