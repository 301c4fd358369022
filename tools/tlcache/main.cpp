// SPDX-License-Identifier: MIT
// The tlcache command: the command line, and the one place where a failure becomes a sentence on
// standard error and an exit code.
#include <cstring>
#include <new>

#include "common.hpp"
#include "help.hpp"
#include "signals.hpp"

namespace tlc::tool {
namespace {

void add_global_options(CLI::App& app, Context& context) {
  app.add_option("--dir", context.directory, "The store's folder; default: TLC_DIR, else ~/.cache/tlcache")
      ->type_name("DIR");
  app.add_flag("--json", context.json, "Print facts as JSON; sizes in bytes, times as named");
  app.add_flag("-q,--quiet", context.quiet, "Print only what was asked for");
  app.add_flag("--read-only", context.read_only, "Never write to the store");
  app.add_flag("--allow-plugins", context.allow_plugins, "Load backends from TLC_BACKEND_PATH");
  app.add_option("--plugin", context.plugins, "Load a backend from this file; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.set_version_flag(
      "--version", [] { return std::string("tlcache ") + TLC_VERSION_STRING; }, "Show the version");
}

void add_commands(CLI::App& app, Context& context) {
  add_compile(app, context);
  add_why(app, context);
  add_store(app, context);
  add_put(app, context);
  add_stats(app, context);
  add_maintain(app, context);
  add_doctor(app, context);
  add_completion(app, context);
  app.footer(
      "Examples:\n"
      "  tlcache compile matmul.c --target cpu:native -O3 -o matmul.so\n"
      "  tlcache why matmul.c --target cpu:native -O2     # what would be compiled again, and why\n"
      "  tlcache ls --sort size --limit 10\n"
      "  tlcache doctor\n"
      "\n"
      "Exit codes: 0 done, 1 a miss or damage found, 2 wrong use, 3 an error, 4 a compile error.\n"
      "`tlcache COMMAND --help` explains each command; the manual is tlcache(1).\n");
}

int complain(int code, std::string_view message) {
  static_cast<void>(output().flush());
  write_stderr(fmt::format("tlcache: {}\n", clean(message)));
  return code;
}

/// What the parser has to say, as one sentence of ours.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  std::string message = error.what();
  std::string command = "tlcache";
  for (const CLI::App* chosen : app.get_subcommands()) command += " " + chosen->get_name();
  const std::vector<std::string> extra = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extra.empty()) {
    const std::string& first = extra.front();
    const bool is_option = first.size() > 1 && first.front() == '-';
    const bool is_command = app.get_subcommands().empty() && !is_option;
    message = fmt::format("{} '{}'",
                          is_command  ? "unknown command"
                          : is_option ? "unknown option"
                                      : "unexpected argument",
                          first);
    if (const std::string near = is_command ? nearest_command(app, first) : ""; !near.empty()) {
      message += fmt::format(", perhaps '{}'", near);
    }
  } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    message = message.substr(0, message.find(':')) + " needs a value";
  }
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
  return fmt::format("{}; see `{} --help`", message, command);
}

int parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return exit_ok;
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    output().write(chosen.empty() ? app.help() : chosen.front()->help("tlcache"));
  } catch (const CLI::CallForVersion& version) {
    print("{}\n", version.what());
  } catch (const CLI::ParseError& error) {
    return complain(exit_usage, usage_message(app, error));
  }
  return -1;
}

int run(int argc, char** argv) {
  CLI::App app("One cache of compiled kernels for every backend and every language.", "tlcache");
  app.formatter(help_formatter());
  app.require_subcommand(0, 1);
  app.set_help_flag("-h,--help", "Show this help");
  Context context;
  add_global_options(app, context);
  add_commands(app, context);
  if (argc < 2) {
    write_stderr(app.help());
    return exit_usage;
  }
  if (const int parsed = parse(app, argc, argv); parsed != exit_ok) return parsed < 0 ? exit_ok : parsed;
  if (!context.run) return complain(exit_usage, "a command is missing; see `tlcache --help`");
  return context.run();
}

int guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Failure& failure) {
    return complain(failure.code(), failure.what());
  } catch (const std::bad_alloc&) {
    return complain(exit_failed, "out of memory");
  } catch (const std::exception& error) {
    return complain(exit_failed, error.what());
  }
}

}  // namespace
}  // namespace tlc::tool

int main(int argc, char** argv) {
  using namespace tlc::tool;
  survive_closed_pipes();
  const int code = guarded(argc, argv);
  if (!output().flush()) {
    write_stderr(fmt::format("tlcache: standard output: {}\n", std::strerror(output().error())));
    return code == exit_ok ? exit_failed : code;
  }
  return code;
}
