// SPDX-License-Identifier: MIT
// Where clang is looked for, in this order:
//
//  1. the request's field 'compiler', else TLC_HIP_CLANG, and nothing else when one of them is set
//  2. $ROCM_PATH/llvm/bin/clang, $HIP_PATH/llvm/bin/clang, /opt/rocm/llvm/bin/clang
//  3. in PATH: clang-22 down to clang-15, clang
//
// It gets the source on standard input and, as hiprtc, searches no folder of the system's: what it knows without a
// header is what clang itself brings, and the prelude. ROCm's bitcode is linked where there is one for the processor;
// without it, functions that are in it (of mathematics, most of them) are errors of the linker.
#include "hip/offline.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <set>

#include "hip/prelude.hpp"
#include "hip/runtime.hpp"
#include "support/compiler_log.hpp"
#include "support/dependencies.hpp"
#include "support/failure.hpp"
#include "support/program_parts.hpp"
#include "support/temp_dir.hpp"
#include "support/toolchain.hpp"

namespace tlcb::hip {
namespace {

constexpr int kNewest = 22;
constexpr int kOldest = 15;
constexpr const char* kFirstLine = "#line 1 \"kernel.hip\"\n";

std::vector<std::string> roots() {
  std::vector<std::string> out = rocm_roots();
  out.emplace_back(kUsualRocm);
  return out;
}

std::vector<std::string> candidates() {
  std::vector<std::string> names;
  for (const std::string& root : roots()) names.push_back(root + "/llvm/bin/clang");
  for (int version = kNewest; version >= kOldest; --version) names.push_back("clang-" + std::to_string(version));
  names.emplace_back("clang");
  std::vector<std::string> out;
  for (const std::string& name : names) {
    std::string path = find_program(name);
    if (!path.empty() && std::find(out.begin(), out.end(), path) == out.end()) out.push_back(std::move(path));
  }
  return out;
}

std::vector<std::string> clang_environment(const std::string& temp) {
  std::vector<std::string> env = {"LC_ALL=C", "TMPDIR=" + temp};
  for (const char* name : {"PATH", "LD_LIBRARY_PATH"}) {
    if (const std::string value = environment(name); !value.empty()) env.push_back(std::string(name) + "=" + value);
  }
  return env;
}

std::vector<std::string> words_for(const TargetId& target, const std::string& device_library) {
  return {"-x",
          "hip",
          "--offload-device-only",
          "--no-gpu-bundle-output",
          "--offload-arch=" + target.text(),
          "-nogpuinc",
          device_library.empty() ? "-nogpulib" : "--rocm-device-lib-path=" + device_library};
}

TempDir make_temp() {
  int error = 0;
  TempDir temp = TempDir::create(error);
  if (!temp) throw Failure(TLC_E_IO, "no temporary folder could be made; set TMPDIR to one that can be written", error);
  return temp;
}

/// The folder of ROCm's bitcode for a processor; empty if there is none.
std::string find_device_library(const std::string& clang, const TargetId& target) {
  std::vector<std::string> folders = {environment("HIP_DEVICE_LIB_PATH")};
  for (const std::string& root : roots()) folders.push_back(root + "/amdgcn/bitcode");
  folders.push_back(clang.substr(0, clang.rfind('/')) + "/../../amdgcn/bitcode");
  folders.insert(folders.end(),
                 {"/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "/usr/lib/aarch64-linux-gnu/amdgcn/bitcode",
                  "/usr/lib64/amdgcn/bitcode", "/usr/lib/amdgcn/bitcode"});
  const std::string isa = "oclc_isa_version_" + target.processor.substr(3) + ".bc";
  for (const std::string& folder : folders) {
    if (folder.starts_with('/') && is_file(std::string(folder).append("/").append(isa))) return folder;
  }
  return {};
}

/// Tries a clang out with an empty source: it must know the arch and have its linker. What it said where it does not.
std::string try_out(const std::string& path, const TargetId& target) {
  const TempDir temp = make_temp();
  std::vector<std::string> args = words_for(target, {});
  args.insert(args.end(), {"-o", temp.path() + "/trial.hsaco", "-"});
  const SpawnResult result = ask_program(path, std::move(args), clang_environment(temp.path()));
  if ((result.success() || result.ended == Ended::lost) && is_file(temp.path() + "/trial.hsaco")) return {};
  const std::string line = first_error(result.errors);
  return line.empty() ? result.describe() : line;
}

std::string to_memo(const Clang& clang) {
  std::string out = clang.version + "\n";
  for (const std::string& file : clang.files) out += file + "\n";
  return out;
}

/// False when a file it names is gone.
bool from_memo(std::string_view text, Clang& clang) {
  clang.version = take_line(text);
  while (!text.empty()) clang.files.push_back(take_line(text));
  return !clang.files.empty() && std::all_of(clang.files.begin(), clang.files.end(), is_file);
}

Clang examine(const std::string& path) {
  const auto env = clang_environment("/tmp");
  Clang out;
  out.path = path;
  std::string_view said;
  const SpawnResult version = ask_program(path, {"--version"}, env);
  said = version.output;
  out.version = take_line(said);
  std::set<std::string> files = {real_path(path)};
  add_program_libraries(path, env, files);
  const SpawnResult linker = ask_program(path, {"-print-prog-name=ld.lld"}, env);
  said = linker.output;
  std::string lld = take_line(said);
  if (!lld.starts_with('/')) lld = find_program(lld);
  if (!lld.empty()) {
    files.insert(real_path(lld));
    add_program_libraries(lld, env, files);
  }
  out.files.assign(files.begin(), files.end());
  return out;
}

/// What one clang is, if it will do; else why not.
std::optional<Clang> consider(Host host, tlc_call* call, const std::string& path, const TargetId& target,
                              std::string& why, Facts& facts) {
  const std::string key = "hip clang 1\n" + path + "\n" + file_identity(host, call, path) + "\n" + target.text() +
                          "\n" + environment("PATH") + "\n" + environment("LD_LIBRARY_PATH") + "\n" +
                          loader_cache_stamp();
  constexpr std::string_view kNot = "no ";
  std::string memo;
  Clang found;
  found.path = path;
  if (!facts.recall(host, call, key, memo) || (!memo.starts_with(kNot) && !from_memo(memo, found))) {
    const std::string problem = try_out(path, target);
    if (problem.empty()) found = examine(path);
    memo = problem.empty() ? to_memo(found) : std::string(kNot) + problem;
    facts.remember(host, call, key, memo);
  }
  if (memo.starts_with(kNot)) {
    why += (why.empty() ? "" : "; ") + path + ": " + memo.substr(kNot.size());
    return std::nullopt;
  }
  found.device_library = find_device_library(path, target);
  return found;
}

/// Headers from memory lie in a folder; no name of theirs may lead out of it.
void write_headers(const std::string& folder, const DeviceSource& request) {
  for (const auto& [name, text] : request.headers) {
    const std::string path = std::string(folder).append("/").append(name);
    for (std::size_t slash = path.find('/', folder.size() + 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      ::mkdir(path.substr(0, slash).c_str(), 0700);
    }
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush())
      throw Failure(TLC_E_IO, std::string("header '").append(name).append("' could not be written to ").append(folder));
  }
}

/// One compile, in a folder of its own.
class Compile {
 public:
  Compile(Host host, tlc_call* call, const Clang& clang, const TargetId& target, const DeviceSource& request,
          const std::vector<std::string>& options)
      : host_(host), call_(call), clang_(clang), source_(kFirstLine + *request.source), temp_(make_temp()) {
    for (const char* folder : {"/headers", "/empty"}) ::mkdir((temp_.path() + folder).c_str(), 0700);
    write_headers(temp_.path() + "/headers", request);
    std::ofstream(temp_.path() + "/prelude.h", std::ios::binary) << kPrelude;
    args_ = words_for(target, clang.device_library);
    const auto add = [this](std::initializer_list<std::string> more) { args_.insert(args_.end(), more); };
    add({"-nostdlibinc", "-D__HIPCC_RTC__=1", "-fdeclspec", "-ffile-prefix-map=" + temp_.path() + "=."});
    add({"-include", "__clang_hip_runtime_wrapper.h", "-include", temp_.path() + "/prelude.h"});
    add({"-I" + temp_.path() + "/headers"});
    args_.insert(args_.end(), options.begin(), options.end());
  }

