// SPDX-License-Identifier: MIT
// tlcache ls, show, get: what is stored.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "common.hpp"
#include "entries.hpp"
#include "files.hpp"

namespace tlc::tool {
namespace {

// ---------------------------------------------------------------------------------- ls

struct LsArgs {
  std::string name_space;
  std::string sort = "age";
  std::uint64_t limit = 0;
  bool all = false;
  bool long_digests = false;
};

void sort_entries(std::vector<Entry>& entries, const std::string& by) {
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    const auto rank = [&](const Entry& entry) {
      return by == "size" ? entry.size : by == "used" ? entry.last_used_s : entry.created_ns;
    };
    return rank(a) != rank(b) ? rank(a) > rank(b) : a.digest < b.digest;
  });
}

int ls(const Context& context, const LsArgs& args) {
  const Cache cache = context.open();
  std::vector<Entry> entries = list_entries(cache.get(), args.name_space);
  if (!args.all) {
    std::erase_if(entries, [&](const Entry& entry) {
      return !is_plain(entry) && (entry.kind != "artifact" || entry.name_space != args.name_space);
    });
  }
  sort_entries(entries, args.sort);
  const std::size_t count = entries.size();
  if (args.limit != 0 && args.limit < count) entries.resize(args.limit);
  if (context.json) {
    Json list = Json::array();
    for (const Entry& entry : entries) list.push_back(to_json(entry));
    print_json({{"count", count}, {"entries", list}});
    return exit_ok;
  }
  if (entries.empty()) {
    if (!context.quiet) print("nothing is stored{}\n", args.name_space.empty() ? "" : " in this namespace");
    return exit_ok;
  }
  std::vector<Table::Column> columns = {{"DIGEST"}, {"NAMESPACE"}, {"LABEL", Table::Align::left, true}};
  if (args.all) columns.push_back({"KIND"});
  for (const char* title : {"SIZE", "BUILT", "USED", "COMPILE"}) {
    columns.push_back({title, Table::Align::right});
  }
  Table table(columns);
  for (const Entry& entry : entries) {
    std::vector<std::string> row = {args.long_digests ? entry.digest : entry.digest.substr(0, 12),
                                    clean(entry.name_space), clean(entry.label)};
    if (args.all) row.push_back(clean(entry.kind));
    const std::uint64_t created = entry.created_ns / 1'000'000'000;
    // The stamp of the last use is cut to the minute, which may be before it was made.
    const std::uint64_t used = entry.last_used_s == 0 ? 0 : std::max(entry.last_used_s, created);
    row.insert(row.end(), {human_size(entry.size), human_age(created), human_age(used),
                           entry.compile_us == 0 ? "-" : human_micros(entry.compile_us)});
    table.add(std::move(row));
  }
  table.print();
  if (entries.size() < count && !context.quiet) print("... and {} more\n", count - entries.size());
  return exit_ok;
}

// ---------------------------------------------------------------------------------- show

/// The key of an artifact as the library describes it; null when it was stored by digest only.
Json describe_key(const tlc_artifact* artifact) {
  std::size_t length = 0;
  const std::uint8_t* encoding = tlc_artifact_key_encoding(artifact, &length);
  if (encoding == nullptr) return nullptr;
  Error error;
  tlc_key* decoded = nullptr;
  tlc_status status = tlc_key_decode(encoding, length, &decoded, &error);
  const Key key(decoded);
  check(status, error, "the stored key");
  tlc_blob* json = nullptr;
  status = tlc_key_describe(key.get(), &json, &error);
  const Blob blob(json);
  check(status, error, "the stored key");
  return parse_report(blob);
}

void print_fields(const Json& key) {
  const Json& fields = part(key, "fields");
  if (fields.empty()) return;
  print("\n");
  Table table({{"FIELD"}, {"VALUE"}});
  for (const auto& [name, value] : fields.items()) {
    if (value.is_object() && value.contains("name")) {
      const std::string shown = text(value, "text", text(value, "value"));
      table.add({text(value, "name"), shown});
    } else {
      table.add({clean(name), value_text(value)});
    }
  }
  table.print("  ");
}

