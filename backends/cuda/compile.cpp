// SPDX-License-Identifier: MIT
// Compiling by NVRTC, within the process.
//
// What a compile must not do to its host, and how that is kept off:
//
// | NVRTC would                                   | it is told                                                        |
// |-----------------------------------------------|-------------------------------------------------------------------|
// | raise the process's stack limit               | -modify-stack-limit=false                                         |
// | leave signal handlers of its own              | KeepSignalHandlers                                                |
// | look for "name" in the working directory      | the source lies in a folder that cannot exist; with headers from  |
// |                                               | memory, whose own includes it would look for there, also          |
// |                                               | -no-source-include                                                |
// | keep a cache of its own (12.9 and newer)      | --no-cache                                                        |
// | take more options from NVRTC_APPEND_FLAGS     | nothing is compiled while that is set                             |
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cuda/cuda.hpp"
#include "cuda/metadata.hpp"
#include "cuda/options.hpp"
#include "cuda/process_state.hpp"
#include "cuda/request.hpp"
#include "cuda/target.hpp"
#include "support/compiler_log.hpp"
#include "support/failure.hpp"
#include "support/guard_set.hpp"
#include "support/includes.hpp"

namespace tlcb::cuda {
namespace {

/// Nobody can make a file below /proc. Messages and debug information name the file as the line below does.
constexpr std::string_view kFolder = "/proc/tlcache/";
constexpr std::string_view kName = "kernel.cu";
constexpr std::string_view kFirstLine = "#line 1 \"kernel.cu\"\n";

enum NvrtcResult { kOk = 0, kOutOfMemory = 1, kInvalidOption = 5, kCompilation = 6, kBuiltins = 7, kCancelled = 16 };

Output output_of(const Request& request, const Options& options, const Arch& arch) {
  const Output output = request.output.value_or(arch.is_virtual ? Output::ptx : Output::cubin);
  if (output != Output::cubin) return output;
  if (arch.is_virtual) {
    throw Failure(TLC_E_INVALID,
                  "target cuda:" + arch.text() + " is for PTX; for a cubin write cuda:sm_" + arch.text().substr(8));
  }
  if (options.relocatable) {
    throw Failure(TLC_E_INVALID,
                  "relocatable code (-rdc=true, -dc) makes a cubin that cannot be loaded; ask for output ltoir or ptx");
  }
  return output;
}

void refuse_appended_flags() {
  const char* flags = ::getenv("NVRTC_APPEND_FLAGS");
  if (flags == nullptr || *flags == '\0') return;
  throw Failure(TLC_E_UNCACHEABLE, std::string("NVRTC_APPEND_FLAGS is set (") + flags +
                                       "): it changes what NVRTC makes without being part of the key; unset it and put "
                                       "the options into the field 'options'");
}

/// A program under compilation, ended with its scope.
class Program {
 public:
  Program(const Nvrtc& nvrtc, const std::string& source, const Request& request) : nvrtc_(nvrtc) {
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const auto& [name, text] : request.headers) {
      names.push_back(name.c_str());
      texts.push_back(text.c_str());
    }
    const std::string path = std::string(kFolder).append(kName);
    check(nvrtc.api.create(&program_, source.c_str(), path.c_str(), static_cast<int>(texts.size()), texts.data(),
                           names.data()),
          "NVRTC could not take the source");
    for (const std::string& expression : request.name_expressions) {
      check(nvrtc.api.add_name(program_, expression.c_str()), "NVRTC refused name expression '" + expression + "'");
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (program_ != nullptr) nvrtc_.api.destroy(&program_);
  }

  int compile(const std::vector<std::string>& words, Host host, tlc_call* call) {
    std::pair<Host, tlc_call*> asked(host, call);
    if (nvrtc_.api.set_flow_callback != nullptr) {
      const auto cancelled = [](void* payload, void*) {
        const auto* pair = static_cast<const std::pair<Host, tlc_call*>*>(payload);
        return static_cast<int>(pair->first->cancelled(pair->second) != 0);
      };
      (void)nvrtc_.api.set_flow_callback(program_, cancelled, &asked);
    }
    std::vector<const char*> options;
    options.reserve(words.size());
    for (const std::string& word : words) options.push_back(word.c_str());
    const KeepSignalHandlers keep(nvrtc_.place.path);
    return nvrtc_.api.compile(program_, static_cast<int>(options.size()), options.data());
  }

