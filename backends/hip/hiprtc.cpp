// SPDX-License-Identifier: MIT
// Where hiprtc is looked for, in this order:
//
//  1. the request's field 'compiler', else TLC_HIPRTC, and nothing else when one of them is set
//  2. the one this process has already (a framework's)
//  3. $ROCM_PATH/lib, $HIP_PATH/lib
//  4. the loader's own ways, by name
//  5. /opt/rocm/lib
//
// What is remembered of one, by lines: path, version, "yes" or why it does not know the arch, then its files.
#include "hip/hiprtc.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>

#include "hip/runtime.hpp"
#include "support/compiler_log.hpp"
#include "support/failure.hpp"
#include "support/toolchain.hpp"
#include "support/worker.hpp"

namespace tlcb::hip {
namespace {

/// Debian has it in the runtime, as ROCm did until version 5.
constexpr std::array<const char*, 4> kNames = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5",
                                               "libamdhip64.so.5"};
constexpr const char* kName = "kernel.hip";
constexpr const char* kFirstLine = "#line 1 \"kernel.hip\"\n";
constexpr const char* kTrial = "extern \"C\" __global__ void trial() {}\n";
constexpr std::chrono::minutes kTrialLimit{2};

std::string already_open_path() {
  for (const char* name : kNames) {
    if (const LoadedLibrary library = LoadedLibrary::already_open(name)) return library.path();
  }
  return {};
}

std::string usual_folder() {
  return std::string(kUsualRocm) + "/lib";
}

/// What decides which one is found.
std::string circumstances(Host host, tlc_call* call, const std::string& chosen, const std::string& open) {
  std::string text = "hiprtc 1\n";
  if (!chosen.empty()) {
    // A fact is not written over: another file in its place is another fact.
    const bool there = ::access(chosen.c_str(), R_OK) == 0;
    text += "chosen " + chosen + " " + (there ? file_identity(host, call, chosen) : "none") + "\n";
  } else if (!open.empty()) {
    text += "open " + open + "\n";
  } else {
    text += "rocm " + first_file_in(rocm_libraries(), kNames) + "\nloader " + first_file_in(loader_folders(), kNames) +
            "\nlist " + loader_cache_stamp() + "\nusual " + first_file_in({usual_folder()}, kNames) + "\n";
  }
  return text + "path " + environment("LD_LIBRARY_PATH") + "\n";
}

std::string to_memo(const Hiprtc& hiprtc) {
  std::string out =
      hiprtc.path + "\n" + hiprtc.version + "\n" + (hiprtc.knows_arch ? "yes" : "no " + hiprtc.why_not) + "\n";
  for (const std::string& file : hiprtc.files) out += file + "\n";
  return out;
}

std::optional<Hiprtc> from_memo(std::string_view text) {
  Hiprtc out;
  out.path = take_line(text);
  out.version = take_line(text);
  const std::string knows = take_line(text);
  out.knows_arch = knows == "yes";
  if (!out.knows_arch) out.why_not = knows.substr(std::min<std::size_t>(3, knows.size()));
  while (!text.empty()) out.files.push_back(take_line(text));
  const auto readable = [](const std::string& file) { return ::access(file.c_str(), R_OK) == 0; };
  if (out.files.empty() || !std::all_of(out.files.begin(), out.files.end(), readable)) return std::nullopt;
  return out;
}

std::vector<std::string> words_for(const TargetId& target) {
  return {"--offload-arch=" + target.text(), "-nostdinc"};
}

[[noreturn]] void none_found(const std::string& chosen, const WorkerAnswer& answer) {
  std::string why = answer.done ? answer.done->problem : answer.ended.describe() + " while it was opened";
  if (!answer.done && !answer.said.empty()) why += ": " + last_words(answer.said);
  if (!chosen.empty()) {
    throw Failure(TLC_E_UNAVAILABLE, "the hiprtc that TLC_HIPRTC or the field 'compiler' names cannot be used: " + why);
  }
  throw Failure(TLC_E_UNAVAILABLE,
                "no hiprtc was found (libhiprtc.so.7, .6 or .5, libamdhip64.so.5; looked in this process, $ROCM_PATH, "
                "$HIP_PATH, where the loader looks, /opt/rocm); install ROCm's, or Debian's libamdhip64-5, or set "
                "TLC_HIPRTC to the path of one (" +
                    why + ")");
}

/// In one line, for people.
std::string what_happened(const WorkerAnswer& answer) {
  if (answer.done) return answer.done->log.empty() ? answer.done->problem : first_error(answer.done->log);
  const std::string line = last_words(answer.said);
  return "tlcache-worker " + answer.ended.describe() + (line.empty() ? "" : ", saying: " + line);
}

CompileOrder order_for(const std::string& library, const std::string& open, const TargetId& target) {
  CompileOrder order;
  order.library = library.empty() ? open : library;
  if (order.library.empty()) order.candidates = candidates_of(rocm_libraries(), kNames, usual_folder());
  order.name = kName;
  order.options = words_for(target);
  return order;
}

std::function<bool()> cancelled_by(Host host, tlc_call* call) {
  return [host, call] { return host->cancelled(call) != 0; };
}

Hiprtc try_out(Host host, tlc_call* call, const std::string& chosen, const std::string& open, const TargetId& target) {
  CompileOrder order = order_for(chosen, open, target);
  order.source = kTrial;
  const WorkerAnswer answer = run_worker(order, cancelled_by(host, call), kTrialLimit);
  if (!answer.opened) none_found(chosen, answer);
  Hiprtc out{answer.opened->path, answer.opened->version, answer.opened->files, false, {}};
  out.knows_arch = answer.done && answer.done->result == 0 && !answer.done->code.empty();
  if (!out.knows_arch) out.why_not = what_happened(answer);
  return out;
}

}  // namespace