/// What the artifact's backend reads from its binaries; null when there is none or it cannot tell.
Json describe_binaries(tlc_cache* cache, const tlc_artifact* artifact) {
  tlc_blob* json = nullptr;
  Error error;
  const tlc_status status = tlc_artifact_describe(artifact, cache, &json, &error);
  const Blob blob(json);
  if (status == TLC_E_UNSUPPORTED || status == TLC_E_NOT_FOUND) return nullptr;
  check(status, error, "the artifact's binaries");
  return parse_report(blob);
}

bool is_list_of_objects(const Json& value) {
  return value.is_array() && !value.empty() && value.front().is_object();
}

/// A list of objects as a table; its columns are the names that occur, in their order.
void print_objects(const std::string& title, const Json& objects) {
  std::vector<std::string> names;
  for (const Json& object : objects) {
    for (const auto& [name, value] : object.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  // The name first, whatever the order in which JSON objects are read.
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == "name"; });
  std::vector<Table::Column> columns;
  columns.reserve(names.size());
  for (const std::string& name : names) {
    std::string head = name == "name" ? title : name;
    std::replace(head.begin(), head.end(), '_', ' ');
    columns.push_back({head, name == "name" ? Table::Align::left : Table::Align::right});
  }
  Table table(columns);
  for (const Json& object : objects) {
    std::vector<std::string> row;
    row.reserve(names.size());
    for (const std::string& name : names) row.push_back(object.contains(name) ? value_text(object.at(name)) : "-");
    table.add(std::move(row));
  }
  print("\n");
  table.print("  ");
}

void print_binaries(const Json& binaries) {
  for (const auto& [member, facts] : part(binaries, "members").items()) {
    print("\n{}\n", clean(member));
    std::vector<std::pair<std::string, std::string>> plain;
    for (const auto& [name, value] : facts.items()) {
      if (!is_list_of_objects(value)) plain.emplace_back(clean(name), value_text(value));
    }
    print_facts(plain, "  ");
    for (const auto& [name, value] : facts.items()) {
      if (is_list_of_objects(value)) print_objects(name, value);
    }
  }
}

int show(const Context& context, const std::string& given) {
  const Cache cache = context.open();
  const Artifact artifact = find_artifact(cache.get(), given);
  const tlc_artifact_info info = info_of(artifact.get());
  const Json key = describe_key(artifact.get());
  const Json binaries = describe_binaries(cache.get(), artifact.get());
  static constexpr std::array<const char*, 4> tiers = {"memory", "store", "pack", "remote"};
  const std::string tier = info.tier < tiers.size() ? tiers.at(info.tier) : "?";
  if (context.json) {
    print_json({{"digest", hex(info.digest)},
                {"namespace", view(info.name_space)},
                {"label", view(info.label)},
                {"generation", info.generation},
                {"created_ns", info.created_ns},
                {"compile_us", info.compile_us},
                {"size", info.size},
                {"tier", tier},
                {"members", members_json(artifact.get())},
                {"binaries", binaries.is_null() ? binaries : part(binaries, "members")},
                {"key", key}});
    return exit_ok;
  }
  const std::uint64_t created = info.created_ns / 1'000'000'000;
  print_facts({{"digest", hex(info.digest)},
               {"namespace", clean(view(info.name_space))},
               {"label", clean(view(info.label))},
               {"target", text(key, "target")},
               {"engine", text(key, "engine")},
               {"built", fmt::format("{} ({})", human_date(created), human_age(created))},
               {"compile time", info.compile_us == 0 ? "" : human_micros(info.compile_us)},
               {"generation", fmt::format("{}", info.generation)},
               {"size", human_size(info.size)}});
  print("\n");
  Table table({{"MEMBER"}, {"SIZE", Table::Align::right}, {"TYPE"}});
  for (const tlc_member& member : members_of(artifact.get())) {
    table.add({clean(view(member.name)), human_size(member.size), member_type(member.type)});
  }
  table.print("  ");
  if (!binaries.is_null()) print_binaries(binaries);
  print_fields(key);
  return exit_ok;
}

// ---------------------------------------------------------------------------------- get

struct GetArgs {
  std::string digest;
  std::string out;
  std::string member;
};

