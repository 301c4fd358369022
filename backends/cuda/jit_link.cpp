// SPDX-License-Identifier: MIT
// Looked for where NVRTC is: in the process, beside TLC_NVRTC, in the toolkit's folders, where the loader looks.
#include "cuda/jit_link.hpp"

#include <array>
#include <vector>

#include "cuda/toolkit.hpp"
#include "support/failure.hpp"
#include "support/loaded_library.hpp"

namespace tlcb::cuda {
namespace {

constexpr std::array<const char*, 2> kNames = {"libnvJitLink.so.13", "libnvJitLink.so.12"};
constexpr int kInputLtoir = 3;  ///< nvJitLinkInputType

LoadedLibrary find_library() {
  std::vector<std::string> folders = toolkit_folders();
  const std::string nvrtc = environment("TLC_NVRTC");
  if (const std::size_t slash = nvrtc.rfind('/'); slash != std::string::npos)
    folders.insert(folders.begin(), nvrtc.substr(0, slash));
  std::vector<std::string> names;
  for (const std::string& folder : folders) {
    for (const char* name : kNames) names.push_back(folder + "/" + name);
  }
  names.insert(names.end(), kNames.begin(), kNames.end());
  for (const char* name : kNames) names.push_back(std::string(kUsualFolder) + "/" + name);

  for (const char* name : kNames) {
    if (LoadedLibrary library = LoadedLibrary::already_open(name)) return library;
  }
  std::string ignored;
  for (const std::string& name : names) {
    if (LoadedLibrary library = LoadedLibrary::open(name, ignored)) return library;
  }
  throw Failure(
      TLC_E_UNSUPPORTED,
      "the code is LTO-IR, which must be linked for the device, and there is no nvJitLink (libnvJitLink.so.13 or "
      ".12; looked beside TLC_NVRTC, in $CUDA_HOME, $CUDA_PATH, where the loader looks, /usr/local/cuda); "
      "install it, or ask for output cubin");
}

template <typename Function>
void need(const LoadedLibrary& library, Function& into, const char* name) {
  library.find(into, name);
  if (into == nullptr) throw Failure(TLC_E_UNSUPPORTED, library.path() + " lacks " + name + ": it is no nvJitLink");
}

/// One link, ended with its scope.
class Link {
 public:
  Link(const JitLinkApi& api, const std::string& arch) : api_(api) {
    std::array<const char*, 2> options = {arch.c_str(), "-lto"};
    check(api.create(&handle_, static_cast<std::uint32_t>(options.size()), options.data()), "could not begin");
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    if (handle_ != nullptr) api_.destroy(&handle_);
  }

  std::string cubin(std::string_view ltoir) {
    check(api_.add_data(handle_, kInputLtoir, ltoir.data(), ltoir.size(), "kernel.ltoir"), "did not take the LTO-IR");
    check(api_.complete(handle_), "could not link it");
    std::size_t size = 0;
    check(api_.cubin_size(handle_, &size), "made no cubin");
    std::string bytes(size, '\0');
    check(api_.cubin(handle_, bytes.data()), "made no cubin");
    return bytes;
  }

 private:
  void check(int result, const char* what) {
    if (result == 0) return;
    std::string log;
    std::size_t size = 0;
    if (handle_ != nullptr && api_.log_size(handle_, &size) == 0 && size > 1) {
      log.resize(size);
      if (api_.log(handle_, log.data()) != 0) log.clear();
      while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    }
    throw Failure(
        TLC_E_UNAVAILABLE,
        std::string("nvJitLink ") + what + " (result " + std::to_string(result) + ")" + (log.empty() ? "" : ": " + log),
        0, result);
  }

  const JitLinkApi& api_;
  JitLinkHandle handle_ = nullptr;
};

}  // namespace

const JitLinkApi& JitLinker::api() {
  const std::scoped_lock lock(mutex_);
  if (open_) return api_;
  const LoadedLibrary library = find_library();
  JitLinkApi api;
  need(library, api.create, "nvJitLinkCreate");
  need(library, api.destroy, "nvJitLinkDestroy");
  need(library, api.add_data, "nvJitLinkAddData");
  need(library, api.complete, "nvJitLinkComplete");
  need(library, api.cubin_size, "nvJitLinkGetLinkedCubinSize");
  need(library, api.cubin, "nvJitLinkGetLinkedCubin");
  need(library, api.log_size, "nvJitLinkGetErrorLogSize");
  need(library, api.log, "nvJitLinkGetErrorLog");
  api_ = api;
  open_ = true;
  return api_;
}

std::string JitLinker::link(std::string_view ltoir, int capability) {
  return Link(api(), "-arch=sm_" + std::to_string(capability)).cubin(ltoir);
}

}  // namespace tlcb::cuda
