// SPDX-License-Identifier: MIT
// Finding the compiler, taking it apart, and naming it by its content.
//
// What is remembered about a driver, one fact a line:
//
//   clang 0|1      machine TEXT      version TEXT      program PATH-OR-NAME      library PATH
#include "cpu/compiler.hpp"
#include "support/failure.hpp"
#include "support/program_parts.hpp"
#include "support/toolchain.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace tlcb::cpu {
namespace {

SpawnResult query(const std::string& program, std::vector<std::string> args) {
  return ask_program(program, std::move(args), environment("/tmp"));
}

/// First line of what a driver answers to a question; throws when it cannot be run.
std::string ask(const std::string& driver, const std::string& question) {
  const SpawnResult result = query(driver, {question});
  if (!result.success() && result.ended != Ended::lost) {
    throw Failure(TLC_E_UNAVAILABLE,
                  "the compiler " + driver + " cannot be used: asked for " + question + ", it " + result.describe());
  }
  const auto lines = lines_of(result.output);
  return lines.empty() ? std::string() : lines.front();
}

std::vector<std::string> program_names(bool clang, Language language, const Options& options) {
  std::vector<std::string> names;
  if (!clang) {
    names = {language == Language::c ? "cc1" : "cc1plus", "as", "collect2"};
    if (options.lto) names.insert(names.end(), {"lto1", "lto-wrapper", "liblto_plugin.so"});
  }
  names.push_back(options.linker.empty() ? "ld" : "ld." + options.linker);
  return names;
}

/// A macro's value in the output of -dM; empty if it is not there.
std::string macro(const std::vector<std::string>& lines, const std::string& name) {
  const std::string start = "#define " + name + " ";
  for (const std::string& line : lines) {
    if (line.starts_with(start)) return line.substr(start.size());
  }
  return {};
}

std::string unquoted(std::string text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

/// Takes a driver apart by running it.
Compiler examine(const std::string& driver, Language language, const Options& options) {
  Compiler found;
  found.path = driver;
  const SpawnResult macros = query(driver, {"-dM", "-E", "-x", language == Language::c ? "c" : "c++", "-"});
  const auto lines = lines_of(macros.output);
  if (macro(lines, "__GNUC__").empty()) {
    throw Failure(TLC_E_UNAVAILABLE, "the compiler " + driver + " cannot be used: it is neither gcc nor clang, or it " +
                                         macros.describe());
  }
  found.clang = !macro(lines, "__clang__").empty();
  found.version = (found.clang ? "" : "gcc ") + unquoted(macro(lines, "__VERSION__"));
  found.machine = ask(driver, "-dumpmachine");
  std::set<std::string> libraries;
  add_program_libraries(driver, environment("/tmp"), libraries);
  for (const std::string& name : program_names(found.clang, language, options)) {
    std::string program = name.front() == 'l' && name.ends_with(".so") ? ask(driver, "-print-file-name=" + name)
                                                                       : ask(driver, "-print-prog-name=" + name);
    // The answer is the bare name when the program is to be looked for in PATH.
    const std::string path = program.starts_with("/") ? program : find_program(program);
    if (!path.empty()) add_program_libraries(path, environment("/tmp"), libraries);
    found.programs.push_back(std::move(program));
  }
  found.libraries.assign(libraries.begin(), libraries.end());
  return found;
}

std::string to_memo(const Compiler& compiler) {
  std::string text = std::string("clang ") + (compiler.clang ? "1" : "0") + "\nmachine " + compiler.machine +
                     "\nversion " + compiler.version + "\n";
  for (const std::string& path : compiler.programs) text += "program " + path + "\n";
  for (const std::string& path : compiler.libraries) text += "library " + path + "\n";
  return text;
}

/// False when the text is not one of ours, or a file it names is gone.
bool from_memo(std::string_view text, Compiler& compiler) {
  for (const std::string& line : lines_of(text)) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos) return false;
    const std::string name = line.substr(0, space);
    std::string value = line.substr(space + 1);
    if (name == "clang") {
      compiler.clang = value == "1";
    } else if (name == "machine") {
      compiler.machine = std::move(value);
    } else if (name == "version") {
      compiler.version = std::move(value);
    } else if (name == "program" || name == "library") {
      if (value.starts_with("/") && !is_file(value)) return false;
      (name == "program" ? compiler.programs : compiler.libraries).push_back(std::move(value));
    } else {
      return false;
    }
  }
  return !compiler.programs.empty();
}

}  // namespace

