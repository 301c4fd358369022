// SPDX-License-Identifier: MIT
// Loading: the binary is checked against what was kept beside it, its target and the device, then given to the driver,
// as a program for each device of one context that it is for.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "opencl/binary_check.hpp"
#include "opencl/opencl.hpp"
#include "opencl/program_info.hpp"
#include "support/members.hpp"

namespace tlcb::opencl {
namespace {

struct Module {
  explicit Module(Runtime& opened) : runtime(opened) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() {
    for (const auto& [name, kernel] : kernels) (void)runtime.api.release_kernel(kernel);
    if (program != nullptr) (void)runtime.api.release_program(program);
    if (context != nullptr) (void)runtime.api.release_context(context);
  }

  Runtime& runtime;
  ClContext context = nullptr;
  ClProgram program = nullptr;
  std::string names;  ///< of its kernels, for messages
  std::mutex mutex;
  std::map<std::string, ClKernel, std::less<>> kernels;
};

Module& module_of(void* module) {
  return *static_cast<Module*>(module);
}

ClContext given_context(const tlc_load_options* options) {
  if (options == nullptr || options->struct_size < TLC_SIZEOF(tlc_load_options, context)) return nullptr;
  return static_cast<ClContext>(options->context);
}

/// 0 and -1 leave the choice to what the artifact is for.
std::int64_t given_device(const tlc_load_options* options) {
  if (options == nullptr || options->struct_size < TLC_SIZEOF(tlc_load_options, device)) return 0;
  if (options->device < -1) throw Failure(TLC_E_INVALID, "there is no device " + std::to_string(options->device));
  return options->device;
}

/// Where a binary may go: the devices of the caller's context, the one that is named, or all.
std::vector<Device> candidates(const Runtime& runtime, const tlc_load_options* options) {
  if (ClContext context = given_context(options)) return runtime.devices_of(context);
  if (const std::int64_t number = given_device(options); number > 0) return {runtime.device(number)};
  return runtime.devices;
}

/// Of the candidates those that the binary is for. Throws Failure (TLC_REJECTED) where it is for none.
std::vector<Device> fitting(const FoundMember& member, const DeviceFacts& made_for, std::vector<Device> devices) {
  const Device nearest = *std::max_element(devices.begin(), devices.end(), [&](const Device& a, const Device& b) {
    const auto likeness = [&](const Device& one) {
      return (one.facts.name == made_for.name ? 2 : 0) + (one.facts.platform == made_for.platform ? 1 : 0);
    };
    return likeness(a) < likeness(b);
  });
  std::erase_if(devices, [&](const Device& device) { return device.facts != made_for; });
  if (devices.empty()) {
    reject(member, "it was made by the driver of another device, or by another version of it: here the " +
                       difference(nearest.facts, made_for) + "; compile for opencl:native here");
  }
  return devices;
}

struct Checked {
  FoundMember member;
  ProgramInfo info;
};

/// Everything that can be seen without a driver.
Checked checked(State& state, const tlc_artifact* artifact, const tlc_load_options* options) {
  const FoundMember member = member_to_load(state.host, artifact, options, {kProgramMember});
  const Binary binary = check_binary(member.bytes);
  if (!binary.ok()) reject(member, binary.problem);
  const auto beside = find_member(state.host, artifact, kInfoMember);
  if (!beside) {
    reject(member,
           std::string("there is no ") + kInfoMember +
               " beside it, which says what device and bytes it is; docs/backends/opencl.md tells how to write one");
  }
  auto info = parse_program(beside->bytes);
  if (!info) reject(*beside, "it is not what this backend writes there");
  if (const std::string problem = mismatch(*info, member.bytes); !problem.empty()) reject(member, problem);
  const std::string target(view(state.host->artifact_target(artifact)));
  if (!target.empty() && !parse_target(target).names(info->device))
    reject(member, "it is for " + info->device.target() + ", but the artifact is for " + target);
  return {member, *std::move(info)};
}

void create_program(Module& module, const FoundMember& member, const std::vector<Device>& devices) {
  const ClApi& api = module.runtime.api;
  std::vector<ClDevice> ids;
  ids.reserve(devices.size());
  for (const Device& device : devices) ids.push_back(device.id);
  const std::vector<std::size_t> sizes(ids.size(), member.bytes.size());
  std::vector<const unsigned char*> bytes(ids.size(), reinterpret_cast<const unsigned char*>(member.bytes.data()));
  std::vector<ClResult> of_each(ids.size(), kClOk);
  const auto count = static_cast<ClNumber>(ids.size());
  const std::string doing = "the driver of " + devices.front().facts.name + " refused member '" + member.name + "'";
  ClResult result = kClOk;
  module.program =
      api.program_of_binary(module.context, count, ids.data(), sizes.data(), bytes.data(), of_each.data(), &result);
  for (const ClResult one : of_each) {  // some drivers say it here only
    if (result == kClOk) result = one;
  }
  module.runtime.check(result, doing);
  result = api.build(module.program, count, ids.data(), "", nullptr, nullptr);
  if (result == kClOk) return;
  const std::string log = one_line(build_log(api, module.program, ids.front()));
  Runtime::fail(result, doing + (log.empty() ? "" : ", saying: " + log));
}

}  // namespace

std::string resolve_target(State& state, std::string_view target) {
  const auto wanted = wanted_device(target);
  if (!wanted) return parse_target(target).text();
  std::string reason;
  const Runtime* runtime = state.runtime.try_get(&reason);
  if (runtime == nullptr) {
    throw Failure(TLC_E_UNAVAILABLE, "target '" + std::string(target) + "' needs a device to look at: " + reason +
                                         ". Or name the device, as opencl:<device>:<platform>");
  }
  return (wanted->number ? runtime->device(*wanted->number) : runtime->default_device()).facts.target();
}

void validate(State& state, const tlc_artifact* artifact, const tlc_load_options* options) {
  const Checked given = checked(state, artifact, options);
  // Without a runtime `load` says what is missing.
  const Runtime* runtime = state.runtime.try_get();
  if (runtime != nullptr) (void)fitting(given.member, given.info.device, candidates(*runtime, options));
}

std::uint64_t place(State& /*state*/, const tlc_load_options* options) {
  if (ClContext context = given_context(options)) return reinterpret_cast<std::uintptr_t>(context);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(given_device(options), 0));
}

