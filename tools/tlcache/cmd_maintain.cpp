// SPDX-License-Identifier: MIT
// tlcache verify, gc, clear, config: keeping the store in order.
#include <memory>

#include "common.hpp"
#include "signals.hpp"

namespace tlc::tool {
namespace {

// ------------------------------------------------------------------------------ verify

bool is_bad(const Json& file) {
  const std::string state = text(file, "state");
  return state == "damaged" || state == "bad" || state == "corrupt";
}

void print_verify(const Json& report, bool repair) {
  const Json& damaged = part(report, "damaged");
  print("checked {}, {}\n", plural(number(report, "entries"), "entry", "entries"), human_size(number(report, "bytes")));
  for (const Json& entry : damaged) {
    const std::string label = text(entry, "label");
    print("  {} {}{}: {}{}\n", styled(Style::red, "damaged"), text(entry, "digest", "?").substr(0, 12),
          label.empty() ? "" : fmt::format(" ({})", label), text(entry, "reason", "no reason given"),
          flag(entry, "repaired") ? "; taken out" : "");
  }
  for (const char* file : {"index", "config"}) {
    const std::string state = text(part(report, file), "state");
    const std::string detail = text(part(report, file), "detail");
    if (!state.empty()) print("{}: {}{}{}\n", file, state, detail.empty() ? "" : ", ", detail);
  }
  if (const std::uint64_t leftovers = number(report, "leftovers"); leftovers != 0) {
    print("{} of killed processes{}\n", plural(leftovers, "leftover", "leftovers"),
          repair ? " removed" : "; --repair or `tlcache gc` removes them");
  }
}

int verify(const Context& context, bool repair) {
  if (repair) context.require_writable("verify --repair");
  const Cache cache = context.open();
  Error error;
  tlc_blob* json = nullptr;
  tlc_status status = TLC_OK;
  {
    const Interruptible interruptible;
    Progress progress("verify");
    status = tlc_cache_verify(cache.get(), repair ? TLC_VERIFY_REPAIR : 0, Progress::step, &progress, &json, &error);
  }
  const Blob blob(json);
  check(status, error);
  const Json report = parse_report(blob);
  std::uint64_t unrepaired = 0;
  for (const char* file : {"index", "config"}) unrepaired += is_bad(part(report, file)) && !repair ? 1 : 0;
  for (const Json& entry : part(report, "damaged")) unrepaired += flag(entry, "repaired") ? 0 : 1;
  if (context.json) {
    print_json(report);
  } else if (!context.quiet || unrepaired != 0) {
    print_verify(report, repair);
    if (unrepaired == 0) {
      print("{}\n", styled(Style::green, "the store is sound"));
    } else if (!repair) {
      print("damaged entries are never used: a look-up misses them; --repair takes them out\n");
    }
  }
  return unrepaired == 0 ? exit_ok : exit_negative;
}

// ------------------------------------------------------------------------------ gc

int gc(const Context& context, const std::string& max) {
  context.require_writable("gc");
  std::uint64_t bytes = 0;
  if (!max.empty() && !parse_size(max, bytes)) {
    fail(exit_usage, "--max '{}' is no size: give bytes, or a number with K, M, G or T", max);
  }
  if (!max.empty() && bytes == 0) bytes = 1;  // 0 means the limit to the library; here, nothing
  const Cache cache = context.open();
  Error error;
  tlc_blob* json = nullptr;
  tlc_status status = TLC_OK;
  {
    const Interruptible interruptible;
    Progress progress("gc");
    status = tlc_cache_gc(cache.get(), bytes, Progress::step, &progress, &json, &error);
  }
  const Blob blob(json);
  check(status, error);
  const Json report = parse_report(blob);
  if (context.json) {
    print_json(report);
  } else if (!context.quiet) {
    print("freed {}: {} evicted, {} removed\n", human_size(number(report, "freed_bytes")),
          plural(number(report, "evicted_entries"), "entry", "entries"),
          plural(number(report, "removed_files"), "file", "files"));
    print("the store takes {} of {}\n", human_size(number(report, "disk_bytes")),
          human_size(number(report, "limit_bytes")));
  }
  return exit_ok;
}

// ------------------------------------------------------------------------------ clear

struct ClearArgs {
  std::string name_space;
  bool named = false;
  bool all = false;
};

int clear(const Context& context, const ClearArgs& args) {
  context.require_writable("clear");
  if (args.named == args.all) {
    fail(exit_usage, "say what to clear: --namespace NAME, or --all for everything");
  }
  if (args.named && args.name_space.empty()) {
    fail(exit_usage, "--namespace is empty; --all clears everything");
  }
  const Cache cache = context.open();
  Error error;
  std::uint64_t removed = 0;
  check(tlc_cache_clear(cache.get(), str(args.name_space), &removed, &error), error);
  if (context.json) {
    print_json({{"removed", removed}});
  } else if (!context.quiet) {
    print("removed {}\n", plural(removed, "entry", "entries"));
  }
  return exit_ok;
}

// ------------------------------------------------------------------------------ config

struct ConfigArgs {
  std::string name;
  std::string value;
};

Json describe(tlc_cache* cache) {
  Error error;
  tlc_blob* json = nullptr;
  const tlc_status status = tlc_cache_describe(cache, &json, &error);
  const Blob blob(json);
  check(status, error);
  return parse_report(blob);
}

void print_settings(const Json& settings) {
  Table table({{"NAME"}, {"VALUE"}, {"FROM"}});
  for (const Json& setting : settings) {
    table.add({text(setting, "name"), text(setting, "value", "-"), text(setting, "origin")});
  }
  table.print();
}

int show_config(const Context& context, const Json& report, const std::string& name) {
  const Json& settings = part(report, "settings");
  if (name.empty()) {
    if (context.json) {
      print_json({{"limit_bytes", number(report, "limit_bytes")}, {"settings", settings}});
    } else {
      print("limit  {}\n\n", human_size(number(report, "limit_bytes")));
      print_settings(settings);
    }
    return exit_ok;
  }
  if (name == "limit") {
    const std::uint64_t limit = number(report, "limit_bytes");
    context.json ? print_json({{"name", name}, {"value", limit}}) : print("{}\n", human_size(limit));
    return exit_ok;
  }
  std::string names = "limit";
  for (const Json& setting : settings) {
    const std::string known = text(setting, "name");
    if (known == name) {
      context.json ? print_json(setting) : print("{}\n", text(setting, "value"));
      return exit_ok;
    }
    if (known != "limit") names += ", " + known;
  }
  fail(exit_usage, "there is no setting '{}'; there are: {}", name, names);
}

int config(const Context& context, const ConfigArgs& args) {
  if (args.value.empty()) {
    const Cache cache = context.open();
    return show_config(context, describe(cache.get()), args.name);
  }
  context.require_writable("config with a value");
  const Cache cache = context.open();
  Error error;
  check(tlc_cache_configure(cache.get(), str(args.name), str(args.value), &error), error);
  return context.quiet ? exit_ok : show_config(context, describe(cache.get()), args.name);
}

void add_gc(CLI::App& app, Context& context) {
  auto max = std::make_shared<std::string>();
  CLI::App* command =
      add_command(app, "gc", "Evict down to the limit and remove leftovers",
                  "The store keeps its limit by itself; this is for making room at once. What is evicted is what\n"
                  "is cheap to compile again and was not used for long. Programs that hold an artifact keep it.\n"
                  "\n"
                  "Example:\n  tlcache gc --max 2G\n");
  command->add_option("--max", *max, "Evict down to so many bytes; K, M, G and T are understood")->type_name("SIZE");
  command->callback([&context, max] { context.run = [&context, max] { return gc(context, *max); }; });
}

void add_clear(CLI::App& app, Context& context) {
  auto args = std::make_shared<ClearArgs>();
  CLI::App* command = add_command(app, "clear", "Remove all entries, or those of a namespace",
                                  "Does not ask. Programs that hold an artifact keep it.\n"
                                  "\n"
                                  "Examples:\n"
                                  "  tlcache clear --namespace myapp\n"
                                  "  tlcache clear --all\n");
  CLI::Option* name =
      command->add_option("-n,--namespace", args->name_space, "Entries of this namespace")->type_name("NAME");
  command->add_flag("--all", args->all, "Everything");
  command->callback([&context, args, name] {
    args->named = name->count() != 0;
    context.run = [&context, args] { return clear(context, *args); };
  });
}

}  // namespace

void add_maintain(CLI::App& app, Context& context) {
  auto repair = std::make_shared<bool>(false);
  CLI::App* command =
      add_command(app, "verify", "Read everything that is stored and check it",
                  "Exit code 1 when something is damaged and was not repaired. Damaged entries are never handed\n"
                  "out, with or without this check.\n"
                  "\n"
                  "--repair takes damaged entries out, makes a damaged index anew from the segments and waits for\n"
                  "it, writes a damaged config again, and removes what killed processes left over an hour ago.\n"
                  "Ctrl-C stops it at any point; what was done stays done, and the next run goes on.\n"
                  "\n"
                  "Example:\n  tlcache verify --repair\n");
  command->add_flag("--repair", *repair, "Take out what is damaged, rebuild the index, remove leftovers");
  command->callback([&context, repair] { context.run = [&context, repair] { return verify(context, *repair); }; });

  add_gc(app, context);
  add_clear(app, context);

  auto args = std::make_shared<ConfigArgs>();
  CLI::App* settings = add_command(app, "config", "Show the settings, or change the store's limit",
                                   "The limit belongs to the store: it holds for every program that uses it.\n"
                                   "\n"
                                   "Examples:\n"
                                   "  tlcache config\n"
                                   "  tlcache config limit 20G\n");
  settings->add_option("NAME", args->name, "A setting; `limit` can be changed")->type_name("");
  settings->add_option("VALUE", args->value, "Its new value; bytes with K, M, G or T for the limit")->type_name("");
  settings->callback([&context, args] { context.run = [&context, args] { return config(context, *args); }; });
}

}  // namespace tlc::tool
