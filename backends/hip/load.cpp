// SPDX-License-Identifier: MIT
// Loading: the member is checked against its target and the device, then given to the HIP runtime, as a module of one
// device. The caller's current device is left as it was.
#include <algorithm>
#include <initializer_list>
#include <memory>

#include "hip/binary_check.hpp"
#include "hip/device.hpp"
#include "hip/hip.hpp"
#include "support/failure.hpp"
#include "support/members.hpp"
#include "support/names.hpp"

namespace tlcb::hip {
namespace {

constexpr std::initializer_list<const char*> kCodeMembers = {kCodeObjectMember, kBundleMember};

struct Module {
  const Runtime& runtime;
  int device = 0;
  HipModule module = nullptr;
  Names names;
};

Module& module_of(void* module) {
  return *static_cast<Module*>(module);
}

/// What the artifact was keyed for; empty when it was for none.
std::vector<TargetId> keyed_targets(Host host, const tlc_artifact* artifact) {
  const std::string target(view(host->artifact_target(artifact)));
  return target.empty() ? std::vector<TargetId>() : parse_targets(target);
}

std::string list_of(const std::vector<TargetId>& targets) {
  std::string out;
  for (const TargetId& target : targets) out += (out.empty() ? "" : " and ") + target.text();
  return out;
}

/// Whether the code is for what the artifact was keyed for: each target has its code, and nothing else is there.
void check_targets(const FoundMember& member, const Binary& binary, const std::vector<TargetId>& keyed) {
  const auto has = [&](const TargetId& target) {
    return std::any_of(binary.images.begin(), binary.images.end(),
                       [&](const CodeObject& image) { return image.target == target; });
  };
  for (const CodeObject& image : binary.images) {
    if (std::find(keyed.begin(), keyed.end(), image.target) == keyed.end())
      reject(member, "it is for " + image.target.text() + ", but the artifact is for " + list_of(keyed));
  }
  for (const TargetId& target : keyed) {
    if (!has(target)) reject(member, "it has no code for " + target.text() + ", which the artifact is for");
  }
}

/// Whether the device can run it.
void check_device_fits(const FoundMember& member, const Binary& binary, const TargetId& device) {
  std::string why;
  for (const CodeObject& image : binary.images) {
    why = misfit(image.target, device);
    if (why.empty()) return;
  }
  const bool several = binary.images.size() > 1;
  reject(member, (several ? "none of its code fits; the last: " : "") + why + "; compile for hip:native here");
}

Binary checked(const FoundMember& member) {
  Binary binary = check_binary(member.bytes);
  if (!binary.ok()) reject(member, binary.problem);
  return binary;
}

/// The kernel of this lowered name; NULL if there is none.
HipFunction find_kernel(const Module& module, const std::string& name) {
  HipFunction function = nullptr;
  const HipResult result = module.runtime.api.module_function(&function, module.module, name.c_str());
  if (result == kHipNotFound) return nullptr;
  module.runtime.check(result, "kernel '" + name + "' cannot be looked up");
  return function;
}

void* find_global(const Module& module, const std::string& name) {
  void* address = nullptr;
  std::size_t size = 0;
  const HipResult result = module.runtime.api.module_global(&address, &size, module.module, name.c_str());
  // ROCm answers "invalid value" for a name that is not there, in some versions.
  constexpr HipResult kInvalidValue = 1;
  if (result == kHipNotFound || result == kInvalidValue) return nullptr;
  module.runtime.check(result, "variable '" + name + "' cannot be looked up");
  return address;
}

}  // namespace

std::string resolve_target(State& state, std::string_view target) {
  std::vector<std::string> parts = target_parts(target);
  for (std::string& part : parts) {
    if (!wants_device(part)) continue;
    std::string reason;
    const Runtime* runtime = state.runtime.try_get(&reason);
    if (runtime == nullptr) {
      throw Failure(TLC_E_UNAVAILABLE, "target '" + std::string(target) + "' needs a device to look at: " + reason +
                                           ". Or name the arch, for example hip:gfx90a");
    }
    part = runtime->device(choose_device(*runtime, nullptr)).target.text();
  }
  std::string out;
  std::vector<std::string> seen;
  for (const std::string& part : parts) {
    if (std::find(seen.begin(), seen.end(), part) != seen.end()) continue;  // native is one that is listed too
    seen.push_back(part);
    out.append(out.empty() ? "hip:" : ",hip:").append(part);
  }
  return out;
}

void validate(State& state, const tlc_artifact* artifact, const tlc_load_options* options) {
  const FoundMember member = member_to_load(state.host, artifact, options, kCodeMembers);
  const Binary binary = checked(member);
  const std::vector<TargetId> keyed = keyed_targets(state.host, artifact);
  const bool seen = !binary.images.empty();  // not into a compressed bundle
  if (seen && !keyed.empty()) check_targets(member, binary, keyed);
  (void)metadata(state.host, artifact, kNamesMember, parse_names);
  // Without a runtime `load` says what is missing.
  const Runtime* runtime = state.runtime.try_get();
  if (runtime == nullptr || !seen) return;
  check_device_fits(member, binary, runtime->device(choose_device(*runtime, options)).target);
}

std::uint64_t place(State& state, const tlc_load_options* options) {
  return static_cast<std::uint64_t>(choose_device(state.runtime.get(), options));
}

void* load(State& state, const tlc_artifact* artifact, const tlc_load_options* options) {
  const FoundMember member = member_to_load(state.host, artifact, options, kCodeMembers);
  (void)checked(member);  // validate has, unless the caller skipped it
  const Runtime& runtime = state.runtime.get();
  auto module = std::make_unique<Module>(Module{runtime, choose_device(runtime, options), nullptr, {}});
  module->names = metadata(state.host, artifact, kNamesMember, parse_names);
  const CurrentDevice current(runtime, module->device);
  const HipResult result = runtime.api.module_load(&module->module, member.bytes.data());
  runtime.check(result, "the HIP runtime refused member '" + member.name + "'");
  return module.release();
}

void* symbol(State& /*state*/, void* given, std::string_view name) {
  const Module& module = module_of(given);
  const std::string asked(name);
  const auto lowered = module.names.find(asked);
  const std::string& real = lowered != module.names.end() ? lowered->second : asked;
  const CurrentDevice current(module.runtime, module.device);
  if (HipFunction function = find_kernel(module, real)) return function;
  if (void* address = find_global(module, real)) return address;
  throw Failure(TLC_E_NOT_FOUND,
                "the module has neither a kernel nor a variable '" + asked + "'; " + describe_names(module.names), 0,
                kHipNotFound);
}

void* native(State& /*state*/, void* module) {
  return module_of(module).module;
}

void unload(State& /*state*/, void* given) {
  const std::unique_ptr<Module> module(&module_of(given));
  try {
    const CurrentDevice current(module->runtime, module->device);
    (void)module->runtime.api.module_unload(module->module);
  } catch (const Failure&) {  // NOLINT(bugprone-empty-catch): the device has gone, and its modules with it
  }
}

}  // namespace tlcb::hip
