// SPDX-License-Identifier: MIT
// What tests of the hip backend share: its table with a fake host, and code objects.
#pragma once

#include <elf.h>

#include <string>

#include "amd_object.h"
#include "device_support.hpp"

extern "C" tlc_status tlc_hip_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                             tlc_error* error);

namespace tlc::test {

inline backend::Ops new_hip_ops() {
  return new_ops(tlc_hip_plugin_init_v1);
}

inline const backend::Ops& hip_ops() {
  static const backend::Ops ops = new_hip_ops();
  return ops;
}

inline Compiled compile_hip(const FakeRequest& request, const std::string& target = "hip:gfx90a") {
  return compile_by(hip_ops(), request, target);
}

// e_flags of format version 4: the processor, then xnack and sramecc.
inline constexpr unsigned kAnyGfx90a = 0x53f;
inline constexpr unsigned kXnackOnGfx90a = 0x73f;
inline constexpr unsigned kFullGfx90a = 0xe3f;  ///< sramecc+, xnack-
inline constexpr unsigned kGfx1030 = 0x36;

inline std::string make_code_object(unsigned flags, unsigned char abi_version = 2,
                                    const std::string& payload = "code") {
  std::string out(amd_object(nullptr, flags, abi_version, nullptr, payload.size()), '\0');
  (void)amd_object(out.data(), flags, abi_version, payload.data(), payload.size());
  return out;
}

inline FakeBundle hip_artifact(const std::string& code, const std::string& target) {
  FakeBundle artifact;
  artifact.members.push_back({"kernel.hsaco", TLC_MEMBER_DEVICE_BINARY, code});
  artifact.target = target;
  return artifact;
}

}  // namespace tlc::test
