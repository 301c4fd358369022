// SPDX-License-Identifier: MIT
// Loading: the member is checked against its target and the device, then given to Metal, as a library of one device.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>

#include "metal/metal.hpp"
#include "metal/source.hpp"
#include "support/failure.hpp"
#include "support/members.hpp"

namespace tlcb::metal {
namespace {

constexpr std::initializer_list<const char*> kCodeMembers = {kLibraryMember, kSourceMember};

/// A loaded artifact: its MTLLibrary, and those of its MTLFunctions that were asked for.
struct Module {
  explicit Module(Runtime& given) : runtime(given) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() {
    for (const auto& [name, function] : functions) runtime.release(function);
    if (library != nullptr) runtime.release(library);
  }

  Runtime& runtime;
  void* library = nullptr;
  std::mutex mutex;
  std::map<std::string, void*, std::less<>> functions;
};

Module& module_of(void* module) {
  return *static_cast<Module*>(module);
}

/// What the artifact was keyed for; any device where it was for none.
Target keyed_target(Host host, const tlc_artifact* artifact) {
  const std::string_view target = view(host->artifact_target(artifact));
  return target.empty() ? Target() : parse_target(target);
}

DeviceChoice choice_of(const tlc_load_options* options) {
  DeviceChoice out;
  if (options == nullptr) return out;
  if (options->struct_size >= TLC_SIZEOF(tlc_load_options, device)) out.number = options->device;
  if (options->struct_size >= TLC_SIZEOF(tlc_load_options, context)) out.context = options->context;
  if (out.number < -1) throw Failure(TLC_E_INVALID, "there is no device " + std::to_string(out.number));
  return out;
}

void check_member(const FoundMember& member, const Target& target, Depth depth) {
  if (!is_metallib(member.bytes)) {
    const std::string problem = source_problem(member.bytes);
    if (!problem.empty()) reject(member, problem);
    return;
  }
  const Metallib library = check_metallib(member.bytes, depth);
  if (!library.ok()) reject(member, library.problem);
  if (const std::string why = misfit(library, target); !why.empty()) reject(member, why);
}

void check_device_fits(const FoundMember& member, const Target& target, const DeviceFacts& device) {
  if (target.family.empty()) return;
  if (std::find(device.families.begin(), device.families.end(), target.family) != device.families.end()) return;
  std::string has;
  for (const std::string& family : device.families) has += (has.empty() ? "" : ", ") + family;
  reject(member, "it is for GPUs of family " + target.family + ", and '" + device.name + "' is of " + has +
                     "; compile for metal:native here");
}

}  // namespace

std::string resolve_target(State& state, std::string_view target) {
  if (!wants_device(target)) return parse_target(target).text();
  std::string reason;
  Runtime* const runtime = state.runtime.try_get(&reason);
  if (runtime == nullptr) {
    throw Failure(TLC_E_UNAVAILABLE, "target '" + std::string(target) + "' needs a device to look at: " + reason +
                                         ". Or name what it is for, for example metal:apple7");
  }
  return runtime->device({}).native;
}

void validate(State& state, const tlc_artifact* artifact, const tlc_load_options* options) {
  const FoundMember member = member_to_load(state.host, artifact, options, kCodeMembers);
  const Target target = keyed_target(state.host, artifact);
  check_member(member, target, Depth::content);
  (void)metadata(state.host, artifact, kOptionsMember, parse_load_options);
  // Without Metal `load` says what is missing.
  Runtime* const runtime = state.runtime.try_get();
  if (runtime != nullptr) check_device_fits(member, target, runtime->device(choice_of(options)));
}

std::uint64_t place(State& state, const tlc_load_options* options) {
  return state.runtime.get().device(choice_of(options)).registry_id;
}

void* load(State& state, const tlc_artifact* artifact, const tlc_load_options* options) {
  const FoundMember member = member_to_load(state.host, artifact, options, kCodeMembers);
  const Target target = keyed_target(state.host, artifact);
  check_member(member, target, Depth::bounds);  // validate has looked closer, unless the caller skipped it
  const DeviceChoice choice = choice_of(options);
  auto module = std::make_unique<Module>(state.runtime.get());
  const bool compiled = !is_metallib(member.bytes);
  Outcome outcome;
  if (compiled) {
    const LoadOptions how = metadata(state.host, artifact, kOptionsMember, parse_load_options);
    module->library = module->runtime.library_of_source(choice, member.bytes, how, target.language, outcome);
  } else {
    module->library = module->runtime.library_of_metallib(choice, member.bytes, outcome);
  }
  if (module->library != nullptr) return module.release();
  throw Failure(status_of(outcome, compiled),
                "Metal " + std::string(compiled ? "could not compile" : "refused") + " member '" + member.name +
                    "': " + outcome.domain + " (" + std::to_string(outcome.code) + "): " + outcome.detail,
                0, outcome.code);
}

void* symbol(State& /*state*/, void* given, std::string_view name) {
  Module& module = module_of(given);
  const std::scoped_lock lock(module.mutex);
  if (const auto found = module.functions.find(name); found != module.functions.end()) return found->second;
  const std::string asked(name);
  if (void* const function = module.runtime.function(module.library, asked)) {
    module.functions.emplace(asked, function);
    return function;
  }
  std::string known;
  for (const std::string& one : module.runtime.function_names(module.library))
    known += (known.empty() ? "" : ", ") + one;
  throw Failure(TLC_E_NOT_FOUND, "the library has no function '" + asked + "'" +
                                     (known.empty() ? "; it has none" : "; its functions are: " + known));
}

void* native(State& /*state*/, void* module) {
  return module_of(module).library;
}

void unload(State& /*state*/, void* module) {
  const std::unique_ptr<Module> gone(&module_of(module));
}

}  // namespace tlcb::metal
