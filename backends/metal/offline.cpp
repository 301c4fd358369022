// SPDX-License-Identifier: MIT
// Where Apple's compiler is looked for, in this order:
//
//  1. the request's field 'compiler', else TLC_METAL, and nothing else when one of them is set
//  2. what `xcrun -sdk SDK -find metal` says, where there is an xcrun in PATH: on macOS
//
// It gets the source as a file of one name in a folder of its own, writes the metallib there and says what it read. The
// program that xcrun names starts others, of its version, in a folder that it names: they are part of its identity.
#include "metal/offline.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <initializer_list>
#include <set>
#include <utility>

#include "support/compiler_log.hpp"
#include "support/dependencies.hpp"
#include "support/failure.hpp"
#include "support/loaded_library.hpp"
#include "support/program_parts.hpp"
#include "support/temp_dir.hpp"

namespace tlcb::metal {
namespace {

constexpr const char* kSourceName = "kernel.metal";

std::string sdk_of(const Target& target) {
  return target.os == "ios" ? "iphoneos" : target.os == "tvos" ? "appletvos" : "macosx";
}

std::vector<std::string> environment_of(const std::string& temp) {
  std::vector<std::string> env = {"LC_ALL=C", "TMPDIR=" + temp};
  for (const char* name : {"PATH", "DEVELOPER_DIR", "HOME"}) {
    if (const std::string value = environment(name); !value.empty()) env.push_back(std::string(name) + "=" + value);
  }
  return env;
}

/// Of xcrun; and in why_not what it said instead.
std::string ask_xcrun(const std::string& xcrun, const std::string& sdk, std::string& why_not) {
  const SpawnResult found = ask_program(xcrun, {"-sdk", sdk, "-find", "metal"}, environment_of("/tmp"));
  std::string_view said = found.output;
  std::string path = take_line(said);
  if (found.success() && path.starts_with('/') && is_file(path)) return path;
  const std::string line = first_error(found.errors);
  why_not = "xcrun finds no metal: " + (line.empty() ? found.describe() : line);
  return {};
}

/// The programs that it consists of: those beside it, and beside what it says that it starts.
std::vector<std::string> programs_of(const std::string& path, std::string_view said) {
  constexpr std::string_view kInstalled = "InstalledDir: ";
  std::vector<std::string> folders = {path.substr(0, path.rfind('/'))};
  while (!said.empty()) {
    const std::string line = take_line(said);
    if (line.starts_with(kInstalled)) folders.push_back(line.substr(kInstalled.size()));
  }
  std::set<std::string> files = {real_path(path)};
  for (const std::string& folder : folders) {
    for (const char* name : {"metal", "air-lld", "metal-ld", "metallib", "metal-link", "air-link"}) {
      const std::string file = std::string(folder).append("/").append(name);
      if (folder.starts_with('/') && is_file(file)) files.insert(real_path(file));
    }
  }
  return {files.begin(), files.end()};
}

std::string to_memo(const Compiler& compiler) {
  std::string out = compiler.version + "\n";
  for (const std::string& file : compiler.files) out += file + "\n";
  return out;
}

bool from_memo(std::string_view text, Compiler& compiler) {
  compiler.version = take_line(text);
  compiler.files.clear();
  while (!text.empty()) compiler.files.push_back(take_line(text));
  return !compiler.files.empty() && std::all_of(compiler.files.begin(), compiler.files.end(), is_file);
}

/// Asks a compiler what it is, unless that is remembered.
void examine(Host host, tlc_call* call, Compiler& compiler) {
  const std::string key = "metal compiler 1\n" + compiler.path + "\n" + file_identity(host, call, compiler.path) +
                          "\n" + environment("DEVELOPER_DIR");
  std::string memo;
  if (compiler.facts.recall(host, call, key, memo) && from_memo(memo, compiler)) return;
  const SpawnResult version = ask_program(compiler.path, {"--version"}, environment_of("/tmp"));
  if (!version.success() && version.ended != Ended::lost) {
    const std::string line = first_error(version.errors);
    throw Failure(TLC_E_UNAVAILABLE,
                  compiler.path + " does not say its version: " + (line.empty() ? version.describe() : line));
  }
  std::string_view said = version.output;
  compiler.version = take_line(said);
  compiler.files = programs_of(compiler.path, version.output);
  compiler.facts.remember(host, call, key, to_memo(compiler));
}

Compiler find(Host host, tlc_call* call, const std::string& wanted, const Target& target) {
  Compiler out;
  const std::string chosen = wanted.empty() ? environment("TLC_METAL") : wanted;
  if (!chosen.empty()) {
    if (chosen.front() != '/' || find_program(chosen).empty()) {
      throw Failure(
          TLC_E_UNAVAILABLE,
          "'" + chosen + "', as TLC_METAL or the field 'compiler' says, must be the absolute path of a program");
    }
    out.path = chosen;
  } else if (const std::string xcrun = find_program("xcrun"); xcrun.empty()) {
    out.why_not = "there is no xcrun in PATH";
  } else {
    const std::string sdk = sdk_of(target);
    const std::string key = "metal xcrun 1\n" + xcrun + "\n" + file_identity(host, call, xcrun) + "\n" + sdk + "\n" +
                            environment("DEVELOPER_DIR") + "\n" + real_path("/var/db/xcode_select_link");
    if (!out.facts.recall(host, call, key, out.path) || !is_file(out.path)) {
      out.path = ask_xcrun(xcrun, sdk, out.why_not);
      if (out) out.facts.remember(host, call, key, out.path);
    }
  }
  if (out) examine(host, call, out);
  return out;
}

std::string name_of(const std::string& wanted, const Target& target) {
  return sdk_of(target) + " " + wanted;
}

std::vector<std::string> target_words(const Target& target) {
  std::vector<std::string> out;
  if (target.os == "ios") out.push_back("-mios-version-min=" + target.os_version.text());
  if (target.os == "tvos") out.push_back("-mtvos-version-min=" + target.os_version.text());
  if (target.os == "macos") out.push_back("-mmacosx-version-min=" + target.os_version.text());
  if (target.language == Version()) return out;
  // One language for all systems since 3.0.
  const std::string system = target.language.major >= 3                  ? ""
                             : target.os == "ios" || target.os == "tvos" ? "ios-"
                                                                         : "macos-";
  out.push_back("-std=" + system + "metal" + target.language.text());
  return out;
}

/// Headers from memory lie in a folder; no name of theirs leads out of it.
void write_headers(const std::string& folder, const DeviceSource& request) {
  for (const auto& [name, text] : request.headers) {
    const std::string path = std::string(folder).append("/").append(name);
    for (std::size_t slash = path.find('/', folder.size() + 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      ::mkdir(path.substr(0, slash).c_str(), 0700);
    }
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush()) throw Failure(TLC_E_IO, "the header '" + name + "' could not be written");
  }
}

/// One compile, in a folder of its own.
class Compile {
 public:
  Compile(Host host, tlc_call* call, const Compiler& compiler) : host_(host), call_(call), compiler_(compiler) {
    int error = 0;
    temp_ = TempDir::create(error);
    if (!temp_)
      throw Failure(TLC_E_IO, "no temporary folder could be made; set TMPDIR to one that can be written", error);
    for (const char* folder : {"/headers", "/source"}) ::mkdir((temp_.path() + folder).c_str(), 0700);
  }

