// SPDX-License-Identifier: MIT
#include "cache/settings.hpp"

#include <charconv>
#include <limits>
#include <utility>

#include "port/env.hpp"

namespace tlc::cache {
namespace {

std::optional<bool> parse_switch(std::string_view text) {
  if (text.empty() || text == "0" || text == "false" || text == "no" || text == "off") return false;
  if (text == "1" || text == "true" || text == "yes" || text == "on") return true;
  return std::nullopt;
}

/// Reads settings one by one and notes each with its origin.
class Reader {
 public:
  explicit Reader(Settings& settings) : settings_(settings) {}

  std::optional<std::string> variable(const char* name) const {
    const char* value = settings_.use_environment ? port::secure_env(name) : nullptr;
    if (value == nullptr || value[0] == '\0') return std::nullopt;
    return value;
  }
  Result<void> toggle(bool& value, const char* name, const char* env) {
    const char* origin = value ? "application" : "default";
    if (env != nullptr)
      if (const auto text = variable(env)) {
        const auto on = parse_switch(*text);
        if (!on) return make_error(TLC_E_INVALID, std::string(env) + " is neither 0 nor 1: " + *text);
        value = *on;
        origin = "environment";
      }
    note(name, value ? "yes" : "no", origin);
    return {};
  }
  void note(const char* name, std::string value, const char* origin) {
    settings_.listed.push_back({name, std::move(value), origin});
  }

 private:
  Settings& settings_;
};

Result<void> read_limit(Settings& settings, Reader& reader) {
  const char* origin = settings.limit != 0 ? "application" : "default";
  if (const auto text = reader.variable("TLC_LIMIT")) {
    const auto size = parse_size(*text);
    if (!size || *size == 0) return make_error(TLC_E_INVALID, "TLC_LIMIT is no size such as 10G: " + *text);
    settings.limit = *size;
    origin = "environment";
  }
  reader.note("limit of a new store",
              settings.limit == 0 ? "10G, at most a tenth of the disk and half of what is free"
                                  : std::to_string(settings.limit),
              origin);
  return {};
}

Result<void> read_remotes(Settings& settings, Reader& reader, std::string_view application) {
  const auto text = reader.variable("TLC_REMOTES");
  const char* origin = text ? "environment" : application.empty() ? "default" : "application";
  Result<std::vector<tier::RemoteUrl>> remotes =
      tier::parse_remotes(text ? std::string_view(*text) : application, origin, settings.no_remotes);
  if (!remotes) return std::move(remotes).error();
  settings.remotes = std::move(*remotes);
  std::string shown = settings.no_remotes ? "none" : "";
  for (const tier::RemoteUrl& remote : settings.remotes) shown += (shown.empty() ? "" : " ") + remote.shown();
  reader.note("remotes", shown.empty() ? "-" : shown, origin);
  return {};
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  unsigned shift = 0;
  if (!unit.empty()) {
    constexpr std::string_view kUnits = "KMGT";
    const std::size_t at = kUnits.find(static_cast<char>(unit[0] & ~0x20));
    if (at != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(at) + 1);
      unit.remove_prefix(1);
    }
    if (!unit.empty() && unit != "B" && unit != "iB") return std::nullopt;
  }
  if (value > (std::numeric_limits<std::uint64_t>::max() >> shift)) return std::nullopt;
  return value << shift;
}

Result<Settings> make_settings(std::string directory, std::uint64_t limit, std::uint64_t open_flags,
                               std::string_view remotes) {
  Settings settings;
  settings.directory = std::move(directory);
  settings.limit = limit;
  settings.strict_open = (open_flags & TLC_OPEN_STRICT) != 0;
  settings.read_only = (open_flags & TLC_OPEN_READ_ONLY) != 0;
  settings.durable = (open_flags & TLC_OPEN_DURABLE) != 0;
  settings.verify_strict = (open_flags & TLC_OPEN_VERIFY_STRICT) != 0;
  settings.allow_plugins = (open_flags & TLC_OPEN_ALLOW_PLUGINS) != 0;
  settings.memory = (open_flags & TLC_OPEN_MEMORY) != 0;
  settings.use_environment = (open_flags & TLC_OPEN_NO_ENV) == 0;
  Reader reader(settings);
  if (Result<void> done = read_limit(settings, reader); !done) return std::move(done).error();
  if (Result<void> done = reader.toggle(settings.read_only, "read-only", "TLC_READONLY"); !done)
    return std::move(done).error();
  if (Result<void> done = reader.toggle(settings.disabled, "disabled", "TLC_DISABLE"); !done)
    return std::move(done).error();
  (void)reader.toggle(settings.memory, "memory only", nullptr);
  (void)reader.toggle(settings.durable, "durable", nullptr);
  (void)reader.toggle(settings.verify_strict, "strict verification", nullptr);
  (void)reader.toggle(settings.allow_plugins, "plugins allowed", nullptr);
  if (Result<void> done = read_remotes(settings, reader, remotes); !done) return std::move(done).error();
  if (const auto path = reader.variable("TLC_BACKEND_PATH")) settings.backend_path = *path;
  reader.note("backend path", settings.backend_path.empty() ? "-" : settings.backend_path,
              settings.backend_path.empty() ? "default" : "environment");
  if (const auto path = reader.variable("TLC_TRACE")) settings.trace = *path;
  reader.note("trace", settings.trace.empty() ? "-" : settings.trace,
              settings.trace.empty() ? "default" : "environment");
  return settings;
}

}  // namespace tlc::cache