std::vector<std::string> environment(const std::string& temp) {
  std::vector<std::string> env = {"LC_ALL=C", "TMPDIR=" + temp};
  for (const char* name : {"PATH", "HOME", "LD_LIBRARY_PATH"}) {
    const std::string value = tlcb::environment(name);
    if (!value.empty()) env.push_back(std::string(name) + "=" + value);
  }
  return env;
}

std::string find_driver(const std::string& wanted, Language language) {
  const bool c = language == Language::c;
  const char* variable = c ? "TLC_CC" : "TLC_CXX";
  std::vector<std::string> names;
  if (!wanted.empty()) {
    names = {wanted};
  } else if (const std::string chosen = tlcb::environment(variable); !chosen.empty()) {
    names = {chosen};
  } else if (c) {
    names = {"cc", "gcc", "clang"};
  } else {
    names = {"c++", "g++", "clang++"};
  }
  std::string tried;
  for (const std::string& name : names) {
    if (std::string path = find_program(name); !path.empty()) return path;
    tried += (tried.empty() ? "" : ", ") + name;
  }
  throw Failure(TLC_E_UNAVAILABLE, std::string("no ") + (c ? "C" : "C++") + " compiler was found (tried " + tried +
                                       "); install one (gcc or clang), or name one by the field 'compiler' or by " +
                                       variable + " as an absolute path or a program in PATH");
}

Compiler find_compiler(Host host, tlc_call* call, const std::string& wanted, Language language,
                       const Options& options) {
  const std::string driver = find_driver(wanted, language);
  std::string key = "cpu.compiler.1";
  const std::vector<std::string> parts = {file_identity(host, call, driver),
                                          driver,
                                          language == Language::c ? "c" : "c++",
                                          options.lto ? "lto" : "",
                                          options.linker,
                                          tlcb::environment("PATH"),
                                          tlcb::environment("LD_LIBRARY_PATH")};
  for (const std::string& part : parts) key += '\0' + part;

  std::string memo;
  Compiler found;
  found.path = driver;
  if (host.recall(call, key, memo) && from_memo(memo, found)) return found;
  found = examine(driver, language, options);
  host.remember(call, key, to_memo(found));
  return found;
}

std::string identity(Host host, tlc_call* call, const Compiler& compiler, Language language) {
  // No path and no version text: the same files elsewhere are the same compiler. clang is C or C++
  // by the name it is run under.
  const bool as_cxx = compiler.clang && base_name(compiler.path).find("++") != std::string::npos;
  std::vector<std::string> files = {"driver " + file_identity(host, call, compiler.path)};
  for (const std::string& program : compiler.programs) {
    const std::string path = program.starts_with("/") ? program : find_program(program);
    files.push_back("program " + base_name(program) + " " + (path.empty() ? "none" : file_identity(host, call, path)));
  }
  for (const std::string& library : compiler.libraries) {
    files.push_back("library " + base_name(library) + " " + file_identity(host, call, library));
  }
  std::sort(files.begin(), files.end());
  std::string out =
      "cpu 1\n" + compiler.machine + "\n" + (language == Language::c ? "c" : "c++") + (as_cxx ? " ++" : "") + "\n";
  for (const std::string& file : files) out += file + "\n";
  return out;
}

}  // namespace tlcb::cpu
