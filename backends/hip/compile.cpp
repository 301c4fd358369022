// SPDX-License-Identifier: MIT
// Compiling: each target of the request by the compiler that knows it, to one code object or one bundle of them.
#include <algorithm>
#include <utility>

#include "hip/bundle.hpp"
#include "hip/code_object.hpp"
#include "hip/hip.hpp"
#include "hip/options.hpp"
#include "support/device_source.hpp"
#include "support/failure.hpp"
#include "support/guard_set.hpp"
#include "support/includes.hpp"
#include "support/names.hpp"
#include "support/request_fields.hpp"

namespace tlcb::hip {
namespace {

/// The compilers write headers from memory into a folder; their names must not lead out of it.
void check_header_names(const DeviceSource& request) {
  for (const auto& [name, text] : request.headers) {
    const std::string guarded = "/" + name + "/";
    if (name.front() == '/' || name.back() == '/' || guarded.find("/../") != std::string::npos ||
        guarded.find("/./") != std::string::npos || guarded.find("//") != std::string::npos) {
      wrong_field("headers", "has the name '" + name + "'; it must be relative, without '.' and '..'");
    }
  }
}

struct Made {
  std::vector<std::pair<TargetId, std::string>> code;
  Names names;
  std::string log;
};

class Compile {
 public:
  Compile(State& state, tlc_call* call, DeviceSource request, std::string_view target)
      : state_(state),
        call_(call),
        request_(std::move(request)),
        options_(check_options(request_.options)),
        targets_(parse_targets(target)) {
    need_source(request_);
    check_header_names(request_);
  }

  void run(tlc_bundle* bundle, tlc_log* log) {
    compile_undisturbed(
        state_.host, call_, bundle,
        [&](GuardSet& guards) {
          guards = find_includes(include_sources());
          Made made;
          for (const TargetId& target : targets_) one(target, guards, made, log);
          return made;
        },
        [&](const Made& made) {
          state_.host->log_append(log, text(made.log));
          add_members(made, bundle);
        });
  }

 private:
  [[nodiscard]] IncludeSources include_sources() const {
    IncludeSources sources = include_sources_of(request_, options_);
    sources.beside_first = true;
    sources.compiler = "hiprtc";
    return sources;
  }

  [[nodiscard]] std::vector<std::string> words() const {
    std::vector<std::string> out;
    if (!options_.optimises) out.emplace_back("-O3");
    for (const std::string& define : request_.defines) out.push_back("-D" + define);
    out.insert(out.end(), options_.words.begin(), options_.words.end());
    for (const std::string& folder : folders_of(request_, options_)) out.push_back("-I" + folder);
    return out;
  }

  void one(const TargetId& target, GuardSet& guards, Made& made, tlc_log* log) {
    const Toolchain toolchain = state_.toolchains.get(state_.host, call_, request_.compiler, target);
    std::string said;
    std::string code;
    try {
      if (const Hiprtc* hiprtc = toolchain.hiprtc()) {
        WorkerDone done = compile_by_hiprtc(state_.host, call_, *hiprtc, target, request_, words(), said);
        code = std::move(done.code);
        take_names(done, made.names);
      } else {
        code = compile_by_clang(state_.host, call_, toolchain.clang(), target, request_, words(), guards, said);
      }
    } catch (const Failure&) {
      state_.host->log_append(log, text(made.log + said));
      throw;
    }
    made.log += said;
    state_.toolchains.check_same(state_.host, call_, request_.compiler, target, toolchain);
    const CodeObject object = check_code_object(code);
    if (!object.ok() || object.target != target) {
      throw Failure(TLC_E_COMPILE, "what was made for " + target.text() + " cannot be used: " +
                                       (object.ok() ? "it is for " + object.target.text() : object.problem));
    }
    made.code.emplace_back(target, std::move(code));
  }

  void take_names(const WorkerDone& done, Names& names) const {
    const std::size_t count = std::min(done.lowered.size(), request_.name_expressions.size());
    for (std::size_t i = 0; i < count; ++i) names[request_.name_expressions[i]] = done.lowered[i];
  }

  void add_members(const Made& made, tlc_bundle* bundle) const {
    if (made.code.size() == 1) {
      add(bundle, kCodeObjectMember, TLC_MEMBER_DEVICE_BINARY, made.code.front().second);
    } else {
      add(bundle, kBundleMember, TLC_MEMBER_DEVICE_BINARY, write_bundle(made.code));
    }
    if (!made.names.empty()) add(bundle, kNamesMember, TLC_MEMBER_JSON, to_json(made.names));
  }

  void add(tlc_bundle* bundle, const char* name, std::uint32_t type, const std::string& bytes) const {
    HostError error;
    error.check(state_.host->bundle_add(bundle, text(name), type, bytes.data(), bytes.size(), 0, error.out()));
  }

  State& state_;
  tlc_call* call_;
  DeviceSource request_;
  Options options_;
  std::vector<TargetId> targets_;
};

}  // namespace

std::string identify(State& state, tlc_call* call, const tlc_request* request, std::string_view target) {
  const std::vector<TargetId> targets = parse_targets(target);
  const DeviceSource fields = read_device_source(state.host, request);
  (void)check_options(fields.options);
  check_header_names(fields);
  std::string out = "hip 1\n";
  if (!fields.source) return out + "not compiled\n";
  for (const TargetId& one : targets) {
    out += "for " + one.text() + "\n" + state.toolchains.get(state.host, call, fields.compiler, one).identity;
  }
  return out;
}

void compile(State& state, tlc_call* call, const tlc_request* request, std::string_view target, tlc_bundle* bundle,
             tlc_log* log) {
  Compile(state, call, read_device_source(state.host, request), target).run(bundle, log);
}

}  // namespace tlcb::hip