std::string Hiprtc::identity(Host host, tlc_call* call) const {
  std::vector<std::string> lines;
  for (const std::string& file : files) lines.push_back(base_name(file) + " " + file_identity(host, call, file));
  std::sort(lines.begin(), lines.end());
  std::string out = "hiprtc " + version + "\n";
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

Hiprtc find_hiprtc(Host host, tlc_call* call, const std::string& chosen, const TargetId& target, Facts& facts) {
  if (!chosen.empty() && chosen.front() != '/') {
    throw Failure(TLC_E_UNAVAILABLE, "'" + chosen +
                                         "', as TLC_HIPRTC or the field 'compiler' says, must be the absolute path of "
                                         "libhiprtc or libamdhip64, or of clang");
  }
  const std::string open = chosen.empty() ? already_open_path() : std::string();
  const std::string key = circumstances(host, call, chosen, open) + "arch " + target.text() + "\n";
  // What was found out about files holds for these files only.
  const auto remembered = [&](const Hiprtc& found) { return found.identity(host, call); };
  std::string memo;
  if (facts.recall(host, call, key, memo)) {
    std::string_view rest = memo;
    const std::size_t length = static_cast<std::size_t>(std::strtoull(take_line(rest).c_str(), nullptr, 10));
    const std::string_view identity = rest.substr(0, length);
    rest.remove_prefix(std::min(length, rest.size()));
    if (auto found = from_memo(rest); found && remembered(*found) == identity) return *std::move(found);
  }
  Hiprtc found = try_out(host, call, chosen, open, target);
  const std::string identity = remembered(found);
  facts.remember(host, call, key, std::to_string(identity.size()) + "\n" + identity + to_memo(found));
  return found;
}

WorkerDone compile_by_hiprtc(Host host, tlc_call* call, const Hiprtc& hiprtc, const TargetId& target,
                             const DeviceSource& request, const std::vector<std::string>& options, std::string& log) {
  CompileOrder order = order_for(hiprtc.path, {}, target);
  order.source = kFirstLine + *request.source;
  order.headers = request.headers;
  order.expressions = request.name_expressions;
  order.options.insert(order.options.end(), options.begin(), options.end());
  WorkerAnswer answer = run_worker(order, cancelled_by(host, call), {});
  log = answer.said;
  if (answer.done) log += answer.done->log;
  const std::string what = "hiprtc " + hiprtc.version;
  if (!answer.done) {
    const std::string line = last_words(answer.said);
    throw Failure(
        TLC_E_COMPILE,
        what + " did not survive compiling for " + target.text() + ": tlcache-worker " + answer.ended.describe() +
            (line.empty() ? "" : ", saying: " + line) +
            (hiprtc.knows_arch ? ""
                               : ". It may not know this arch; a newer one does, or clang (docs/backends/hip.md)"));
  }
  if (!answer.opened || answer.opened->files != hiprtc.files) {
    throw Failure(TLC_E_UNCACHEABLE, hiprtc.path +
                                         " does not consist any more of the libraries that it did when the key was "
                                         "made; ask again");
  }
  if (answer.done->result != 0 || answer.done->code.empty()) {
    std::string line = first_error(answer.done->log);
    if (line.empty()) line = answer.done->problem.empty() ? "it made no code" : answer.done->problem;
    constexpr int kOutOfMemory = 1;
    throw Failure(answer.done->result == kOutOfMemory ? TLC_E_NOMEM : TLC_E_COMPILE, what + " says: " + line, 0,
                  answer.done->result);
  }
  return *std::move(answer.done);
}

}  // namespace tlcb::hip