  std::string run(const Target& target, const DeviceSource& request, const Options& options, std::string& log) {
    write_headers(temp_.path() + "/headers", request);
    std::ofstream(temp_.path() + "/source/" + kSourceName, std::ios::binary) << *request.source;
    std::vector<std::string> args = {"-x", "metal"};
    const auto add = [&args](const std::vector<std::string>& more) {
      args.insert(args.end(), more.begin(), more.end());
    };
    add(target_words(target));
    for (const std::string& define : request.defines) args.push_back("-D" + define);
    add(options.words);
    args.push_back("-I" + temp_.path() + "/headers");
    for (const std::string& folder : folders_of(request, options)) args.push_back("-I" + folder);
    add({"-ffile-prefix-map=" + temp_.path() + "=.", "-MD", "-MF", read_list(), "-MT", "k", "-o", made(), kSourceName});
    result_ = start(std::move(args));
    log = result_.output + result_.errors;
    replace_all(log, temp_.path() + "/headers/", "");
    replace_all(log, temp_.path() + "/", "");
    const bool good = result_.success() || result_.ended == Ended::lost;
    return good ? read_file(made()) : std::string();
  }

  [[nodiscard]] const SpawnResult& result() const { return result_; }

  void add_reads(GuardSet& guards) const {
    for (const std::string& path : parse_dependencies(read_file(read_list()))) {
      if (path.starts_with('/') && !path.starts_with(temp_.path() + "/")) guards.read(path);
    }
  }

