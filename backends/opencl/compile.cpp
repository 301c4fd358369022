// SPDX-License-Identifier: MIT
// Compiling: OpenCL C or SPIR-V to the driver's binary, in tlcache-worker.
#include <optional>
#include <utility>

#include "opencl/binary_check.hpp"
#include "opencl/opencl.hpp"
#include "opencl/options.hpp"
#include "opencl/program_info.hpp"
#include "support/compiler_log.hpp"
#include "support/device_source.hpp"
#include "support/guard_set.hpp"
#include "support/includes.hpp"
#include "support/request_fields.hpp"
#include "support/worker.hpp"

namespace tlcb::opencl {
namespace {

struct Fields {
  DeviceSource source;
  std::optional<std::string> il;
};

/// Drivers write headers from memory into a folder; their names must not lead out of it.
void check_header_names(const DeviceSource& request) {
  for (const auto& [name, text] : request.headers) {
    const std::string guarded = "/" + name + "/";
    if (name.front() == '/' || name.back() == '/' || guarded.find("/../") != std::string::npos ||
        guarded.find("/./") != std::string::npos || guarded.find("//") != std::string::npos) {
      wrong_field("headers", "has the name '" + name + "'; it must be relative, without '.' and '..'");
    }
  }
}

std::optional<std::string> read_il(Host host, const tlc_request* request) {
  const tlc_value* value = host->request_find(request, text("il"));
  if (value == nullptr || host->value_type(value) == TLC_TYPE_NULL) return std::nullopt;
  if (host->value_type(value) != TLC_TYPE_BYTES) wrong_field("il", "must be bytes: a module of SPIR-V");
  std::string bytes(view(host->value_text(value)));
  if (const std::string problem = spirv_problem(bytes); !problem.empty())
    wrong_field("il", "cannot be used: " + problem);
  return bytes;
}

Fields read_fields(Host host, const tlc_request* request) {
  Fields out{read_device_source(host, request), read_il(host, request)};
  check_header_names(out.source);
  if (!out.source.name_expressions.empty())
    wrong_field("name_expressions", "is for C++, and kernels of OpenCL C keep their names");
  if (!out.il) return out;
  if (out.source.source) wrong_field("il", "stands in place of a source: give one of the two");
  if (!out.source.defines.empty() || !out.source.includes.empty() || !out.source.headers.empty())
    wrong_field("il", "is compiled already: 'defines', 'include_dirs' and 'headers' mean nothing to it");
  return out;
}

[[noreturn]] void refused(const Outcome& outcome, const std::string& device) {
  std::string line = first_error(outcome.log);
  if (line.empty()) line = "it gives no reason";
  const std::string message = outcome.problem + " for " + device;
  switch (outcome.result) {
    case kClBuildFailure:
    case kClCompileFailure:
    case kClLinkFailure:
    case kClInvalidBuildOptions:
    case kClInvalidCompilerOptions:
    case kClInvalidLinkerOptions:
      throw Failure(TLC_E_COMPILE, message + ", saying: " + line, 0, outcome.result);
    case kClOutOfHostMemory:
    case kClOutOfResources:
    case kClMemObjectAllocation:
      throw Failure(TLC_E_NOMEM, message, 0, outcome.result);
    default:
      throw Failure(TLC_E_UNAVAILABLE, message, 0, outcome.result);
  }
}

class Compile {
 public:
  Compile(State& state, tlc_call* call, Fields fields, std::string_view target)
      : state_(state),
        call_(call),
        fields_(std::move(fields)),
        options_(check_options(fields_.source.options)),
        target_(parse_target(target)) {
    if (!fields_.il) need_source(fields_.source);
  }

  void run(tlc_bundle* bundle, tlc_log* log) {
    const Order base = order();
    compile_undisturbed(
        state_.host, call_, bundle,
        [&](GuardSet& guards) {
          if (!fields_.il) guards = find_includes(include_sources());
          return by_worker(base, log);
        },
        [&](const Outcome& made) {
          state_.host->log_append(log, text(made.log));
          add_members(made, bundle);
        });
  }

 private:
  [[nodiscard]] IncludeSources include_sources() const {
    IncludeSources sources = include_sources_of(fields_.source, options_);
    sources.compiler = "an OpenCL driver";
    return sources;
  }

