// SPDX-License-Identifier: MIT
// Compiling: to a metallib by Apple's compiler where there is one; elsewhere the text itself, checked, with what Metal
// is to be told when it compiles it at load. A metallib that is given is checked and kept as it is.
#include <string>
#include <utility>

#include "metal/metal.hpp"
#include "metal/source.hpp"
#include "support/device_source.hpp"
#include "support/failure.hpp"
#include "support/guard_set.hpp"
#include "support/includes.hpp"
#include "support/request_fields.hpp"

namespace tlcb::metal {
namespace {

constexpr const char* kGiven = "metallib";

struct Request {
  DeviceSource fields;
  std::optional<std::string> metallib;  ///< compiled already
};

std::optional<std::string> given_metallib(Host host, const tlc_request* request) {
  const tlc_value* value = host->request_find(request, text(kGiven));
  if (value == nullptr || host->value_type(value) == TLC_TYPE_NULL) return std::nullopt;
  if (host->value_type(value) != TLC_TYPE_BYTES) wrong_field(kGiven, "must be bytes: those of a metallib");
  return std::string(view(host->value_text(value)));
}

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

Request read_request(Host host, const tlc_request* request) {
  Request out{read_device_source(host, request), given_metallib(host, request)};
  check_header_names(out.fields);
  if (!out.fields.name_expressions.empty()) {
    throw Failure(
        TLC_E_UNSUPPORTED,
        "field 'name_expressions' is not Metal's; give an instance of a template a name by [[host_name(\"...\")]]");
  }
  if (out.metallib && out.fields.source)
    throw Failure(TLC_E_INVALID, "fields 'source' and 'metallib' are both there; one of them is wanted");
  return out;
}

/// Text that Metal compiles when it is loaded is all there is then.
void check_for_load(const DeviceSource& request, const Options& options, const std::string& why_not) {
  const std::string here = why_not.empty() ? "" : " (here there is none: " + why_not + ")";
  if (const std::string header = foreign_include(*request.source); !header.empty()) {
    throw Failure(TLC_E_UNSUPPORTED, "the source includes " + header + ", which needs Apple's compiler" + here +
                                         "; text is compiled when it is loaded, with Metal's own headers only: put the "
                                         "header's text into the source");
  }
  if (!options.offline_only.empty()) {
    throw Failure(TLC_E_UNSUPPORTED, "'" + options.offline_only + "' needs Apple's compiler" + here +
                                         "; text is compiled when it is loaded, without files");
  }
}

class Compile {
 public:
  Compile(State& state, tlc_call* call, Request request, std::string_view target, tlc_bundle* bundle, tlc_log* log)
      : state_(state),
        call_(call),
        request_(std::move(request)),
        options_(check_options(request_.fields)),
        target_(parse_target(target)),
        bundle_(bundle),
        log_(log) {}

  void run() {
    if (request_.metallib) return keep_metallib(*request_.metallib, TLC_E_INVALID, "the metallib of the request");
    need_source(request_.fields);
    const Compiler compiler = state_.compilers.get(state_.host, call_, request_.fields.compiler, target_);
    if (const std::string problem = source_problem(*request_.fields.source); !problem.empty())
      throw Failure(TLC_E_COMPILE, "the source cannot be compiled: " + problem);
    if (!compiler) return keep_text(compiler.why_not);
    offline(compiler);
  }

 private:
  void keep_metallib(const std::string& bytes, tlc_status status, const std::string& what) {
    const Metallib library = check_metallib(bytes);
    std::string problem = library.problem;
    if (problem.empty()) problem = misfit(library, target_);
    if (!problem.empty()) throw Failure(status, what + " cannot be used: " + problem);
    add(kLibraryMember, TLC_MEMBER_DEVICE_BINARY, bytes);
  }

  void keep_text(const std::string& why_not) {
    check_for_load(request_.fields, options_, why_not);
    add(kSourceMember, TLC_MEMBER_SOURCE, *request_.fields.source);
    if (options_.at_load != LoadOptions()) add(kOptionsMember, TLC_MEMBER_JSON, to_json(options_.at_load));
  }

  void offline(const Compiler& compiler) {
    const std::string identity = compiler.identity(state_.host, call_);
    compile_undisturbed(
        state_.host, call_, bundle_,
        [&](GuardSet& guards) {
          IncludeSources sources = include_sources_of(request_.fields, options_);
          sources.beside = false;  // the source lies in a folder of its own
          sources.compiler = "metal";
          guards = find_includes(sources);
          std::string said;
          try {
            std::string made =
                compile_offline(state_.host, call_, compiler, target_, request_.fields, options_, guards, said);
            return std::pair(std::move(made), std::move(said));
          } catch (const Failure&) {
            state_.host->log_append(log_, text(said));
            throw;
          }
        },
        [&](const std::pair<std::string, std::string>& made) {
          state_.host->log_append(log_, text(made.second));
          state_.compilers.check_same(state_.host, call_, request_.fields.compiler, target_, compiler, identity);
          keep_metallib(made.first, TLC_E_COMPILE, "what was made for " + target_.text());
        });
  }

  void add(const char* name, std::uint32_t type, const std::string& bytes) const {
    HostError error;
    error.check(state_.host->bundle_add(bundle_, text(name), type, bytes.data(), bytes.size(), 0, error.out()));
  }

  State& state_;
  tlc_call* call_;
  Request request_;
  Options options_;
  Target target_;
  tlc_bundle* bundle_;
  tlc_log* log_;
};

}  // namespace

std::string identify(State& state, tlc_call* call, const tlc_request* given, std::string_view text_of_target) {
  const Target target = parse_target(text_of_target);
  const Request request = read_request(state.host, given);
  (void)check_options(request.fields);
  std::string out = "metal 1\n";
  if (!request.fields.source) return out + "not compiled\n";
  const Compiler compiler = state.compilers.get(state.host, call, request.fields.compiler, target);
  return out + (compiler ? compiler.identity(state.host, call) : "as text\n");
}

void compile(State& state, tlc_call* call, const tlc_request* request, std::string_view target, tlc_bundle* bundle,
             tlc_log* log) {
  Compile(state, call, read_request(state.host, request), target, bundle, log).run();
}

}  // namespace tlcb::metal