  [[nodiscard]] std::string log() const {
    std::string text = bytes(nvrtc_.api.log_size, nvrtc_.api.log);
    text.resize(std::min(text.find('\0'), text.size()));
    replace_all(text, kFolder, "");
    return text;
  }

  /// One of the results; empty when there is none.
  [[nodiscard]] std::string bytes(int (*size_of)(NvrtcProgram, std::size_t*), int (*get)(NvrtcProgram, char*)) const {
    std::size_t size = 0;
    if (size_of == nullptr || get == nullptr || size_of(program_, &size) != kOk || size == 0) return {};
    std::string out(size, '\0');
    return get(program_, out.data()) == kOk ? out : std::string();
  }

  [[nodiscard]] std::string lowered(const std::string& expression) const {
    const char* name = nullptr;
    check(nvrtc_.api.lowered_name(program_, expression.c_str(), &name),
          "NVRTC knows no symbol for name expression '" + expression + "'");
    return name;
  }

 private:
  void check(int result, const std::string& what) const {
    if (result == kOk) return;
    throw Failure(result == kOutOfMemory ? TLC_E_NOMEM : TLC_E_COMPILE, what + ": " + nvrtc_.api.error_string(result),
                  0, result);
  }

  const Nvrtc& nvrtc_;
  NvrtcProgram program_ = nullptr;
};

class Compile {
 public:
  Compile(State& state, tlc_call* call, Request request, std::string_view target)
      : host_(state.host),
        call_(call),
        request_(std::move(request)),
        options_(check_options(request_.options)),
        arch_(parse_target(target)),
        output_(output_of(request_, options_, arch_)),
        nvrtc_(state.nvrtc.get(state.host, call, request_.compiler)) {
    need_source(request_);
    nvrtc_.check_arch(arch_);
    if (output_ == Output::ltoir && nvrtc_.api.ltoir == nullptr) {
      throw Failure(TLC_E_UNSUPPORTED, "NVRTC " + nvrtc_.version() + " makes no LTO-IR; CUDA 12 or newer does");
    }
  }

  void run(tlc_bundle* bundle, tlc_log* log) {
    compile_undisturbed(
        host_, call_, bundle,
        [&](GuardSet& guards) {
          guards = find_includes(include_sources());
          auto program = std::make_unique<Program>(nvrtc_, std::string(kFirstLine) + *request_.source, request_);
          const int result = program->compile(words(), host_, call_);
          if (result != kOk) {
            host_->log_append(log, text(program->log()));
            fail(result, program->log());
          }
          return program;
        },
        [&](const std::unique_ptr<Program>& program) {
          host_->log_append(log, text(program->log()));
          add_members(*program, bundle);
        });
  }

 private:
  [[nodiscard]] IncludeSources include_sources() const {
    IncludeSources sources = include_sources_of(request_, options_);
    sources.beside = request_.headers.empty();
    sources.compiler = "NVRTC";
    return sources;
  }

  [[nodiscard]] std::vector<std::string> words() const {
    std::vector<std::string> out = {"--gpu-architecture=" + arch_.text(), "-modify-stack-limit=false"};
    if (nvrtc_.at_least(12, 9)) out.emplace_back("--no-cache");
    if (output_ == Output::ltoir) out.emplace_back("-dlto");
    if (!request_.headers.empty()) out.emplace_back("-no-source-include");
    for (const std::string& define : request_.defines) out.push_back("-D" + define);
    out.insert(out.end(), options_.words.begin(), options_.words.end());
    for (const std::string& folder : folders_of(request_, options_)) out.push_back("-I" + folder);
    return out;
  }