  [[nodiscard]] Order order() const {
    Order out;
    if (fields_.il) {
      out.il = *fields_.il;
    } else {
      for (const std::string& define : fields_.source.defines) out.source += define_line(define);
      out.source += options_.prefix;
      // Messages then name the same file in every process.
      out.source += "#line 1 \"kernel.cl\"\n" + *fields_.source.source;
    }
    out.headers = fields_.source.headers;
    out.options = option_text(options_.words, folders_of(fields_.source, options_));
    return out;
  }

  /// What was made, with all that was said in its log.
  Outcome by_worker(const Order& base, tlc_log* log) {
    toolchain_ = state_.toolchains.get(state_.host, call_, fields_.source.compiler, target_);
    Order order = base;
    order.library = toolchain_.listing.library;
    order.device = toolchain_.device.identity();
    const auto cancelled = [this] { return state_.host->cancelled(call_) != 0; };
    const WorkerAnswer answer = run_worker(WorkerTask{kWorkerTask, encode(order)}, worker_environment(), cancelled, {});
    Outcome outcome;
    try {
      outcome = read_answer(answer);
    } catch (const Failure&) {
      state_.host->log_append(log, text(answer.said + outcome.log));
      throw;
    }
    if (!outcome.problem.empty()) {
      state_.host->log_append(log, text(answer.said + outcome.log));
      refused(outcome, toolchain_.device.name);
    }
    outcome.log.insert(0, answer.said);
    return outcome;
  }

  Outcome read_answer(const WorkerAnswer& answer) {
    Listing seen;
    Outcome outcome;
    const std::vector<std::string>& frames = answer.answers;
    const bool listed = !frames.empty() && decode(frames.front(), seen);
    if (listed && frames.size() == 1 && answer.ended.success()) {
      throw Failure(TLC_E_UNAVAILABLE, "the device " + toolchain_.device.name + " is not there any more" +
                                           (seen.problem.empty() ? "" : ": " + seen.problem));
    }
    if (frames.size() != 2 || !listed || !decode(frames.back(), outcome)) {
      const std::string line = last_words(answer.said);
      throw Failure(TLC_E_COMPILE, toolchain_.device.platform + "'s compiler did not survive compiling for " +
                                       target_.text() + ": tlcache-worker " + answer.ended.describe() +
                                       (line.empty() ? "" : ", saying: " + line));
    }
    state_.toolchains.check_same(state_.host, call_, fields_.source.compiler, toolchain_, seen);
    return outcome;
  }

  void add_members(const Outcome& made, tlc_bundle* bundle) const {
    const Binary binary = check_binary(made.binary);
    if (!binary.ok()) {
      throw Failure(TLC_E_COMPILE, "what the driver made for " + target_.text() + " cannot be used: " + binary.problem);
    }
    add(bundle, kProgramMember, TLC_MEMBER_DEVICE_BINARY, made.binary);
    add(bundle, kInfoMember, TLC_MEMBER_JSON, program_json(toolchain_.device, made.binary, made.kernels));
  }

  void add(tlc_bundle* bundle, const char* name, std::uint32_t type, const std::string& bytes) const {
    HostError error;
    error.check(state_.host->bundle_add(bundle, text(name), type, bytes.data(), bytes.size(), 0, error.out()));
  }

  State& state_;
  tlc_call* call_;
  Fields fields_;
  Options options_;
  Target target_;
  Toolchain toolchain_;
};

}  // namespace

std::string identify(State& state, tlc_call* call, const tlc_request* request, std::string_view target) {
  const Target wanted = parse_target(target);
  const Fields fields = read_fields(state.host, request);
  (void)check_options(fields.source.options);
  const std::string out = "opencl 1\n";
  if (!fields.source.source && !fields.il) return out + "not compiled\n";
  return out + state.toolchains.get(state.host, call, fields.source.compiler, wanted).identity;
}

void compile(State& state, tlc_call* call, const tlc_request* request, std::string_view target, tlc_bundle* bundle,
             tlc_log* log) {
  Compile(state, call, read_fields(state.host, request), target).run(bundle, log);
}

}  // namespace tlcb::opencl
