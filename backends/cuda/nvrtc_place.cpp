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
#include "cuda/nvrtc_place.hpp"

#include <unistd.h>

#include <array>
#include <string_view>
#include <vector>

#include "cuda/toolkit.hpp"
#include "support/failure.hpp"

namespace tlcb::cuda {
namespace {

/// Names by which CUDA 13, 12 and 11.2 to 11.8 ship it, the newest first.
constexpr std::array<const char*, 3> kNames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};

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

std::string already_open_path() {
  for (const char* name : kNames) {
    if (const LoadedLibrary library = LoadedLibrary::already_open(name)) return library.path();
  }
  return {};
}

}  // namespace

LoadedLibrary find_nvrtc(const std::string& chosen) {
  if (!chosen.empty()) return chosen_by_user(chosen);
  for (const char* name : kNames) {
    if (LoadedLibrary library = LoadedLibrary::already_open(name)) return library;
  }
  for (const std::string& folder : toolkit_folders()) {
    if (LoadedLibrary library = in_folder(folder)) return library;
  }
  std::string ignored;
  for (const char* name : kNames) {
    if (LoadedLibrary library = LoadedLibrary::open(name, ignored)) return library;
  }
  if (LoadedLibrary library = in_folder(kUsualFolder)) return library;
  unavailable(
      "no NVRTC was found (libnvrtc.so.13, .12 or .11.2; looked in this process, $CUDA_HOME, $CUDA_PATH, where the "
      "loader looks, /usr/local/cuda); install the CUDA toolkit, or the Python package nvidia-cuda-nvrtc and set "
      "TLC_NVRTC to the path of its libnvrtc");
}

LoadedLibrary find_builtins(const std::string& path, const std::string& version) {
  const std::string name = "libnvrtc-builtins.so." + version;
  if (LoadedLibrary library = LoadedLibrary::already_open(name)) return library;
  std::string problem;
  if (LoadedLibrary library = LoadedLibrary::open(path.substr(0, path.rfind('/') + 1) + name, problem)) return library;
  if (LoadedLibrary library = LoadedLibrary::open(name, problem)) return library;
  unavailable(path + " needs " + name + ", which is neither beside it nor where the loader looks (" + problem +
              "); install the whole package it belongs to");
}

std::string circumstances(const std::string& chosen) {
  std::string text = "nvrtc place 1\n";
  if (!chosen.empty()) return text + "chosen " + chosen + "\n";
  if (const std::string open = already_open_path(); !open.empty()) return text + "open " + open + "\n";
  return text + "toolkit " + first_file_in(toolkit_folders(), kNames) + "\nloader " +
         first_file_in(loader_folders(), kNames) + "\nlist " + loader_cache_stamp() + "\nusual " +
         first_file_in({kUsualFolder}, kNames) + "\npath " + environment("LD_LIBRARY_PATH") + "\n";
}

std::optional<NvrtcPlace> recall_place(Host host, tlc_call* call, const std::string& chosen) {
  std::string value;
  if (!host.recall(call, circumstances(chosen), value)) return std::nullopt;
  std::string_view rest = value;
  NvrtcPlace place{take_line(rest), take_line(rest), take_line(rest)};
  if (place.path.empty() || place.builtins.empty() || place.version.empty()) return std::nullopt;
  for (const std::string& path : {place.path, place.builtins}) {
    if (::access(path.c_str(), R_OK) != 0) return std::nullopt;
  }
  // Builtins of this name that the process has would be taken instead.
  const LoadedLibrary builtins = LoadedLibrary::already_open("libnvrtc-builtins.so." + place.version);
  if (builtins && builtins.path() != place.builtins) return std::nullopt;
  return place;
}

void remember_place(Host host, tlc_call* call, const std::string& circumstances, const NvrtcPlace& place) {
  host.remember(call, circumstances, place.path + "\n" + place.builtins + "\n" + place.version + "\n");
}

std::string identity_of(Host host, tlc_call* call, const NvrtcPlace& place) {
  return "nvrtc " + place.version + "\nlibnvrtc " + file_identity(host, call, place.path) + "\nlibnvrtc-builtins " +
         file_identity(host, call, place.builtins) + "\n";
}

}  // namespace tlcb::cuda
