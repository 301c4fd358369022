// SPDX-License-Identifier: MIT
#include "support/worker.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <vector>

#include "support/failure.hpp"
#include "support/loaded_library.hpp"
#include "support/temp_dir.hpp"
#include "support/toolchain.hpp"

#ifndef TLC_WORKER_FROM_LIBRARY
#define TLC_WORKER_FROM_LIBRARY "../libexec/tlcache"
#endif

namespace tlcb {
namespace {

constexpr const char* kName = "tlcache-worker";
constexpr std::size_t kLargestAnswer = std::size_t{2} << 30;

/// The folder of the library (or program) that this function is part of.
std::string own_folder() {
  Dl_info info{};
  static const char kHere = 0;
  if (::dladdr(&kHere, &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string path = real_path(info.dli_fname);
  return path.front() == '/' ? path.substr(0, path.rfind('/')) : std::string();
}

/// What a compiler may see of the host's environment: where its libraries lie. Nothing that changes what it makes, and
/// no cache of its own.
std::vector<std::string> worker_environment(const std::string& temp) {
  std::vector<std::string> env = {"LC_ALL=C", "TMPDIR=" + temp, "HOME=" + temp, "AMD_COMGR_CACHE=0"};
  if (const std::string value = environment("LD_LIBRARY_PATH"); !value.empty())
    env.push_back("LD_LIBRARY_PATH=" + value);
  return env;
}

[[noreturn]] void wrong_worker(const std::string& path, const std::string& what) {
  throw Failure(TLC_E_UNAVAILABLE,
                path + " " + what + "; the worker and the library must be of one version: install them together");
}

/// The frames of an answer.
void read_answer(std::string_view bytes, const std::string& path, WorkerAnswer& out) {
  FrameHead head;
  while (true) {
    switch (take_frame(bytes, head)) {
      case FrameRead::cut:
        return;
      case FrameRead::nonsense:
        wrong_worker(path, "answers what is no answer of a tlcache-worker");
      case FrameRead::other_version:
        wrong_worker(path, "speaks version " + std::to_string(head.version) +
                               " of the protocol, this library version " + std::to_string(kWorkerVersion));
      case FrameRead::whole:
        break;
    }
    bool known = false;
    if (head.kind == Frame::opened) known = decode(head.body, out.opened.emplace());
    if (head.kind == Frame::done) known = decode(head.body, out.done.emplace());
    if (head.kind == Frame::answer) {
      out.answers.emplace_back(head.body);
      known = true;
    }
    if (!known) wrong_worker(path, "answers what this library does not understand");
  }
}

}  // namespace

std::string find_worker() {
  std::vector<std::string> places;
  if (const std::string chosen = environment("TLC_WORKER"); !chosen.empty()) {
    places = {chosen};
  } else if (const std::string folder = own_folder(); !folder.empty()) {
    places = {folder + "/" + kName, folder + "/" + TLC_WORKER_FROM_LIBRARY + "/" + kName};
  }
  std::string tried;
  for (const std::string& place : places) {
    if (std::string path = find_program(place); !path.empty() && place.front() == '/') return real_path(path);
    tried += (tried.empty() ? "" : ", ") + place;
  }
  throw Failure(TLC_E_UNAVAILABLE,
                "there is no tlcache-worker, in which this compiler is run (tried " + tried +
                    "); install it together with the library, or name it by TLC_WORKER as an absolute path");
}

namespace {

WorkerAnswer run_with_input(const std::string& input, const std::vector<std::string>& more_environment,
                            const std::function<bool()>& cancelled, std::chrono::milliseconds timeout) {
  const std::string path = find_worker();
  int error = 0;
  const TempDir temp = TempDir::create(error);
  if (!temp) throw Failure(TLC_E_IO, "no temporary folder could be made; set TMPDIR to one that can be written", error);
  SpawnRequest spawning;
  spawning.program = path;
  spawning.env = worker_environment(temp.path());
  spawning.env.insert(spawning.env.end(), more_environment.begin(), more_environment.end());
  spawning.folder = temp.path();
  spawning.input = input;
  spawning.cancelled = cancelled;
  spawning.timeout = timeout;
  spawning.output_limit = kLargestAnswer;
  WorkerAnswer out;
  out.ended = spawn(spawning);
  if (out.ended.ended == Ended::cancelled) throw Failure(TLC_E_CANCELLED, "the compile was cancelled");
  if (out.ended.ended == Ended::not_started) {
    throw Failure(TLC_E_UNAVAILABLE, path + " " + out.ended.describe(), out.ended.code);
  }
  read_answer(out.ended.output, path, out);
  out.ended.output.clear();
  out.said = std::move(out.ended.errors);
  return out;
}

}  // namespace

WorkerAnswer run_worker(const CompileOrder& order, const std::function<bool()>& cancelled,
                        std::chrono::milliseconds timeout) {
  return run_with_input(encode(order), {}, cancelled, timeout);
}

WorkerAnswer run_worker(const WorkerTask& task, const std::vector<std::string>& environment,
                        const std::function<bool()>& cancelled, std::chrono::milliseconds timeout) {
  return run_with_input(encode(task), environment, cancelled, timeout);
}

}  // namespace tlcb
