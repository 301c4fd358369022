// SPDX-License-Identifier: MIT
// Compiling: source on standard input, in a folder of its own, to one shared object.
//
// A header that changes while the compiler reads it could be digested with the new content beside
// code of the old one. So a compile counts only if nothing it read was written since shortly before
// it began; otherwise it is done again.
#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "cpu/compiler.hpp"
#include "cpu/cpu.hpp"
#include "cpu/cpu_features.hpp"
#include "cpu/guards.hpp"
#include "cpu/options.hpp"
#include "cpu/request.hpp"
#include "cpu/target.hpp"
#include "support/elf_check.hpp"
#include "support/failure.hpp"
#include "support/spawn.hpp"
#include "support/temp_dir.hpp"
#include "support/toolchain.hpp"

namespace tlcb::cpu {
namespace {

constexpr int kAttempts = 3;
/// The line of a compiler's output that says what is wrong.
std::string first_error(const std::string& log) {
  std::string_view rest = log;
  std::string_view fallback;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    for (const std::string_view mark : {"error:", "undefined reference", "cannot find"}) {
      if (line.find(mark) != std::string_view::npos) return std::string(line);
    }
    if (fallback.empty()) fallback = line;
  }
  return std::string(fallback);
}

/// Failures that say nothing about the source must not be remembered as if they did.
tlc_status status_of(const std::string& log) {
  const auto has = [&log](std::string_view what) { return log.find(what) != std::string::npos; };
  if (has("No space left on device") || has("Disk quota exceeded")) return TLC_E_IO;
  if (has("Killed signal") || has("out of memory") || has("Cannot allocate memory")) {
    return TLC_E_NOMEM;
  }
  return TLC_E_COMPILE;
}

class Compile {
 public:
  Compile(Host host, tlc_call* call, Request request, std::string_view target)
      : host_(host),
        call_(call),
        request_(std::move(request)),
        options_(check_options(request_.options)),
        target_(parse_target(target)),
        compiler_(find_compiler(host, call, request_.compiler, request_.language, options_)) {
    check_machine(target);
  }

  void run(tlc_bundle* bundle, tlc_log* log) {
    std::string changing;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      int error = 0;
      const TempDir temp = TempDir::create(error);
      if (!temp) {
        throw Failure(TLC_E_IO,
                      "no temporary folder could be made; set TMPDIR to a folder that can "
                      "be written",
                      error);
      }
      const std::int64_t started = GuardSet::now_ns();
      const std::string output = compile_in(temp.path());
      changing = guards_of(temp.path()).add_to(host_, call_, bundle, started);
      if (changing.empty()) {
        host_->log_append(log, text(output));
        return add_member(bundle, temp.path());
      }
      GuardSet::wait_a_step();
    }
    throw Failure(TLC_E_UNCACHEABLE, "a file that the source includes is being written all the time (" + changing +
                                         "); compile again when it is done");
  }

  /// What the compiler said so far: the log of a failure too.
  [[nodiscard]] const std::string& said() const { return said_; }

 private:
  void check_machine(std::string_view target) const {
    if (target_.is_host_arch() || !request_.compiler.empty()) return;
    throw Failure(TLC_E_UNAVAILABLE, "target '" + std::string(target) + "' is for another machine than this " +
                                         host_arch() + "; name a cross compiler by the field 'compiler'");
  }

  [[nodiscard]] std::vector<std::string> front_args() const {
    std::vector<std::string> args;
    if (!options_.optimises) args.emplace_back("-O2");
    for (std::string& option : feature_options(target_.arch, target_.features)) {
      args.push_back(std::move(option));
    }
    for (const std::string& define : request_.defines) args.push_back("-D" + define);
    for (const std::string& folder : request_.includes) args.push_back("-I" + folder);
    args.insert(args.end(), options_.compile.begin(), options_.compile.end());
    return args;
  }

  [[nodiscard]] const char* language() const { return request_.language == Language::c ? "c" : "c++"; }

  SpawnResult start(std::vector<std::string> args, const std::string& folder, std::string_view input) const {
    SpawnRequest spawning;
    spawning.program = compiler_.path;
    spawning.args = std::move(args);
    spawning.env = environment(folder);
    spawning.folder = folder;
    spawning.input = input;
    spawning.cancelled = [this] { return host_->cancelled(call_) != 0; };
    SpawnResult result = spawn(spawning);
    if (result.ended == Ended::cancelled) throw Failure(TLC_E_CANCELLED, "the compile was cancelled");
    if (result.ended == Ended::not_started) {
      throw Failure(TLC_E_UNAVAILABLE, "the compiler " + compiler_.path + " " + result.describe(), result.code);
    }
    return result;
  }