  /// The code object; empty where none was made.
  std::string run(std::string& log) {
    std::vector<std::string> args = args_;
    args.insert(args.end(), {"-MD", "-MF", temp_.path() + "/read.d", "-MT", "k", "-o", made(), "-"});
    result_ = start(std::move(args));
    log = clean(result_.output + result_.errors);
    const bool good = result_.success() || result_.ended == Ended::lost;
    return good ? read_file(made()) : std::string();
  }

  [[nodiscard]] const SpawnResult& result() const { return result_; }

  /// What it read beside the source: headers of its own, and bitcode.
  void add_reads(GuardSet& guards) const {
    for (const std::string& path : parse_dependencies(read_file(temp_.path() + "/read.d"))) {
      if (path.starts_with('/') && !path.starts_with(temp_.path() + "/")) guards.read(path);
    }
    if (clang_.device_library.empty()) return;
    std::vector<std::string> args = args_;
    args.insert(args.end(), {"-###", "-o", made(), "-"});
    const std::string said = start(std::move(args)).errors;
    constexpr std::string_view kMark = "\"-mlink-builtin-bitcode\" \"";
    for (std::size_t at = said.find(kMark); at != std::string::npos; at = said.find(kMark, at + 1)) {
      const std::size_t from = at + kMark.size();
      guards.read(said.substr(from, said.find('"', from) - from));
    }
  }

