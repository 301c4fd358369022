// SPDX-License-Identifier: MIT
// Opening NVRTC, and what it says of itself.
#include "cuda/nvrtc.hpp"

#include <algorithm>
#include <utility>

#include "cuda/toolkit.hpp"
#include "support/failure.hpp"
#include "support/loaded_library.hpp"

namespace tlcb::cuda {
namespace {

constexpr int kOldestMajor = 11;
constexpr int kOldestMinor = 8;

[[noreturn]] void unavailable(const std::string& why) {
  throw Failure(TLC_E_UNAVAILABLE, why);
}

template <typename Function>
void need(const LoadedLibrary& library, Function& into, const char* name) {
  library.find(into, name);
  if (into == nullptr) unavailable(library.path() + " lacks " + name + ": it is no NVRTC of CUDA 11.8 or newer");
}

NvrtcApi functions_of(const LoadedLibrary& library) {
  NvrtcApi api;
  need(library, api.version, "nvrtcVersion");
  need(library, api.error_string, "nvrtcGetErrorString");
  need(library, api.arch_count, "nvrtcGetNumSupportedArchs");
  need(library, api.archs, "nvrtcGetSupportedArchs");
  need(library, api.create, "nvrtcCreateProgram");
  need(library, api.destroy, "nvrtcDestroyProgram");
  need(library, api.compile, "nvrtcCompileProgram");
  need(library, api.log_size, "nvrtcGetProgramLogSize");
  need(library, api.log, "nvrtcGetProgramLog");
  need(library, api.add_name, "nvrtcAddNameExpression");
  need(library, api.lowered_name, "nvrtcGetLoweredName");
  need(library, api.ptx_size, "nvrtcGetPTXSize");
  need(library, api.ptx, "nvrtcGetPTX");
  need(library, api.cubin_size, "nvrtcGetCUBINSize");
  need(library, api.cubin, "nvrtcGetCUBIN");
  library.find(api.ltoir_size, "nvrtcGetLTOIRSize");
  library.find(api.ltoir, "nvrtcGetLTOIR");
  library.find(api.set_flow_callback, "nvrtcSetFlowCallback");
  return api;
}

std::vector<int> archs_of(const NvrtcApi& api) {
  int count = 0;
  if (api.arch_count(&count) != 0 || count <= 0) return {};
  std::vector<int> archs(static_cast<std::size_t>(count));
  if (api.archs(archs.data()) != 0) return {};
  std::sort(archs.begin(), archs.end());
  return archs;
}

std::unique_ptr<Nvrtc> open_nvrtc(Host host, tlc_call* call, const LoadedLibrary& library) {
  auto nvrtc = std::make_unique<Nvrtc>();
  nvrtc->api = functions_of(library);
  nvrtc->place.path = library.path();
  if (nvrtc->api.version(&nvrtc->major, &nvrtc->minor) != 0 || !nvrtc->at_least(kOldestMajor, kOldestMinor)) {
    unavailable(nvrtc->place.path + " is NVRTC " + nvrtc->version() + "; CUDA 11.8 or newer is needed");
  }
  nvrtc->place.version = nvrtc->version();
  nvrtc->place.builtins = find_builtins(nvrtc->place.path, nvrtc->place.version).path();
  nvrtc->archs = archs_of(nvrtc->api);
  nvrtc->identity = identity_of(host, call, nvrtc->place);
  return nvrtc;
}

/// The variable decides only where the request does not.
std::string chosen_of(const std::string& wanted) {
  return wanted.empty() ? environment("TLC_NVRTC") : wanted;
}

}  // namespace

std::string Nvrtc::arch_list() const {
  std::string out;
  for (const int arch : archs) out += (out.empty() ? "sm_" : " sm_") + std::to_string(arch);
  return out;
}

void Nvrtc::check_arch(const Arch& arch) const {
  if (archs.empty() || std::binary_search(archs.begin(), archs.end(), arch.number)) return;
  throw Failure(TLC_E_UNSUPPORTED, "NVRTC " + version() + " (" + place.path + ") does not compile for " + arch.text() +
                                       "; it knows " + arch_list() +
                                       ". Choose one of these, or name another NVRTC by TLC_NVRTC");
}

const std::string& NvrtcFinder::identity(Host host, tlc_call* call, const std::string& wanted) {
  const std::string chosen = chosen_of(wanted);
  const std::scoped_lock lock(mutex_);
  Found& found = found_[chosen];
  if (found.nvrtc != nullptr) return found.nvrtc->identity;
  if (!found.identity.empty()) return found.identity;
  if (const auto place = recall_place(host, call, chosen)) {
    found.identity = identity_of(host, call, *place);
    found.path = place->path;
    return found.identity;
  }
  return open(host, call, chosen, found).identity;
}

const Nvrtc& NvrtcFinder::get(Host host, tlc_call* call, const std::string& wanted) {
  const std::string chosen = chosen_of(wanted);
  const std::scoped_lock lock(mutex_);
  Found& found = found_[chosen];
  return found.nvrtc != nullptr ? *found.nvrtc : open(host, call, chosen, found);
}

const Nvrtc& NvrtcFinder::open(Host host, tlc_call* call, const std::string& chosen, Found& found) {
  // Whose identity is in a key already is the one that must compile.
  const bool promised = !found.identity.empty();
  const std::string before = promised ? std::string() : circumstances(chosen);
  auto nvrtc = open_nvrtc(host, call, find_nvrtc(promised ? found.path : chosen));
  if (promised && nvrtc->identity != found.identity) {
    const std::string path = std::exchange(found, Found{}).path;
    throw Failure(TLC_E_UNCACHEABLE, path + " is not the NVRTC any more that it was when the key was made; ask again");
  }
  if (!promised) remember_place(host, call, before, nvrtc->place);
  found.nvrtc = std::move(nvrtc);
  return *found.nvrtc;
}

}  // namespace tlcb::cuda
