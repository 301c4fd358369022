// SPDX-License-Identifier: MIT
// nvJitLink, NVIDIA's linker as a library (CUDA 12 and newer): LTO-IR to a cubin for one device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace tlcb::cuda {

using JitLinkHandle = struct JitLinkOpaque*;

/// Its functions, as declared in NVIDIA's documentation.
struct JitLinkApi {
  int (*create)(JitLinkHandle* handle, std::uint32_t option_count, const char** options) = nullptr;
  int (*destroy)(JitLinkHandle* handle) = nullptr;
  int (*add_data)(JitLinkHandle handle, int type, const void* data, std::size_t size, const char* name) = nullptr;
  int (*complete)(JitLinkHandle handle) = nullptr;
  int (*cubin_size)(JitLinkHandle handle, std::size_t* size) = nullptr;
  int (*cubin)(JitLinkHandle handle, void* bytes) = nullptr;
  int (*log_size)(JitLinkHandle handle, std::size_t* size) = nullptr;
  int (*log)(JitLinkHandle handle, char* text) = nullptr;
};

/// The linker of this process: opened by the first call that needs it, never closed.
class JitLinker {
 public:
  /// A cubin for a device of this capability (90 for 9.0). Throws Failure: TLC_E_UNSUPPORTED where there is no
  /// nvJitLink, TLC_E_UNAVAILABLE with its log where it cannot link.
  [[nodiscard]] std::string link(std::string_view ltoir, int capability);

 private:
  const JitLinkApi& api();

  std::mutex mutex_;
  bool open_ = false;
  JitLinkApi api_;
};

}  // namespace tlcb::cuda
