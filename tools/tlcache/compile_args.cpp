// SPDX-License-Identifier: MIT
// The options that say what to compile, made into a request.
#include "compile_args.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "fields.hpp"
#include "files.hpp"

namespace tlc::tool {
namespace {

std::string guess_language(const std::string& file) {
  using Pair = std::pair<std::string_view, std::string_view>;
  static constexpr std::array<Pair, 5> endings = {
      {{".c", "c"}, {".cc", "c++"}, {".cpp", "c++"}, {".cxx", "c++"}, {".C", "c++"}}};
  const std::string ending = std::filesystem::path(file).extension().string();
  for (const auto& [known, language] : endings) {
    if (ending == known) return std::string(language);
  }
  return {};
}

/// Whether the text has a line `#include "..."`; in a comment it counts too, which does no harm.
bool includes_by_quotes(std::string_view source) {
  constexpr std::string_view spaces = " \t";
  for (std::size_t at = source.find("include"); at != std::string_view::npos; at = source.find("include", at + 1)) {
    const std::string_view before = source.substr(0, at);
    const std::size_t hash = before.find_last_not_of(spaces);
    const std::size_t quote = source.find_first_not_of(spaces, at + 7);
    if (hash != std::string_view::npos && before[hash] == '#' && quote != std::string_view::npos &&
        source[quote] == '"') {
      return true;
    }
  }
  return false;
}

void add_text(tlc_request* request, std::string_view name, std::string_view value) {
  Error error;
  check(tlc_request_add_text(request, str(name), str(value), 0, &error), error, name);
}

void add_list(tlc_request* request, std::string_view name, const std::vector<std::string>& values) {
  if (values.empty()) return;
  Error error;
  check(tlc_request_begin_list(request, str(name), 0, &error), error, name);
  for (const std::string& value : values) {
    check(tlc_request_add_text(request, {}, str(value), 0, &error), error, name);
  }
  check(tlc_request_end(request, &error), error, name);
}

void add_defines(tlc_request* request, const std::vector<std::string>& defines) {
  if (defines.empty()) return;
  Error error;
  std::set<std::string_view> seen;
  check(tlc_request_begin_map(request, str("defines"), 0, &error), error);
  for (const std::string& define : defines) {
    const std::size_t equals = define.find('=');
    const std::string_view name = std::string_view(define).substr(0, equals);
    if (name.empty()) fail(exit_usage, "-D '{}' has no name: write -D NAME or -D NAME=VALUE", define);
    if (!seen.insert(name).second) fail(exit_usage, "-D {} is given twice", name);
    const tlc_status status =
        equals == std::string::npos
            ? tlc_request_add_null(request, str(name), 0, &error)
            : tlc_request_add_text(request, str(name), str(std::string_view(define).substr(equals + 1)), 0, &error);
    check(status, error, fmt::format("-D {}", define));
  }
  check(tlc_request_end(request, &error), error);
}

std::string kind_of(const CompileArgs& args) {
  return args.target.substr(0, args.target.find(':'));
}

/// The file's own folder, where `#include "..."` looks first; empty when nothing is included so.
/// The compiler reads the source from a pipe and does not know it.
std::string quote_folder(const CompileArgs& args, std::string_view source) {
  if (args.file == "-" || !includes_by_quotes(source)) return {};
  return std::filesystem::path(absolute_path(args.file)).parent_path().string();
}

std::vector<std::string> compiler_options(const CompileArgs& args, const std::string& quotes) {
  std::vector<std::string> options;
  if (!args.optimize.empty()) options.push_back("-O" + args.optimize);
  if (!args.standard.empty()) options.push_back("-std=" + args.standard);
  options.insert(options.end(), args.options.begin(), args.options.end());
  // For <...> the folder must not come before the system's: -iquote, where that is known.
  if (!quotes.empty() && kind_of(args) == "cpu") options.insert(options.end(), {"-iquote", quotes});
  return options;
}

std::vector<std::string> include_folders(const CompileArgs& args, const std::string& quotes) {
  std::vector<std::string> folders;
  if (!quotes.empty() && kind_of(args) != "cpu") folders.push_back(quotes);
  for (const std::string& folder : args.include_dirs) folders.push_back(absolute_path(folder));
  return folders;
}

Request create_request(const CompileArgs& args) {
  Error error;
  tlc_request* created = nullptr;
  const tlc_status status = tlc_request_create(str(args.name_space), &created, &error);
  Request request(created);
  check(status, error, fmt::format("--namespace '{}'", args.name_space));
  check(tlc_request_set_target(created, str(args.target), &error), error, fmt::format("--target '{}'", args.target));
  if (!args.engine.empty()) {
    check(tlc_request_set_engine(created, str(args.engine), &error), error, fmt::format("--engine '{}'", args.engine));
  }
  const std::string label =
      !args.label.empty() || args.file == "-" ? args.label : std::filesystem::path(args.file).filename().string();
  if (!label.empty()) check(tlc_request_set_label(created, str(label), &error), error, "--label");
  return request;
}

/// What a setting of the cache is, or where it comes from; empty if there is no such setting.
std::string setting(const Json& description, std::string_view name, const char* what) {
  for (const Json& one : part(description, "settings")) {
    if (text(one, "name") == name) return text(one, what);
  }
  return {};
}

/// That plugin files were named but not looked at, if so: their backends are not registered then.
std::string about_ignored_plugins(tlc_cache* cache) {
  Error error;
  tlc_blob* json = nullptr;
  if (tlc_cache_describe(cache, &json, &error) != TLC_OK) return {};
  const Blob blob(json);
  const Json description = parse_report(blob);
  const bool ignored = setting(description, "plugins allowed", "value") == "no" &&
                       setting(description, "backend path", "origin") == "environment";
  return ignored ? "; plugin files (TLC_BACKEND_PATH) are loaded only with --allow-plugins" : "";
}

}  // namespace

void add_compile_options(CLI::App& command, CompileArgs& args) {
  const auto repeated = [](CLI::Option* option) { option->allow_extra_args(false); };
  command
      .add_option("-t,--target", args.target, "What to compile for: KIND, KIND:ARCH or KIND:native, e.g. cpu:native")
      ->type_name("TARGET");
  command.add_option("-e,--engine", args.engine, "Which compiler backend; default: the target's own")
      ->type_name("ENGINE");
  repeated(
      command.add_option("-D,--define", args.defines, "Define a macro; may be repeated")->type_name("NAME[=VALUE]"));
  repeated(
      command.add_option("-I,--include", args.include_dirs, "Folder for headers; may be repeated")->type_name("DIR"));
  command.add_option("-O,--optimize", args.optimize, "Optimisation level, as the compiler's -O")->type_name("LEVEL");
  command.add_option("--std", args.standard, "Language standard, e.g. c++17")->type_name("STD");
  repeated(command
               .add_option("--option", args.options,
                           "One more option for the compiler, as --option=-ffast-math; may be "
                           "repeated")
               ->type_name("OPTION"));
  command.add_option("--language", args.language, "c or c++; default: by the file's ending")->type_name("LANGUAGE");
  command.add_option("--compiler", args.compiler, "Program or library that compiles")->type_name("PATH");
  repeated(
      command.add_option("--field", args.fields, "One more field of the key, as for `tlcache put`; may be repeated")
          ->type_name("NAME[:TYPE]=VALUE"));
  command.add_option("-n,--namespace", args.name_space, "Namespace of the key; default: cli")->type_name("NAME");
  command.add_option("--label", args.label, "Label for people; default: the file's name")->type_name("TEXT");
}

Request build_request(const CompileArgs& args) {
  if (args.target.empty()) {
    fail(exit_usage, "--target is missing: give KIND or KIND:ARCH, for example --target cpu:native");
  }
  Request request = create_request(args);
  const std::string source = read_file(args.file);
  add_text(request.get(), "source", source);
  const std::string language = args.language.empty() ? guess_language(args.file) : args.language;
  if (!language.empty()) add_text(request.get(), "language", language);
  const std::string quotes = quote_folder(args, source);
  add_list(request.get(), "options", compiler_options(args, quotes));
  add_defines(request.get(), args.defines);
  add_list(request.get(), "include_dirs", include_folders(args, quotes));
  if (!args.compiler.empty()) add_text(request.get(), "compiler", args.compiler);
  add_fields(request.get(), args.fields);
  return request;
}

void fail_with_backends(tlc_cache* cache, const CompileArgs& args, tlc_status status, const tlc_error& error) {
  const bool about_target = status == TLC_E_NOT_FOUND || status == TLC_E_UNCACHEABLE;
  Error ignored;
  tlc_blob* json = nullptr;
  const bool listed = about_target && tlc_cache_backends(cache, &json, &ignored) == TLC_OK;
  const Blob blob(json);
  if (listed) {
    const std::string kind = kind_of(args);
    std::string registered;
    bool known = false;
    const Json report = parse_report(blob);  // outlives the loop, which walks references into it
    for (const Json& backend : part(report, "backends")) {
      for (const Json& served : part(backend, "kinds")) {
        const std::string engine = text(backend, "engine");
        known = known || (value_text(served) == kind && (args.engine.empty() || args.engine == engine));
        registered += fmt::format("{}{} (engine {})", registered.empty() ? "" : ", ", value_text(served), engine);
      }
    }
    if (!known) {
      fail(exit_failed, "no backend compiles for target kind '{}'{}; registered: {}{}", kind,
           args.engine.empty() ? "" : fmt::format(" with engine '{}'", args.engine),
           registered.empty() ? "none" : registered, about_ignored_plugins(cache));
    }
  }
  check(status, error);
  fail(exit_failed, "no error is known");
}

}  // namespace tlc::tool