void* load(State& state, const tlc_artifact* artifact, const tlc_load_options* options) {
  const Checked given = checked(state, artifact, options);  // validate has, unless the caller skipped it
  Runtime& runtime = state.runtime.get();
  std::vector<Device> devices = fitting(given.member, given.info.device, candidates(runtime, options));
  ClContext context = given_context(options);
  if (context == nullptr) {
    devices.resize(1);
    context = runtime.own_context(devices.front());
  }
  auto module = std::make_unique<Module>(runtime);
  runtime.check(runtime.api.retain_context(context), "the context cannot be used");
  module->context = context;
  for (const KernelInfo& kernel : given.info.kernels)
    module->names += (module->names.empty() ? "" : ", ") + kernel.name;
  create_program(*module, given.member, devices);
  return module.release();
}

void* symbol(State& /*state*/, void* given, std::string_view name) {
  Module& module = module_of(given);
  const std::scoped_lock lock(module.mutex);
  if (const auto found = module.kernels.find(name); found != module.kernels.end()) return found->second;
  const std::string asked(name);
  ClResult result = kClOk;
  ClKernel kernel = module.runtime.api.create_kernel(module.program, asked.c_str(), &result);
  if (result == kClInvalidKernelName) {
    throw Failure(TLC_E_NOT_FOUND,
                  "the program has no kernel '" + asked + "'; it has " +
                      (module.names.empty() ? "none that is known" : module.names),
                  0, result);
  }
  module.runtime.check(result, "kernel '" + asked + "' cannot be looked up");
  module.kernels.emplace(asked, kernel);
  return kernel;
}

void* native(State& /*state*/, void* module) {
  return module_of(module).program;
}

void unload(State& /*state*/, void* given) {
  const std::unique_ptr<Module> module(&module_of(given));
}

}  // namespace tlcb::opencl
