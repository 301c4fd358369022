// SPDX-License-Identifier: MIT
// NVRTC, NVIDIA's compiler as a library: found and opened on the first call that needs it. CUDA 11.8 to 13.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/nvrtc_place.hpp"
#include "cuda/target.hpp"
#include "support/host.hpp"

namespace tlcb::cuda {

/// A program under compilation; NVRTC's own.
using NvrtcProgram = struct NvrtcProgramOpaque*;

/// Its functions, as declared in NVIDIA's documentation. Those at the end are newer than 11.8 and may be NULL.
struct NvrtcApi {
  int (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(int result) = nullptr;
  int (*arch_count)(int* count) = nullptr;
  int (*archs)(int* numbers) = nullptr;
  int (*create)(NvrtcProgram* program, const char* source, const char* name, int header_count,
                const char* const* headers, const char* const* header_names) = nullptr;
  int (*destroy)(NvrtcProgram* program) = nullptr;
  int (*compile)(NvrtcProgram program, int option_count, const char* const* options) = nullptr;
  int (*log_size)(NvrtcProgram program, std::size_t* size) = nullptr;
  int (*log)(NvrtcProgram program, char* text) = nullptr;
  int (*add_name)(NvrtcProgram program, const char* expression) = nullptr;
  int (*lowered_name)(NvrtcProgram program, const char* expression, const char** lowered) = nullptr;
  int (*ptx_size)(NvrtcProgram program, std::size_t* size) = nullptr;
  int (*ptx)(NvrtcProgram program, char* text) = nullptr;
  int (*cubin_size)(NvrtcProgram program, std::size_t* size) = nullptr;
  int (*cubin)(NvrtcProgram program, char* bytes) = nullptr;
  int (*ltoir_size)(NvrtcProgram program, std::size_t* size) = nullptr;
  int (*ltoir)(NvrtcProgram program, char* bytes) = nullptr;
  int (*set_flow_callback)(NvrtcProgram program, int (*callback)(void*, void*), void* payload) = nullptr;
};

/// One NVRTC of this process. Never closed, never changed.
struct Nvrtc {
  NvrtcApi api;
  NvrtcPlace place;
  int major = 0;
  int minor = 0;
  std::vector<int> archs;  ///< that it compiles for, in order
  std::string identity;    ///< of both files, by content

  [[nodiscard]] bool at_least(int wanted_major, int wanted_minor) const {
    return major > wanted_major || (major == wanted_major && minor >= wanted_minor);
  }
  [[nodiscard]] std::string version() const { return std::to_string(major) + "." + std::to_string(minor); }
  /// "sm_75 sm_80 sm_90": for messages.
  [[nodiscard]] std::string arch_list() const;
  /// Throws Failure (TLC_E_UNSUPPORTED) with the list, for an arch that it does not know by number.
  void check_arch(const Arch& arch) const;
};

/// Finds NVRTC once for each path it is asked for by, and keeps it. `wanted`: the path of one library, or empty.
class NvrtcFinder {
 public:
  /// Identity of the one that would compile, by content. Opens it only where no process has before. Throws Failure.
  [[nodiscard]] const std::string& identity(Host host, tlc_call* call, const std::string& wanted);
  /// Open, and the one whose identity was told. Throws Failure (TLC_E_UNAVAILABLE) that says what was tried.
  [[nodiscard]] const Nvrtc& get(Host host, tlc_call* call, const std::string& wanted = {});

 private:
  struct Found {
    std::string identity;  ///< told, though it is not open yet
    std::string path;      ///< of that one
    std::unique_ptr<Nvrtc> nvrtc;
  };
  const Nvrtc& open(Host host, tlc_call* call, const std::string& chosen, Found& found);

  std::mutex mutex_;
  std::map<std::string, Found> found_;
};

}  // namespace tlcb::cuda
