// SPDX-License-Identifier: MIT
// tlcache put: files published under a key whose fields are given by hand.
#include <memory>
#include <set>

#include "common.hpp"
#include "fields.hpp"
#include "files.hpp"

namespace tlc::tool {
namespace {

struct Args {
  std::string name_space;
  std::string target;
  std::string engine;
  std::string toolchain;
  std::string label;
  bool no_toolchain = false;
  bool replace = false;
  std::vector<std::string> fields;
  std::vector<std::string> members;
};

Request make_request(const Args& args) {
  Error error;
  tlc_request* created = nullptr;
  tlc_status status = tlc_request_create(str(args.name_space), &created, &error);
  Request request(created);
  check(status, error, fmt::format("--namespace '{}'", args.name_space));
  const auto set = [&](const std::string& value, auto function, const char* option) {
    if (value.empty()) return;
    check(function(created, str(value), &error), error, fmt::format("{} '{}'", option, value));
  };
  set(args.target, tlc_request_set_target, "--target");
  set(args.engine, tlc_request_set_engine, "--engine");
  if (args.no_toolchain) {
    check(tlc_request_set_no_toolchain(created, &error), error, "--no-toolchain");
  } else if (!args.toolchain.empty()) {
    status = tlc_request_set_toolchain(created, args.toolchain.data(), args.toolchain.size(), &error);
    check(status, error, "--toolchain");
  }
  add_fields(created, args.fields);
  return request;
}

Bundle make_bundle(const Args& args) {
  Error error;
  tlc_bundle* created = nullptr;
  const tlc_status status = tlc_bundle_create(&created, &error);
  Bundle bundle(created);
  check(status, error);
  if (!args.label.empty()) check(tlc_bundle_set_label(created, str(args.label), &error), error, "--label");
  std::set<std::string> seen;
  for (const std::string& given : args.members) {
    const MemberFile member = parse_member(given);
    if (!seen.insert(member.name).second) {
      fail(exit_usage, "member '{}' is given twice", member.name);
    }
    const std::string bytes = read_file(member.path);
    check(tlc_bundle_add(created, str(member.name), member.type, bytes.data(), bytes.size(), 0, &error), error,
          fmt::format("member '{}'", member.name));
  }
  return bundle;
}

tlc_status publish(tlc_cache* cache, const tlc_key* key, const tlc_bundle* bundle, bool replace, tlc_error* error) {
  if (!replace) return tlc_cache_put(cache, key, bundle, nullptr, error);
  tlc_artifact* there = nullptr;
  const tlc_status found = tlc_cache_get(cache, key, &there, error);
  const Artifact seen(there);
  if (found < 0) return found;
  // What was rejected is no generation to replace: a plain put takes its place.
  return seen ? tlc_cache_replace(cache, key, seen.get(), bundle, nullptr, error)
              : tlc_cache_put(cache, key, bundle, nullptr, error);
}

int run(const Context& context, const Args& args) {
  context.require_writable("put");
  const Request request = make_request(args);
  const Bundle bundle = make_bundle(args);
  const Cache cache = context.open();
  Error error;
  tlc_key* made = nullptr;
  tlc_status status = tlc_cache_key(cache.get(), request.get(), &made, &error);
  const Key key(made);
  if (status == TLC_E_UNCACHEABLE && args.toolchain.empty() && !args.no_toolchain) {
    fail(exit_usage, "{}: say what made the artifact with --toolchain, or --no-toolchain", explain(status, error));
  }
  check(status, error);
  status = publish(cache.get(), key.get(), bundle.get(), args.replace, &error);
  if (status != TLC_OK && status != TLC_EXISTED) {
    fail(exit_code(status), "not stored: {}", explain(status, error));
  }
  const bool existed = status == TLC_EXISTED;
  const std::string digest = hex(tlc_key_digest(key.get()));
  if (context.json) {
    print_json({{"outcome", existed ? "existed" : "stored"}, {"digest", digest}});
    return exit_ok;
  }
  print("{}\n", digest);
  if (existed && !context.quiet) {
    write_stderr("tlcache: this key is stored already and was kept; --replace takes its place\n");
  }
  return exit_ok;
}

}  // namespace

void add_put(CLI::App& app, Context& context) {
  auto args = std::make_shared<Args>();
  CLI::App* command =
      add_command(app, "put", "Store files under a key that you state",
                  "Prints the key's digest. Programs that state the same namespace, target, engine, toolchain and\n"
                  "fields find the artifact, in any language. A key that is stored already is kept.\n"
                  "\n"
                  "Types of fields: text (the default), int, f64, bool, file (a file's bytes), null.\n"
                  "Types of members: opaque, so, binary, ir, source, json, object; by the name's ending if not\n"
                  "stated.\n"
                  "\n"
                  "Examples:\n"
                  "  tlcache put -n myapp --no-toolchain --field kernel=matmul --field tile:int=64 \\\n"
                  "      matmul.so=build/matmul.so\n"
                  "  tlcache put -n myapp --toolchain gcc-12.2 --field source:file=k.c k.so=k.so meta.json=m.json\n");
  command->add_option("MEMBER", args->members, "NAME=PATH or NAME:TYPE=PATH; - reads standard input")
      ->required()
      ->type_name("");
  command->add_option("-n,--namespace", args->name_space, "Namespace of the key")->required()->type_name("NAME");
  command
      ->add_option("-f,--field", args->fields,
                   "A field of the key: NAME=TEXT, NAME:TYPE=VALUE or NAME:null; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FIELD");
  command->add_option("-t,--target", args->target, "What it was compiled for; default: nothing")->type_name("TARGET");
  command->add_option("-e,--engine", args->engine, "The engine")->type_name("ENGINE");
  CLI::Option* toolchain =
      command->add_option("--toolchain", args->toolchain, "What made it: a version, a build, a digest")
          ->type_name("TEXT");
  command->add_flag("--no-toolchain", args->no_toolchain, "Nothing compiled it")->excludes(toolchain);
  command->add_option("--label", args->label, "Label for people")->type_name("TEXT");
  command->add_flag("--replace", args->replace, "Publish also when the key is stored already");
  command->callback([&context, args] { context.run = [&context, args] { return run(context, *args); }; });
}

}  // namespace tlc::tool