 private:
  [[nodiscard]] std::string made() const { return temp_.path() + "/kernel.metallib"; }
  [[nodiscard]] std::string read_list() const { return temp_.path() + "/read.d"; }

  [[nodiscard]] SpawnResult start(std::vector<std::string> args) const {
    SpawnRequest spawning;
    spawning.program = compiler_.path;
    spawning.args = std::move(args);
    spawning.env = environment_of(temp_.path());
    spawning.folder = temp_.path() + "/source";
    spawning.cancelled = [this] { return host_->cancelled(call_) != 0; };
    SpawnResult result = spawn(spawning);
    if (result.ended == Ended::cancelled) throw Failure(TLC_E_CANCELLED, "the compile was cancelled");
    if (result.ended == Ended::not_started)
      throw Failure(TLC_E_UNAVAILABLE, "the compiler " + compiler_.path + " " + result.describe(), result.code);
    return result;
  }

  Host host_;
  tlc_call* call_;
  const Compiler& compiler_;
  TempDir temp_;
  SpawnResult result_;
};

}  // namespace

std::string Compiler::identity(Host host, tlc_call* call) const {
  std::vector<std::string> lines;
  for (const std::string& file : files) lines.push_back(base_name(file) + " " + file_identity(host, call, file));
  std::sort(lines.begin(), lines.end());
  std::string out = "metal " + version + "\n";
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

Compiler CompilerFinder::get(Host host, tlc_call* call, const std::string& wanted, const Target& target) {
  const std::string name = name_of(wanted, target);
  const std::scoped_lock lock(mutex_);
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  Compiler compiler = find(host, call, wanted, target);
  if (compiler) known_[name] = compiler;
  return compiler;
}

void CompilerFinder::check_same(Host host, tlc_call* call, const std::string& wanted, const Target& target,
                                const Compiler& compiler, const std::string& identity) {
  if (compiler.identity(host, call) == identity) return compiler.facts.note(host, call);
  const std::scoped_lock lock(mutex_);
  known_.erase(name_of(wanted, target));
  throw Failure(TLC_E_UNCACHEABLE, "the compiler " + compiler.path +
                                       " is not the one any more that it was when the key was made; ask again");
}

std::string compile_offline(Host host, tlc_call* call, const Compiler& compiler, const Target& target,
                            const DeviceSource& request, const Options& options, GuardSet& guards, std::string& log) {
  Compile compile(host, call, compiler);
  std::string made = compile.run(target, request, options, log);
  if (!made.empty()) {
    compile.add_reads(guards);
    return made;
  }
  const std::string line = first_error(log);
  throw Failure(TLC_E_COMPILE, compiler.path + " " + (line.empty() ? compile.result().describe() : "says: " + line));
}

}  // namespace tlcb::metal