  [[noreturn]] void fail(int result, const std::string& said) const {
    if (result == kCancelled || host_->cancelled(call_) != 0)
      throw Failure(TLC_E_CANCELLED, "the compile was cancelled");
    const std::string what = "NVRTC " + nvrtc_.version();
    const std::string line = first_error(said);
    const bool about_arch =
        said.find("gpu-architecture") != std::string::npos || said.find("nv_arch") != std::string::npos;
    if ((result == kInvalidOption || result == kCompilation) && about_arch) {
      throw Failure(TLC_E_UNSUPPORTED,
                    what + " does not compile for " + arch_.text() + "; it knows " + nvrtc_.arch_list() +
                        ", of some also their variants 'a' and 'f'",
                    0, result);
    }
    const tlc_status status = result == kOutOfMemory ? TLC_E_NOMEM
                              : result == kBuiltins  ? TLC_E_UNAVAILABLE
                                                     : TLC_E_COMPILE;
    throw Failure(status, what + " says: " + (line.empty() ? nvrtc_.api.error_string(result) : line), 0, result);
  }

  void add_members(const Program& program, tlc_bundle* bundle) const {
    const NvrtcApi& api = nvrtc_.api;
    switch (output_) {
      case Output::cubin:
        add(bundle, kCubinMember, TLC_MEMBER_DEVICE_BINARY, program.bytes(api.cubin_size, api.cubin));
        break;
      case Output::ptx:
        add(bundle, kPtxMember, TLC_MEMBER_DEVICE_IR, program.bytes(api.ptx_size, api.ptx));
        break;
      case Output::ltoir:
        add(bundle, kLtoirMember, TLC_MEMBER_DEVICE_IR, program.bytes(api.ltoir_size, api.ltoir));
        break;
    }
    Names names;
    for (const std::string& expression : request_.name_expressions) names[expression] = program.lowered(expression);
    if (!names.empty()) add(bundle, kNamesMember, TLC_MEMBER_JSON, to_json(names));
    if (!request_.launch.empty()) add(bundle, kLaunchMember, TLC_MEMBER_JSON, to_json(request_.launch));
  }

  void add(tlc_bundle* bundle, const char* name, std::uint32_t type, const std::string& bytes) const {
    if (bytes.empty()) {
      throw Failure(TLC_E_COMPILE,
                    "NVRTC " + nvrtc_.version() + " made no " + std::string(name) +
                        " although it reported no error; another 'output' may be what these options make");
    }
    HostError error;
    error.check(host_->bundle_add(bundle, text(name), type, bytes.data(), bytes.size(), 0, error.out()));
  }

  Host host_;
  tlc_call* call_;
  Request request_;
  Options options_;
  Arch arch_;
  Output output_;
  const Nvrtc& nvrtc_;
};

/// -G writes the working directory into the binary.
std::string working_directory() {
  std::array<char, PATH_MAX> path{};
  return ::getcwd(path.data(), path.size()) != nullptr ? path.data() : "";
}

}  // namespace

std::string identify(State& state, tlc_call* call, const tlc_request* request, std::string_view target) {
  const Arch arch = parse_target(target);
  const Request fields = read_request(state.host, request);
  const Options options = check_options(fields.options);
  const Output output = output_of(fields, options, arch);
  std::string out = "cuda 1\n";
  if (fields.source) {
    refuse_appended_flags();
    out += state.nvrtc.identity(state.host, call, fields.compiler);
    if (options.debug) out += "folder " + working_directory() + "\n";
  } else {
    out += "not compiled\n";
  }
  // The driver compiles PTX when it is loaded. Without a driver it is compiled, and loaded elsewhere.
  if (output == Output::ptx) out += "driver " + state.driver.version_text() + "\n";
  return out;
}

void compile(State& state, tlc_call* call, const tlc_request* request, std::string_view target, tlc_bundle* bundle,
             tlc_log* log) {
  refuse_appended_flags();
  Compile(state, call, read_request(state.host, request), target).run(bundle, log);
}

}  // namespace tlcb::cuda
