// SPDX-License-Identifier: MIT
// tlcache stats: the counters, for people, as JSON and as OpenMetrics.
#include <algorithm>
#include <array>
#include <memory>

#include "common.hpp"

namespace tlc::tool {
namespace {

struct Args {
  std::string name_space;
  bool open_metrics = false;
};

struct Metric {
  const char* member;
  const char* name;
  const char* help;
  enum Kind { counter, seconds, gauge } kind;
};

constexpr std::array<Metric, 19> metrics = {{
    {"hits", "hits", "Look-ups that found an artifact", Metric::counter},
    {"misses", "misses", "Look-ups that found nothing", Metric::counter},
    {"rejections", "rejections", "Look-ups that found something unusable", Metric::counter},
    {"puts", "puts", "Artifacts published", Metric::counter},
    {"not_stored", "not_stored", "Artifacts that could not be kept", Metric::counter},
    {"compiles", "compiles", "Compiles that ran", Metric::counter},
    {"compile_us", "compile_seconds", "Time spent compiling", Metric::seconds},
    {"saved_us", "saved_seconds", "Compile time that hits saved", Metric::seconds},
    {"evictions", "evictions", "Entries evicted", Metric::counter},
    {"youngest_evicted_s", "youngest_evicted_seconds", "Least age at eviction, 0 if none", Metric::gauge},
    {"remote_gets", "remote_gets", "Times a remote was asked", Metric::counter},
    {"remote_hits", "remote_hits", "Artifacts that came from a remote", Metric::counter},
    {"remote_puts", "remote_puts", "Artifacts and links stored at a remote", Metric::counter},
    {"remote_errors", "remote_errors", "Calls of remotes that failed or were late", Metric::counter},
    {"entries", "entries", "Live entries", Metric::gauge},
    {"disk_bytes", "disk_bytes", "Allocated under the store's folder", Metric::gauge},
    {"limit_bytes", "limit_bytes", "The store's limit", Metric::gauge},
    {"unlinked_bytes", "unlinked_bytes", "Mapped by this process, no longer in the store", Metric::gauge},
    {"memory_bytes", "memory_bytes", "Artifacts kept in memory by this process", Metric::gauge},
}};

std::string escape_label(const std::string& value) {
  std::string result;
  for (const char letter : value) {
    if (letter == '\\' || letter == '"') result += '\\';
    result += letter;
  }
  return result;
}

std::string metric_value(const Metric& metric, const Json& counters) {
  const std::uint64_t value = number(counters, metric.member);
  if (metric.kind != Metric::seconds) return fmt::format("{}", value);
  return fmt::format("{}.{:06}", value / 1'000'000, value % 1'000'000);
}

void print_header(const std::string& family, const Metric& metric) {
  const bool counts = metric.kind != Metric::gauge;
  print("# HELP {} {}.\n# TYPE {} {}\n", family, metric.help, family, counts ? "counter" : "gauge");
  const std::string_view name = metric.name;
  if (name.ends_with("_seconds")) print("# UNIT {} seconds\n", family);
  if (name.ends_with("_bytes")) print("# UNIT {} bytes\n", family);
}

/// The whole store as tlcache_*, each namespace as tlcache_namespace_*: sums do not count twice.
void print_open_metrics(const Json& total, const Json& namespaces) {
  for (const Metric& metric : metrics) {
    if (!total.is_object() || !total.contains(metric.member)) continue;
    // The unit is the end of a family's name, before _total.
    const std::string family = fmt::format("tlcache_{}", metric.name);
    print_header(family, metric);
    print("{}{} {}\n", family, metric.kind == Metric::gauge ? "" : "_total", metric_value(metric, total));
  }
  for (const Metric& metric : metrics) {
    if (metric.kind == Metric::gauge || namespaces.empty()) continue;
    const std::string family = fmt::format("tlcache_namespace_{}", metric.name);
    print_header(family, metric);
    for (const Json& one : namespaces) {
      print("{}_total{{namespace=\"{}\"}} {}\n", family, escape_label(text(one, "namespace")),
            metric_value(metric, one));
    }
  }
  print("# EOF\n");
}

std::string hit_rate(const Json& counters) {
  const std::uint64_t hits = number(counters, "hits");
  const std::uint64_t all = hits + number(counters, "misses") + number(counters, "rejections");
  return all == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(hits) / static_cast<double>(all));
}

void print_total(const Json& total) {
  const auto count = [&](const char* name) { return fmt::format("{}", number(total, name)); };
  const auto if_any = [&](const char* name, const std::string& shown) {
    return number(total, name) == 0 ? std::string() : shown;
  };
  const std::uint64_t evictions = number(total, "evictions");
  print_facts(
      {{"hits", fmt::format("{} of {}, {}", count("hits"),
                            plural(number(total, "hits") + number(total, "misses") + number(total, "rejections"),
                                   "look-up", "look-ups"),
                            hit_rate(total))},
       {"rejected", if_any("rejections", count("rejections") + " (damaged or foreign entries)")},
       {"compiled", fmt::format("{}, in {}", plural(number(total, "compiles"), "time", "times"),
                                human_micros(number(total, "compile_us")))},
       {"saved", human_micros(number(total, "saved_us")) + " of compiling"},
       {"published", count("puts")},
       {"not stored", if_any("not_stored", count("not_stored") + "; `tlcache doctor` says why")},
       {"remotes", if_any("remote_gets", fmt::format("asked {}, {} came from one",
                                                     plural(number(total, "remote_gets"), "time", "times"),
                                                     plural(number(total, "remote_hits"), "artifact", "artifacts")))},
       {"sent", if_any("remote_puts", count("remote_puts") + " to remotes")},
       {"remote errors", if_any("remote_errors", count("remote_errors") + "; `tlcache doctor` says why")},
       {"entries", count("entries")},
       {"disk",
        fmt::format("{} of {}", human_size(number(total, "disk_bytes")), human_size(number(total, "limit_bytes")))},
       {"evicted", evictions == 0 ? "none"
                                  : fmt::format("{}, the youngest {} old", evictions,
                                                human_seconds(number(total, "youngest_evicted_s")))}});
  if (evictions != 0 && number(total, "youngest_evicted_s") < 86400) {
    print(
        "\nEntries less than a day old were evicted: a larger limit would save compiles\n"
        "(`tlcache config limit SIZE`).\n");
  }
}

void print_namespaces(const Json& namespaces) {
  if (namespaces.empty()) return;
  Table table({{"NAMESPACE", Table::Align::left, true},
               {"HITS", Table::Align::right},
               {"MISSES", Table::Align::right},
               {"RATE", Table::Align::right},
               {"COMPILES", Table::Align::right},
               {"COMPILED IN", Table::Align::right},
               {"SAVED", Table::Align::right},
               {"EVICTED", Table::Align::right}});
  for (const Json& one : namespaces) {
    const auto count = [&](const char* name) { return fmt::format("{}", number(one, name)); };
    table.add({text(one, "namespace", "?"), count("hits"), count("misses"), hit_rate(one), count("compiles"),
               human_micros(number(one, "compile_us")), human_micros(number(one, "saved_us")), count("evictions")});
  }
  print("\n");
  table.print();
}

/// The counters of one namespace, as an item of the report's list.
const Json& one_namespace(const Json& namespaces, const std::string& name) {
  std::string names;
  for (const Json& one : namespaces) {
    const std::string known = text(one, "namespace");
    if (known == name) return one;
    names += (names.empty() ? "" : ", ") + known;
  }
  fail(exit_negative, "nothing is counted for namespace '{}'; there are: {}", name, names.empty() ? "none" : names);
}

int run(const Context& context, const Args& args) {
  if (args.open_metrics && context.json) fail(exit_usage, "give either --json or --openmetrics");
  const Cache cache = context.open();
  Error error;
  tlc_blob* json = nullptr;
  const tlc_status status = tlc_cache_stats_json(cache.get(), &json, &error);
  const Blob blob(json);
  check(status, error);
  const Json report = parse_report(blob);
  const Json& namespaces = part(report, "namespaces");
  if (!args.name_space.empty()) {
    const Json& one = one_namespace(namespaces, args.name_space);
    if (context.json) {
      print_json(one);
    } else if (args.open_metrics) {
      print_open_metrics(Json::object(), Json::array({one}));
    } else {
      print_namespaces(Json::array({one}));
    }
    return exit_ok;
  }
  if (context.json) {
    print_json(report);
  } else if (args.open_metrics) {
    print_open_metrics(part(report, "total"), namespaces);
  } else {
    print_total(part(report, "total"));
    print_namespaces(namespaces);
  }
  return exit_ok;
}

}  // namespace

void add_stats(CLI::App& app, Context& context) {
  auto args = std::make_shared<Args>();
  CLI::App* command =
      add_command(app, "stats", "Show hits, misses, compile time saved and evictions",
                  "Counts what all processes did since the store was made. A young age at eviction means that\n"
                  "the limit is too small.\n"
                  "\n"
                  "Examples:\n"
                  "  tlcache stats\n"
                  "  tlcache stats --namespace triton/3.6 --json\n"
                  "  tlcache stats --openmetrics > /var/lib/node_exporter/tlcache.prom\n");
  command->add_option("-n,--namespace", args->name_space, "Only this namespace")->type_name("NAME");
  command->add_flag("--openmetrics", args->open_metrics, "In the OpenMetrics text format");
  command->callback([&context, args] { context.run = [&context, args] { return run(context, *args); }; });
}

}  // namespace tlc::tool
