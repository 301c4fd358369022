// SPDX-License-Identifier: MIT
// Loading: the member is checked against its target and the device, then given to the driver.
//
// As a module of one context, which is what the cache shares them by. The library functions of CUDA 12 would load the
// same bytes for any context, but took 2 us longer of 31 until a first kernel had run (tests/gpu/ready_kernel.cpp), and
// there is nothing here that needs them. The caller's current context is left as it was.
#include <array>
#include <cstring>
#include <memory>

#include "cuda/binary_check.hpp"
#include "cuda/context.hpp"
#include "cuda/cuda.hpp"
#include "cuda/metadata.hpp"
#include "support/failure.hpp"
#include "support/members.hpp"

namespace tlcb::cuda {
namespace {

/// CUjit_option: where the driver's compiler writes what it has to say.
constexpr int kJitErrorLog = 5;
constexpr int kJitErrorLogSize = 6;

constexpr std::initializer_list<const char*> kCodeMembers = {kCubinMember, kPtxMember, kLtoirMember};

struct Module {
  explicit Module(Driver& loaded_by) : driver(loaded_by) {}

  Driver& driver;
  CuContext context = nullptr;
  CuModule module = nullptr;
  Names names;
  Launch launch;
};

Module& module_of(void* module) {
  return *static_cast<Module*>(module);
}

/// The arch the artifact was keyed for; false when it was for none.
bool target_arch(Host host, const tlc_artifact* artifact, Arch& arch) {
  const std::string target(view(host->artifact_target(artifact)));
  if (target.empty()) return false;
  arch = parse_target(target);
  return true;
}

/// Whether the code is for what the artifact was keyed for.
void check_target(const FoundMember& member, const Binary& binary, const Arch& target) {
  if (binary.format == Format::fatbin) return;  // it may hold more than its key says
  const Image& image = binary.images.front();
  if (image.arch.number != target.number) {
    Arch said = image.arch;
    said.variant = '\0';
    reject(member, "it is for " + said.text() + ", but the artifact is for " + target.text());
  }
  // A cubin does not always tell its variant; PTX does.
  if (binary.format == Format::ptx && image.arch.variant != target.variant) {
    reject(member, "its PTX is for " + image.arch.text() + ", but the artifact is for " + target.text());
  }
}

/// Whether the device can run it.
void check_device(const FoundMember& member, const Binary& binary, const Arch* target, int device) {
  std::string why;
  for (const Image& image : binary.images) {
    if (image.format == Format::unknown) continue;
    Arch arch = image.arch;
    if (target != nullptr && binary.format == Format::cubin) arch.variant = target->variant;
    why = misfit(arch, device);
    if (why.empty()) return;
  }
  const bool several = binary.images.size() > 1;
  reject(member, (several ? "none of its images fits; the last: " : "") + why + "; compile for cuda:native here");
}

Binary checked(const FoundMember& member) {
  Binary binary = check_binary(member.bytes);
  if (!binary.ok()) reject(member, binary.problem);
  return binary;
}

/// The member as the driver takes it: LTO-IR is linked for the device of the context first.
FoundMember loadable(State& state, const Driver& driver, FoundMember member, std::string& linked) {
  if (format_of(member.bytes) != Format::ltoir) return member;
  CuDevice device = 0;
  driver.check(driver.api.context_device(&device), "the context does not tell its device");
  linked = state.linker.link(member.bytes, driver.capability(device));
  member.bytes = linked;
  return member;
}

/// The image into the current context. `log` gets what the driver's compiler says of PTX.
CuResult load_image(Module& module, const FoundMember& member, std::string& log) {
  const void* image = member.bytes.data();
  if (format_of(member.bytes) == Format::cubin)
    return module.driver.api.module_load(&module.module, image, 0, nullptr, nullptr);
  log.assign(8192, '\0');
  std::array<int, 2> options{kJitErrorLog, kJitErrorLogSize};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver takes numbers as pointers
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
  const CuResult result = module.driver.api.module_load(&module.module, image, 2, options.data(), values.data());
  log.resize(::strnlen(log.data(), log.size()));
  while (!log.empty() && (log.back() == '\n' || log.back() == ' ')) log.pop_back();
  return result;
}

/// The kernel of this lowered name in the current context; NULL if there is none.
CuFunction find_kernel(const Module& module, const std::string& name) {
  CuFunction function = nullptr;
  const CuResult result = module.driver.api.module_function(&function, module.module, name.c_str());
  if (result == kCuNotFound) return nullptr;
  module.driver.check(result, "kernel '" + name + "' cannot be looked up");
  return function;
}

void* find_global(const Module& module, const std::string& name) {
  CuAddress address = 0;
  std::size_t size = 0;
  const CuResult result = module.driver.api.module_global(&address, &size, module.module, name.c_str());
  if (result == kCuNotFound) return nullptr;
  module.driver.check(result, "variable '" + name + "' cannot be looked up");
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address on the device
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

void apply_attributes(const Module& module, CuFunction function, const std::string& asked, const std::string& lowered) {
  for (const std::string& name : {asked, lowered}) {
    const auto found = module.launch.find(name);
    if (found == module.launch.end()) continue;
    for (const auto& [attribute, value] : found->second) {
      std::string doing = "kernel '" + asked;
      doing.append("' cannot have ").append(attribute).append(" = ").append(std::to_string(value));
      module.driver.check(module.driver.api.set_attribute(function, *function_attribute(attribute), value), doing);
    }
    return;
  }
}

[[noreturn]] void no_symbol(const Module& module, const std::string& name) {
  throw Failure(TLC_E_NOT_FOUND,
                "the module has neither a kernel nor a variable '" + name + "'; " + describe_names(module.names), 0,
                kCuNotFound);
}

}  // namespace

std::string resolve_target(State& state, std::string_view target) {
  if (!wants_device(target)) return std::string(target);
  std::string reason;
  Driver* driver = state.driver.try_get(&reason);
  if (driver == nullptr) {
    throw Failure(TLC_E_UNAVAILABLE, "target '" + std::string(target) + "' needs a device to look at: " + reason +
                                         ". Or name the arch, for example cuda:sm_90");
  }
  return "cuda:sm_" + std::to_string(driver->capability(choose_device(*driver, nullptr)));
}

void validate(State& state, const tlc_artifact* artifact, const tlc_load_options* options) {
  const FoundMember member = member_to_load(state.host, artifact, options, kCodeMembers);
  const Binary binary = checked(member);
  Arch target;
  const bool keyed = target_arch(state.host, artifact, target);
  if (keyed && !binary.images.empty()) check_target(member, binary, target);
  (void)metadata(state.host, artifact, kNamesMember, parse_names);
  (void)metadata(state.host, artifact, kLaunchMember, parse_launch);
  // Without a driver `load` says what is missing.
  Driver* driver = state.driver.try_get();
  if (driver == nullptr) return;
  const int device = driver->capability(choose_device(*driver, options));
  if (binary.format != Format::ltoir) {
    check_device(member, binary, keyed ? &target : nullptr, device);
  } else if (keyed && device < target.number) {  // linked for the device, which must not be older
    reject(member,
           "LTO-IR for " + target.text() + " is for no older device, and this one is sm_" + std::to_string(device));
  }
}

std::uint64_t place(State& state, const tlc_load_options* options) {
  Driver& driver = state.driver.get();
  CuContext context = choose_context(driver, options);
  unsigned long long id = 0;
  if (driver.api.context_id != nullptr && driver.api.context_id(context, &id) == kCuOk) return id;
  return reinterpret_cast<std::uintptr_t>(context);
}

void* load(State& state, const tlc_artifact* artifact, const tlc_load_options* options) {
  const FoundMember member = member_to_load(state.host, artifact, options, kCodeMembers);
  (void)checked(member);  // validate has, unless the caller skipped it
  Driver& driver = state.driver.get();
  auto module = std::make_unique<Module>(driver);
  module->names = metadata(state.host, artifact, kNamesMember, parse_names);
  module->launch = metadata(state.host, artifact, kLaunchMember, parse_launch);
  module->context = choose_context(driver, options);
  const CurrentContext pushed(driver, module->context);
  std::string linked;
  std::string log;
  if (const CuResult result = load_image(*module, loadable(state, driver, member, linked), log); result != kCuOk) {
    driver.fail(result, "the driver refused member '" + member.name + "'" + (log.empty() ? "" : ", saying: " + log));
  }
  return module.release();
}

void* symbol(State& /*state*/, void* given, std::string_view name) {
  const Module& module = module_of(given);
  const std::string asked(name);
  const auto lowered = module.names.find(asked);
  const std::string& real = lowered != module.names.end() ? lowered->second : asked;
  const CurrentContext pushed(module.driver, module.context);
  if (CuFunction function = find_kernel(module, real)) {
    apply_attributes(module, function, asked, real);
    return function;
  }
  if (void* address = find_global(module, real)) return address;
  no_symbol(module, asked);
}

void* native(State& /*state*/, void* module) {
  return module_of(module).module;
}

void unload(State& /*state*/, void* given) {
  const std::unique_ptr<Module> module(&module_of(given));
  try {
    const CurrentContext pushed(module->driver, module->context);
    (void)module->driver.api.module_unload(module->module);
  } catch (const Failure&) {  // NOLINT(bugprone-empty-catch): the context has gone, and its modules with it
  }
}

}  // namespace tlcb::cuda