std::size_t choose_member(const tlc_artifact* artifact, const std::string& wanted) {
  const std::vector<tlc_member> members = members_of(artifact);
  std::string names;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (view(members[i].name) == wanted) return i;
    names += (names.empty() ? "" : ", ") + std::string(view(members[i].name));
  }
  if (!wanted.empty()) fail(exit_negative, "there is no member '{}'; there are: {}", wanted, names);
  if (members.size() == 1) return 0;
  fail(exit_usage, "the artifact has {} members: give -o FOLDER, or --member with one of: {}", members.size(), names);
}

int get(const Context& context, const GetArgs& args) {
  const bool to_stdout = args.out.empty() || args.out == "-";
  if (to_stdout && context.json) fail(exit_usage, "get --json needs -o, for the bytes");
  const Cache cache = context.open();
  const Artifact artifact = find_artifact(cache.get(), args.digest);
  std::vector<std::string> written;
  if (to_stdout) {
    const std::size_t index = choose_member(artifact.get(), args.member);
    const std::string bytes = read_member(artifact.get(), index);
    if (::isatty(STDOUT_FILENO) == 1 && bytes.find('\0') != std::string::npos) {
      fail(exit_usage, "the member is binary and would garble the terminal; give -o FILE, or -o - into a pipe");
    }
    output().write(bytes);
    return exit_ok;
  }
  if (args.member.empty()) {
    written = write_members(artifact.get(), args.out);
  } else {
    const std::size_t index = choose_member(artifact.get(), args.member);
    const bool folder = is_folder(args.out);
    written = {folder ? (std::filesystem::path(args.out) / args.member).string() : args.out};
    write_member(artifact.get(), index, written.front());
  }
  if (context.json) {
    print_json({{"digest", hex(info_of(artifact.get()).digest)}, {"written", written}});
  } else if (!context.quiet) {
    for (const std::string& path : written) print("wrote {}\n", clean(path));
  }
  return exit_ok;
}

void add_get(CLI::App& app, Context& context) {
  auto args = std::make_shared<GetArgs>();
  CLI::App* command = add_command(app, "get", "Write out what is stored under a digest",
                                  "The only member goes to standard output unless -o says where.\n"
                                  "\n"
                                  "Examples:\n"
                                  "  tlcache get 3f2a91 -o matmul.so\n"
                                  "  tlcache get 3f2a91 --member source.c\n"
                                  "  tlcache get 3f2a91 -o folder/          # all members, under their own names\n");
  command->add_option("DIGEST", args->digest, "First hex digits of the digest, 4 or more")->required()->type_name("");
  command->add_option("-o,--output", args->out, "File, or folder when there are several members")->type_name("PATH");
  command->add_option("-m,--member", args->member, "Only this member")->type_name("NAME");
  command->callback([&context, args] { context.run = [&context, args] { return get(context, *args); }; });
}

}  // namespace

void add_store(CLI::App& app, Context& context) {
  add_get(app, context);

  auto ls_args = std::make_shared<LsArgs>();
  CLI::App* command = add_command(app, "ls", "List what is stored",
                                  "Examples:\n"
                                  "  tlcache ls --namespace triton/3.6 --sort size --limit 20\n"
                                  "  tlcache ls --json | jq '.entries[].digest'\n");
  command->add_option("-n,--namespace", ls_args->name_space, "Only this namespace")->type_name("NAME");
  command->add_option("-s,--sort", ls_args->sort, "age: newest first; size: largest; used: last used")
      ->type_name("age|size|used")
      ->check(one_of({"age", "size", "used"}));
  command->add_option("-l,--limit", ls_args->limit, "At most so many")->type_name("N")->check(whole_number());
  command->add_flag("-a,--all", ls_args->all,
                    "Also links, remembered compile errors and what the library keeps for itself");
  command->add_flag("--long", ls_args->long_digests, "Whole digests");
  command->callback([&context, ls_args] { context.run = [&context, ls_args] { return ls(context, *ls_args); }; });

  auto digest = std::make_shared<std::string>();
  CLI::App* shown =
      add_command(app, "show", "Show one artifact: its facts, members and key", "Example:\n  tlcache show 3f2a91\n");
  shown->add_option("DIGEST", *digest, "First hex digits of the digest, 4 or more")->required()->type_name("");
  shown->callback([&context, digest] { context.run = [&context, digest] { return show(context, *digest); }; });
}

}  // namespace tlc::tool
