// SPDX-License-Identifier: MIT
// tlcache doctor, backends, version: what is set up on this machine.
#include <memory>

#include "common.hpp"

namespace tlc::tool {
namespace {

// ------------------------------------------------------------------------------ backends

Json read_backends(tlc_cache* cache) {
  Error error;
  tlc_blob* json = nullptr;
  const tlc_status status = tlc_cache_backends(cache, &json, &error);
  const Blob blob(json);
  check(status, error);
  return parse_report(blob);
}

void print_backend(const Json& backend) {
  const bool available = flag(backend, "available");
  print("{}  {}  {}\n", styled(Style::bold, text(backend, "engine", "?")), text(backend, "name"),
        available ? styled(Style::green, "available") : styled(Style::yellow, "not available"));
  std::vector<std::pair<std::string, std::string>> facts = {{"because", available ? "" : text(backend, "reason")},
                                                            {"targets", text(backend, "kinds")},
                                                            {"default for", text(backend, "default_of")},
                                                            {"from", text(backend, "origin")}};
  const Json& found = part(backend, "found");
  if (found.is_object()) {
    for (const auto& [name, value] : found.items()) facts.emplace_back(clean(name), value_text(value));
  }
  print_facts(facts, "  ");
}

void print_backends(const Json& report) {
  const Json& list = part(report, "backends");
  if (list.empty()) print("no backend is registered\n");
  for (const Json& backend : list) print_backend(backend);
  for (const Json& plugin : part(report, "refused")) {
    print("{} {}: {}\n", styled(Style::red, "refused"), text(plugin, "origin", "?"),
          text(plugin, "reason", "no reason given"));
  }
}

int backends(const Context& context) {
  const Cache cache = context.open(Context::Open::lenient);
  const Json report = read_backends(cache.get());
  if (context.json) {
    print_json(report);
  } else {
    print_backends(report);
  }
  return exit_ok;
}

// ------------------------------------------------------------------------------ doctor

std::string state_sentence(const Json& report) {
  const std::string state = text(report, "state", "unknown");
  const std::string reason = text(report, "reason");
  const std::string because = reason.empty() ? "" : ": " + reason;
  if (state == "store") return styled(Style::green, "in use") + because;
  if (state == "read-only") return styled(Style::yellow, "read only") + because;
  if (state == "memory") return styled(Style::red, "not used, artifacts stay in memory") + because;
  return state + because;
}

void print_store(const Json& report) {
  const Json& index = part(report, "index");
  const Json& segments = part(report, "segments");
  const bool has_index = index.is_object() && !index.empty();
  const bool has_segments = segments.is_object() && !segments.empty();
  print_facts(
      {{"library", text(report, "version")},
       {"store", text(report, "directory")},
       {"format", text(report, "format_directory")},
       {"state", state_sentence(report)},
       {"disk",
        fmt::format("{} of {}", human_size(number(report, "disk_bytes")), human_size(number(report, "limit_bytes")))},
       {"entries", fmt::format("{}", number(report, "entries"))},
       {"index", has_index
                     ? fmt::format("{}, generation {}{}", human_size(number(index, "bytes")),
                                   number(index, "generation"), flag(index, "rebuilding") ? ", being rebuilt" : "")
                     : ""},
       {"segments",
        has_segments ? fmt::format("{}, {}", number(segments, "count"), human_size(number(segments, "bytes"))) : ""}});
  const Json& libraries = part(report, "libraries");
  if (libraries.is_object() && !libraries.empty()) {
    std::string line;
    for (const auto& [name, version] : libraries.items()) {
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", clean(name), value_text(version));
    }
    print("built on  {}\n", line);
  }
}

void print_settings(const Json& settings) {
  if (settings.empty()) return;
  print("\n{}\n", styled(Style::bold, "Settings, and where they come from"));
  Table table({{"NAME"}, {"VALUE"}, {"FROM"}});
  for (const Json& setting : settings) {
    table.add({text(setting, "name"), text(setting, "value", "-"), text(setting, "origin")});
  }
  table.print("  ");
}

void print_remotes(const Json& remotes) {
  if (remotes.empty()) return;
  print("\n{}\n", styled(Style::bold, "Remotes"));
  for (const Json& remote : remotes) {
    const std::string state = text(remote, "state", "?");
    print("{}  {}\n", text(remote, "url", "?"), styled(state == "ready" ? Style::green : Style::yellow, state));
    const std::uint64_t queued = number(remote, "queued");
    print_facts({{"because", text(remote, "reason")},
                 {"named by", text(remote, "origin")},
                 {"written to", flag(remote, "writable") ? "yes" : "no"},
                 {"queued", queued == 0 ? "" : plural(queued, "key", "keys")}},
                "  ");
  }
}

int doctor(const Context& context) {
  const Cache cache = context.open(Context::Open::lenient);
  Error error;
  tlc_blob* json = nullptr;
  const tlc_status status = tlc_cache_describe(cache.get(), &json, &error);
  const Blob blob(json);
  check(status, error);
  Json report = parse_report(blob);
  const Json found = read_backends(cache.get());
  const int code = text(report, "state") == "memory" ? exit_negative : exit_ok;
  if (context.json) {
    if (report.is_object()) {
      report["backends"] = part(found, "backends");
      report["refused"] = part(found, "refused");
    }
    print_json(report);
    return code;
  }
  print_store(report);
  print_remotes(part(report, "remotes"));
  print_settings(part(report, "settings"));
  print("\n{}\n", styled(Style::bold, "Backends"));
  print_backends(found);
  const Json& warnings = part(report, "warnings");
  print("\n{}\n", styled(Style::bold, "Findings"));
  for (const Json& warning : warnings) {
    print("  {} {}\n", styled(Style::yellow, "warning:"), value_text(warning));
  }
  if (warnings.empty())
    print("  {}\n", code == exit_ok ? "nothing is wrong" : text(report, "reason", "the store cannot be used"));
  return code;
}

// ------------------------------------------------------------------------------ version

int version(const Context& context) {
  const std::uint32_t abi = tlc_abi_version();
  const std::string abi_text = fmt::format("{}.{}", abi >> 16U, abi & 0xFFFFU);
  Json features = Json::array();
  constexpr std::array<std::pair<std::uint64_t, const char*>, 4> names = {{{TLC_FEATURE_STORE, "store"},
                                                                           {TLC_FEATURE_PLUGINS, "plugins"},
                                                                           {TLC_FEATURE_PACKS, "packs"},
                                                                           {TLC_FEATURE_REMOTES, "remotes"}}};
  for (const auto& [bit, name] : names) {
    if ((tlc_features() & bit) != 0) features.push_back(name);
  }
  if (context.json) {
    print_json({{"tool", TLC_VERSION_STRING},
                {"library", tlc_version_string()},
                {"abi", abi_text},
                {"features", features},
                {"build", tlc_build_info()}});
    return exit_ok;
  }
  print("tlcache {}\n", TLC_VERSION_STRING);
  if (context.quiet) return exit_ok;
  print_facts({{"library", tlc_version_string()},
               {"ABI", abi_text},
               {"features", value_text(features)},
               {"build", clean(tlc_build_info())}});
  return exit_ok;
}

}  // namespace

void add_doctor(CLI::App& app, Context& context) {
  CLI::App* command = add_command(app, "backends", "List the backends and what each found on this machine",
                                  "Example:\n  tlcache backends --allow-plugins\n");
  command->callback([&context] { context.run = [&context] { return backends(context); }; });

  command = add_command(app, "doctor", "Say where the store is, what is set, and what is wrong",
                        "Shows each setting and where it comes from. Exit code 1 when no store can be used.\n"
                        "\n"
                        "Example:\n  tlcache doctor\n");
  command->callback([&context] { context.run = [&context] { return doctor(context); }; });

  command =
      add_command(app, "version", "Show the versions of tool and library", "Example:\n  tlcache version --json\n");
  command->callback([&context] { context.run = [&context] { return version(context); }; });
}

}  // namespace tlc::tool
