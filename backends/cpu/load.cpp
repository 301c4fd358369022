// SPDX-License-Identifier: MIT
// Loading: the shared object is checked, then given to dlopen by a path of its own.
//
// It is never closed: a library with OpenMP threads or thread-local destructors takes the program
// with it when it goes, and what this backend links is marked nodelete anyway.
#include <dlfcn.h>

#include <memory>

#include "cpu/cpu.hpp"
#include "cpu/target.hpp"
#include "support/elf_check.hpp"
#include "support/failure.hpp"

namespace tlcb::cpu {
namespace {

struct Module {
  void* handle;
  std::string path;
};

std::string wanted_member(const tlc_load_options* options) {
  if (options == nullptr || options->struct_size < TLC_SIZEOF(tlc_load_options, member)) return {};
  return std::string(view(options->member));
}

/// The member to load: the one asked for, else kernel.so, else the only shared object.
tlc_member find_member(Host host, const tlc_artifact* artifact, const tlc_load_options* options) {
  const std::string wanted = wanted_member(options);
  tlc_member found{};
  found.struct_size = TLC_SIZEOF(tlc_member, type);
  tlc_error error{};
  error.struct_size = TLC_SIZEOF(tlc_error, message);
  const std::string name = wanted.empty() ? kMember : wanted;
  const tlc_status status = host->artifact_find(artifact, text(name), &found, &error);
  if (status == TLC_OK) return found;
  if (!wanted.empty()) throw Failure(status, error.message);

  std::size_t count = 0;
  for (std::size_t i = 0; i < host->artifact_member_count(artifact); ++i) {
    tlc_member member{};
    member.struct_size = TLC_SIZEOF(tlc_member, type);
    if (host->artifact_member_at(artifact, i, &member, nullptr) != TLC_OK) continue;
    if (member.type != TLC_MEMBER_SHARED_OBJECT) continue;
    found = member;
    ++count;
  }
  if (count == 1) return found;
  throw Failure(TLC_REJECTED, count == 0 ? "the artifact has no shared object to load"
                                         : "the artifact has several shared objects; name one in the options");
}

}  // namespace

void validate(Host host, const tlc_artifact* artifact, const tlc_load_options* options) {
  const tlc_member member = find_member(host, artifact, options);
  const std::string name(view(member.name));
  const ElfCheck elf = check_shared_object(member.data, member.size);
  if (!elf.ok()) throw Failure(TLC_REJECTED, "member '" + name + "' cannot be loaded: " + elf.problem);
  if (elf.machine != host_elf_machine()) {
    throw Failure(TLC_REJECTED, "member '" + name + "' is for " + elf_machine_name(elf.machine) + ", this machine is " +
                                    elf_machine_name(host_elf_machine()));
  }
  const std::string target(view(host->artifact_target(artifact)));
  if (target.empty()) return;
  const Target parsed = parse_target(target);
  if (!parsed.is_host_arch()) {
    throw Failure(TLC_REJECTED, "the artifact is for " + parsed.arch + ", not for this machine");
  }
  const std::string missing = missing_feature(parsed);
  if (!missing.empty()) {
    throw Failure(TLC_REJECTED, "the artifact needs the CPU feature '" + missing +
                                    "', which this machine has not; compile for cpu:native here");
  }
}

void* load(Host host, tlc_artifact* artifact, const tlc_load_options* options) {
  const tlc_member member = find_member(host, artifact, options);
  tlc_blob* raw = nullptr;
  tlc_error error{};
  error.struct_size = TLC_SIZEOF(tlc_error, message);
  const tlc_status status = host->artifact_folder(artifact, &raw, &error);
  const Blob folder(raw, BlobRelease{host.operator->()});
  if (status != TLC_OK) throw Failure(status, error.message, error.sys_errno);

  auto module = std::make_unique<Module>();
  module->path = std::string(host->blob_data(folder.get(), nullptr)) + "/" + std::string(view(member.name));
  module->handle = ::dlopen(module->path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module->handle == nullptr) {
    const char* why = ::dlerror();
    throw Failure(TLC_E_LOAD,
                  std::string("the loader refused the shared object: ") + (why != nullptr ? why : "no reason given"));
  }
  return module.release();
}

void* symbol(void* module, std::string_view name) {
  const auto* loaded = static_cast<const Module*>(module);
  const std::string text(name);
  ::dlerror();
  void* address = ::dlsym(loaded->handle, text.c_str());
  if (address == nullptr) {
    throw Failure(TLC_E_NOT_FOUND, "the shared object has no symbol '" + text + "'; in C++ declare it extern \"C\"");
  }
  return address;
}

void* native(void* module) {
  return static_cast<const Module*>(module)->handle;
}

void unload(void* module) {
  const std::unique_ptr<Module> gone(static_cast<Module*>(module));
}

}  // namespace tlcb::cpu