 private:
  [[nodiscard]] std::string made() const { return temp_.path() + "/kernel.hsaco"; }

  [[nodiscard]] SpawnResult start(std::vector<std::string> args) const {
    SpawnRequest spawning;
    spawning.program = clang_.path;
    spawning.args = std::move(args);
    spawning.env = clang_environment(temp_.path());
    spawning.folder = temp_.path() + "/empty";
    spawning.input = source_;
    spawning.cancelled = [this] { return host_->cancelled(call_) != 0; };
    SpawnResult result = spawn(spawning);
    if (result.ended == Ended::cancelled) throw Failure(TLC_E_CANCELLED, "the compile was cancelled");
    if (result.ended == Ended::not_started)
      throw Failure(TLC_E_UNAVAILABLE, "the compiler " + clang_.path + " " + result.describe(), result.code);
    return result;
  }

  /// Without the names of temporary files.
  [[nodiscard]] std::string clean(std::string log) const {
    replace_all(log, temp_.path() + "/headers/", "");
    replace_all(log, temp_.path() + "/", "");
    return log;
  }

  Host host_;
  tlc_call* call_;
  const Clang& clang_;
  std::string source_;
  TempDir temp_;
  std::vector<std::string> args_;
  SpawnResult result_;
};

}  // namespace

std::string Clang::identity(Host host, tlc_call* call, const TargetId& target) const {
  std::vector<std::string> lines;
  for (const std::string& file : files) lines.push_back(base_name(file) + " " + file_identity(host, call, file));
  std::sort(lines.begin(), lines.end());
  std::string out = "clang\n";
  for (const std::string& line : lines) out += line + "\n";
  if (device_library.empty()) return out + "no bitcode\n";
  const std::string isa = "/oclc_isa_version_" + target.processor.substr(3) + ".bc";
  return out + "bitcode " + file_identity(host, call, device_library + isa) + "\n";
}

bool is_clang(const std::string& path) {
  const std::string name = base_name(path);
  return name.find("clang") != std::string::npos && name.find(".so") == std::string::npos;
}

Clang find_clang(Host host, tlc_call* call, const std::string& chosen, const TargetId& target, Facts& facts) {
  std::string why;
  std::vector<std::string> paths = {chosen};
  if (chosen.empty()) {
    paths = candidates();
  } else if (find_program(chosen).empty() || chosen.front() != '/') {
    throw Failure(TLC_E_UNAVAILABLE,
                  "'" + chosen +
                      "', as TLC_HIP_CLANG or the field 'compiler' says, must be the absolute path of "
                      "a program");
  }
  for (const std::string& path : paths) {
    if (auto found = consider(host, call, path, target, why, facts)) return *std::move(found);
  }
  throw Failure(TLC_E_UNAVAILABLE,
                "there is no clang for " + target.text() +
                    (why.empty() ? " ($ROCM_PATH, /opt/rocm and PATH have none)" : " (" + why + ")") +
                    "; install one that knows it, with lld of its version, or name it by TLC_HIP_CLANG");
}

std::string compile_by_clang(Host host, tlc_call* call, const Clang& clang, const TargetId& target,
                             const DeviceSource& request, const std::vector<std::string>& options, GuardSet& guards,
                             std::string& log) {
  if (!request.name_expressions.empty()) {
    throw Failure(TLC_E_UNSUPPORTED,
                  "field 'name_expressions' needs hiprtc, and " + target.text() + " is compiled by " + clang.path +
                      " here; declare the kernels extern \"C\", or install a hiprtc that knows the arch");
  }
  Compile compile(host, call, clang, target, request, options);
  std::string code = compile.run(log);
  if (!code.empty()) {
    compile.add_reads(guards);
    return code;
  }
  const std::string line = first_error(log);
  const bool bitcode = clang.device_library.empty() && log.find("__oc") != std::string::npos;
  throw Failure(
      TLC_E_COMPILE,
      clang.path + " " + (line.empty() ? compile.result().describe() : "says: " + line) +
          (bitcode ? "; there is no bitcode of ROCm's for " + target.text() + ", where this function is" : ""));
}

}  // namespace tlcb::hip
