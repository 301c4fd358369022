// SPDX-License-Identifier: MIT
// tlcache compile: one file through the cache.
#include <chrono>
#include <memory>

#include "compile_args.hpp"
#include "files.hpp"
#include "signals.hpp"

namespace tlc::tool {
namespace {

struct Args : CompileArgs {
  std::string out;
  bool closed = false;
  bool keep_failure = false;
  bool never = false;
  double timeout_s = 0;
};

struct Outcome {
  Artifact artifact;
  Blob log;
  std::uint64_t took_us = 0;
};

Outcome get_or_compile(tlc_cache* cache, const tlc_request* request, const Args& args) {
  Error error;
  tlc_cancel* token = nullptr;
  check(tlc_cancel_create(&token, &error), error);
  const Cancel cancel(token);
  const Interruptible interruptible(token);

  tlc_compile_options options;
  tlc_compile_options_init(&options);
  options.cancel = token;
  options.timeout_ms = static_cast<std::int64_t>(args.timeout_s * 1000);
  if (args.closed) options.flags |= TLC_COMPILE_CLOSED;
  if (args.keep_failure) options.flags |= TLC_COMPILE_KEEP_FAILURE;
  if (args.never) options.flags |= TLC_COMPILE_NEVER;

  const auto start = std::chrono::steady_clock::now();
  tlc_artifact* artifact = nullptr;
  tlc_blob* log = nullptr;
  const tlc_status status = tlc_cache_get_or_compile(cache, request, &options, &artifact, &log, &error);
  const auto took = std::chrono::steady_clock::now() - start;
  Outcome outcome{Artifact(artifact), Blob(log),
                  static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count())};
  if (!view(outcome.log).empty()) {
    write_stderr(view(outcome.log));
    if (view(outcome.log).back() != '\n') write_stderr("\n");
  }
  if (status == TLC_MISS || status == TLC_REJECTED) return outcome;
  if (status < 0 && interrupted() == 0) fail_with_backends(cache, args, status, error);
  check(status, error, args.file);
  return outcome;
}

/// One sentence when the artifact is in memory only, because the store could not keep it.
void warn_unless_stored(tlc_cache* cache) {
  Error error;
  tlc_blob* json = nullptr;
  if (tlc_cache_describe(cache, &json, &error) != TLC_OK) return;
  const Blob blob(json);
  const Json report = parse_report(blob);
  const std::string state = text(report, "state");
  if (state != "memory") return;
  const std::string reason = text(report, "reason");
  warn(fmt::format("no store can be used, so nothing is kept{}{}", reason.empty() ? "" : ": ", reason));
}

void report_miss(const Context& context) {
  if (context.json) {
    print_json({{"outcome", "miss"}});
  } else if (!context.quiet) {
    print("miss: not stored, and --no-compile was given\n");
  }
}

void report(const Context& context, const Outcome& outcome, const std::vector<std::string>& files) {
  const tlc_artifact_info info = info_of(outcome.artifact.get());
  const bool compiled = outcome.log != nullptr;
  if (context.json) {
    Json json = {{"outcome", compiled ? "compiled" : "hit"},
                 {"digest", hex(info.digest)},
                 {"namespace", view(info.name_space)},
                 {"label", view(info.label)},
                 {"elapsed_us", outcome.took_us},
                 {"compile_us", info.compile_us},
                 {"members", members_json(outcome.artifact.get())},
                 {"written", files}};
    print_json(json);
    return;
  }
  if (context.quiet) return;
  print("{}  {}  in {}{}\n", compiled ? styled(Style::yellow, "compiled") : styled(Style::green, "hit"),
        hex(info.digest), human_micros(outcome.took_us),
        compiled ? "" : fmt::format(" (compiling it took {})", human_micros(info.compile_us)));
  for (const tlc_member& member : members_of(outcome.artifact.get())) {
    print("  {}  {}, {}\n", clean(view(member.name)), human_size(member.size), member_type(member.type));
  }
  for (const std::string& file : files) print("wrote {}\n", clean(file));
}

int run(const Context& context, const Args& args) {
  if (args.out == "-" && context.json) {
    fail(exit_usage, "-o - and --json both want standard output; write to a file");
  }
  const Request request = build_request(args);
  const Cache cache = context.open(Context::Open::lenient);
  const Outcome outcome = get_or_compile(cache.get(), request.get(), args);
  if (!context.quiet) warn_unless_stored(cache.get());
  if (!outcome.artifact) {
    report_miss(context);
    return exit_negative;
  }
  std::vector<std::string> files;
  if (!args.out.empty()) files = write_members(outcome.artifact.get(), args.out);
  if (args.out != "-") report(context, outcome, files);
  return exit_ok;
}

}  // namespace

void add_compile(CLI::App& app, Context& context) {
  auto args = std::make_shared<Args>();
  CLI::App* command =
      add_command(app, "compile", "Compile a file, or take what was compiled before",
                  "Says `hit` or `compiled`. What the compiler prints goes to standard error. The source is the\n"
                  "file's text; the headers that it reads are checked at each look-up.\n"
                  "\n"
                  "Examples:\n"
                  "  tlcache compile matmul.c --target cpu:native -O3 -o matmul.so\n"
                  "  tlcache compile matmul.cpp -t cpu --std c++20 -D TILE=64 -I include --option=-ffast-math\n"
                  "  tlcache compile matmul.c -t cpu --no-compile   # is it there? exit code 0 or 1\n");
  command->add_option("FILE", args->file, "Source file; - for standard input")->required()->type_name("");
  add_compile_options(*command, *args);
  command->add_option("-o,--output", args->out, "Write the artifact: a file, or a folder when it has several members")
      ->type_name("PATH");
  command->add_flag("--closed", args->closed, "Count a hit only if all that it requires is there");
  command->add_flag("--keep-failure", args->keep_failure, "Remember a compile error for a day");
  command->add_flag("--no-compile", args->never, "Only look; a miss ends with exit code 1");
  command->add_option("--timeout", args->timeout_s, "How long to wait for another process that compiles the same")
      ->type_name("SECONDS")
      ->check(seconds());
  command->callback([&context, args] { context.run = [&context, args] { return run(context, *args); }; });
}

}  // namespace tlc::tool