  /// Runs the compiler; gives its output, or throws with the first error in it.
  std::string compile_in(const std::string& folder) {
    SpawnResult result = start(command(folder, true), folder, request_.source);
    // Linkers that cannot list what they read (gold) refuse the option that asks them to.
    if (!result.success() && result.ended != Ended::lost &&
        result.errors.find("dependency-file") != std::string::npos) {
      if (!options_.link.empty()) {
        throw Failure(TLC_E_UNCACHEABLE,
                      "the linker cannot list the files it reads (--dependency-file), so libraries "
                      "and objects in 'options' cannot be watched; use GNU ld 2.35, lld or mold");
      }
      result = start(command(folder, false), folder, request_.source);
    }
    said_ = result.output + result.errors;
    const std::string made = folder + "/" + kMember;
    const std::string object = read_file(made);
    const bool whole = check_shared_object(object.data(), object.size()).ok();
    if ((result.success() || result.ended == Ended::lost) && whole) return said_;
    const std::string line = first_error(said_);
    throw Failure(status_of(said_),
                  "the compiler " + compiler_.path + " " + (line.empty() ? result.describe() : "says: " + line));
  }

  [[nodiscard]] std::vector<std::string> command(const std::string& folder, bool list_linked) const {
    std::vector<std::string> args = front_args();
    const auto add = [&args](std::initializer_list<std::string> more) { args.insert(args.end(), more); };
    add({"-fPIC", "-shared", "-ffile-prefix-map=" + folder + "=."});
    // Unique symbols would tie two kernels of equal names together; random seeds differ per run.
    if (!compiler_.clang) add({"-fno-gnu-unique", "-frandom-seed=tlcache"});
    add({"-MD", "-MF", folder + "/headers.d", "-MT", kMember, "-o", folder + "/" + kMember});
    add({"-Wl,-z,nodelete", "-Wl,--build-id=none"});
    if (list_linked) add({"-Wl,--dependency-file=" + folder + "/linked.d"});
    add({"-x", language(), "-", "-x", "none"});
    args.insert(args.end(), options_.link.begin(), options_.link.end());
    return args;
  }

  /// Absolute paths of a dependency file, without those of the compile's own folder.
  static std::vector<std::string> listed(const std::string& file, const std::string& folder) {
    std::vector<std::string> paths = parse_dependencies(read_file(file));
    std::erase_if(paths, [&](const std::string& path) {
      return path == "-" || path == "<stdin>" || path.starts_with(folder + "/");
    });
    for (const std::string& path : paths) {
      if (path.empty() || path.front() != '/') {
        throw Failure(TLC_E_UNCACHEABLE,
                      "the compiler read '" + path + "', whose place is not known; use absolute folders");
      }
    }
    return paths;
  }

  GuardSet guards_of(const std::string& folder) const {
    Reads reads;
    reads.source = request_.source;
    reads.headers = listed(folder + "/headers.d", folder);
    reads.linked = listed(folder + "/linked.d", folder);
    std::vector<std::string> args = front_args();
    args.insert(args.end(), {"-E", "-v", "-x", language(), "-"});
    reads.search = parse_search_list(start(std::move(args), folder, {}).errors);
    reads.libraries = options_.libraries;
    reads.library_dirs = options_.library_dirs;
    return make_guards(reads);
  }

  void add_member(tlc_bundle* bundle, const std::string& folder) const {
    const std::string object = read_file(folder + "/" + kMember);
    tlc_error error = fresh_error();
    check(host_->bundle_add(bundle, text(kMember), TLC_MEMBER_SHARED_OBJECT, object.data(), object.size(), 0, &error),
          error);
  }

  static tlc_error fresh_error() {
    tlc_error error{};
    error.struct_size = TLC_SIZEOF(tlc_error, message);
    return error;
  }

  static void check(tlc_status status, const tlc_error& error) {
    if (status != TLC_OK) throw Failure(status, error.message, error.sys_errno);
  }

  Host host_;
  tlc_call* call_;
  Request request_;
  Options options_;
  Target target_;
  Compiler compiler_;
  std::string said_;
};

}  // namespace

void compile(Host host, tlc_call* call, const tlc_request* request, std::string_view target, tlc_bundle* bundle,
             tlc_log* log) {
  Compile compile(host, call, read_request(host, request), target);
  try {
    compile.run(bundle, log);
  } catch (const Failure&) {
    host->log_append(log, text(compile.said()));
    throw;
  }
}

}  // namespace tlcb::cpu
