// SPDX-License-Identifier: MIT
// Where NVRTC lies: looked for, or remembered, so that a process which finds its kernels in the cache need not open it
// (which takes 7 ms).
#pragma once

#include <optional>
#include <string>

#include "support/host.hpp"
#include "support/loaded_library.hpp"

namespace tlcb::cuda {

struct NvrtcPlace {
  std::string path;      ///< of libnvrtc, symlinks followed
  std::string builtins;  ///< of libnvrtc-builtins, which it opens by name
  std::string version;   ///< "13.0"
};

/// Opens the libnvrtc that is chosen, or the first that is found. Throws Failure (TLC_E_UNAVAILABLE): what was tried.
[[nodiscard]] LoadedLibrary find_nvrtc(const std::string& chosen);
/// Opens the builtins that the NVRTC of this path and version will get when it opens them by name.
[[nodiscard]] LoadedLibrary find_builtins(const std::string& path, const std::string& version);

/// What find_nvrtc and find_builtins would open, if a process found it under the same circumstances: the same files
/// first in the same folders, the same NVRTC in the process. Opens nothing.
[[nodiscard]] std::optional<NvrtcPlace> recall_place(Host host, tlc_call* call, const std::string& chosen);
/// To be called before anything is opened: what recall_place will go by.
[[nodiscard]] std::string circumstances(const std::string& chosen);
void remember_place(Host host, tlc_call* call, const std::string& circumstances, const NvrtcPlace& place);

/// Identity of both files, by content, as text for a key. Throws Failure where one cannot be read.
[[nodiscard]] std::string identity_of(Host host, tlc_call* call, const NvrtcPlace& place);

}  // namespace tlcb::cuda
