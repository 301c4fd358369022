// SPDX-License-Identifier: MIT
// Where NVRTC is looked for, in this order:
//
//  1. the request's field 'compiler', else TLC_NVRTC, and nothing else when one of them is set
//  2. the one this process has already (a framework's)
//  3. $CUDA_HOME/lib64, $CUDA_PATH/lib64
//  4. the loader's own ways, by name
//  5. /usr/local/cuda/lib64
//
// It opens libnvrtc-builtins by name, on the first compile. The one beside it is opened here before that, and is then
// taken because its name fits: no LD_LIBRARY_PATH is needed, and it is known which one it is.
#include "cuda/nvrtc.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "cuda/loaded_library.hpp"
#include "support/failure.hpp"

namespace tlcb::cuda {
namespace {

/// Names by which CUDA 13, 12 and 11.2 to 11.8 ship it, the newest first.
constexpr std::array<const char*, 3> kNames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
constexpr int kOldestMajor = 11;
constexpr int kOldestMinor = 8;

std::string environment(const char* name) {
  const char* value = ::secure_getenv(name);
  return value != nullptr ? value : "";
}

std::string hex(const std::array<std::uint8_t, TLC_DIGEST_SIZE>& digest) {
  constexpr const char* kHex = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : digest) {
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

std::string file_identity(Host host, tlc_call* call, const std::string& path) {
  std::array<std::uint8_t, TLC_DIGEST_SIZE> digest{};
  HostError error;
  error.check(host->file_identity(call, text(path), digest.data(), error.out()), path + " cannot be read");
  return hex(digest);
}

[[noreturn]] void unavailable(const std::string& why) {
  throw Failure(TLC_E_UNAVAILABLE, why);
}

LoadedLibrary chosen_by_user(const std::string& path) {
  if (path.front() != '/') {
    unavailable("'" + path + "', as TLC_NVRTC or the field 'compiler' says, must be the absolute path of libnvrtc");
  }
  std::string problem;
  LoadedLibrary library = LoadedLibrary::open(path, problem);
  if (!library) unavailable("the NVRTC that TLC_NVRTC or the field 'compiler' names cannot be opened: " + problem);
  return library;
}

LoadedLibrary in_folder(const std::string& folder) {
  std::string ignored;
  for (const char* name : kNames) {
    if (LoadedLibrary library = LoadedLibrary::open(folder + "/" + name, ignored)) return library;
  }
  return {};
}

LoadedLibrary find_library(const std::string& chosen) {
  if (!chosen.empty()) return chosen_by_user(chosen);
  for (const char* name : kNames) {
    if (LoadedLibrary library = LoadedLibrary::already_open(name)) return library;
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string root = environment(variable);
    if (root.empty() || root.front() != '/') continue;
    if (LoadedLibrary library = in_folder(root + "/lib64")) return library;
  }
  std::string ignored;
  for (const char* name : kNames) {
    if (LoadedLibrary library = LoadedLibrary::open(name, ignored)) return library;
  }
  if (LoadedLibrary library = in_folder("/usr/local/cuda/lib64")) return library;
  unavailable(
      "no NVRTC was found (libnvrtc.so.13, .12 or .11.2; looked in this process, $CUDA_HOME, $CUDA_PATH, where the "
      "loader "
      "looks, /usr/local/cuda); install the CUDA toolkit, or the Python package nvidia-cuda-nvrtc and set TLC_NVRTC to "
      "the "
      "path of its libnvrtc");
}

/// The builtins this NVRTC will get when it opens them by name.
LoadedLibrary find_builtins(const Nvrtc& nvrtc) {
  const std::string name = "libnvrtc-builtins.so." + nvrtc.version();
  if (LoadedLibrary library = LoadedLibrary::already_open(name)) return library;
  std::string problem;
  if (LoadedLibrary library = LoadedLibrary::open(nvrtc.path.substr(0, nvrtc.path.rfind('/') + 1) + name, problem)) {
    return library;
  }
  if (LoadedLibrary library = LoadedLibrary::open(name, problem)) return library;
  unavailable(nvrtc.path + " needs " + name + ", which is neither beside it nor where the loader looks (" + problem +
              "); install the whole package it belongs to");
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

std::unique_ptr<Nvrtc> open_nvrtc(Host host, tlc_call* call, const std::string& chosen) {
  const LoadedLibrary library = find_library(chosen);
  auto nvrtc = std::make_unique<Nvrtc>();
  nvrtc->api = functions_of(library);
  nvrtc->path = library.path();
  if (nvrtc->api.version(&nvrtc->major, &nvrtc->minor) != 0 || !nvrtc->at_least(kOldestMajor, kOldestMinor)) {
    unavailable(nvrtc->path + " is NVRTC " + nvrtc->version() + "; CUDA 11.8 or newer is needed");
  }
  nvrtc->builtins_path = find_builtins(*nvrtc).path();
  nvrtc->archs = archs_of(nvrtc->api);
  nvrtc->identity = "nvrtc " + nvrtc->version() + "\nlibnvrtc " + file_identity(host, call, nvrtc->path) +
                    "\nlibnvrtc-builtins " + file_identity(host, call, nvrtc->builtins_path) + "\n";
  return nvrtc;
}

}  // namespace

std::string Nvrtc::arch_list() const {
  std::string out;
  for (const int arch : archs) out += (out.empty() ? "sm_" : " sm_") + std::to_string(arch);
  return out;
}

void Nvrtc::check_arch(const Arch& arch) const {
  if (archs.empty() || std::binary_search(archs.begin(), archs.end(), arch.number)) return;
  throw Failure(TLC_E_UNSUPPORTED, "NVRTC " + version() + " (" + path + ") does not compile for " + arch.text() +
                                       "; it knows " + arch_list() +
                                       ". Choose one of these, or name another NVRTC by TLC_NVRTC");
}

const Nvrtc& NvrtcFinder::get(Host host, tlc_call* call, const std::string& wanted) {
  const std::string chosen = wanted.empty() ? environment("TLC_NVRTC") : wanted;
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Nvrtc>& found = found_[chosen];
  if (found == nullptr) found = open_nvrtc(host, call, chosen);
  return *found;
}

}  // namespace tlcb::cuda
