// SPDX-License-Identifier: MIT
// What tests of the metal backend share: its table with a fake host, and metallibs, made from the format's description.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "device_support.hpp"
#include "metal/sha256.hpp"

extern "C" tlc_status tlc_metal_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                               tlc_error* error);

namespace tlc::test {

inline const backend::Ops& metal_ops() {
  static const backend::Ops ops = new_ops(tlc_metal_plugin_init_v1);
  return ops;
}

inline Compiled compile_metal(const FakeRequest& request, const std::string& target = "metal:apple7") {
  return compile_by(metal_ops(), request, target);
}

inline void put_number(std::string& out, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}
inline void set_number(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t size) {
  std::string number;
  put_number(number, value, size);
  bytes.replace(at, size, number);
}
inline std::string tag(const std::string& name, const std::string& content) {
  std::string out = name;
  put_number(out, content.size(), 2);
  return out + content;
}
inline std::string group(const std::string& tags) {
  std::string out;
  put_number(out, tags.size() + 8, 4);
  return out + tags + "ENDT";
}
inline std::string numbers(const std::vector<std::uint64_t>& values, std::size_t size) {
  std::string out;
  for (const std::uint64_t value : values) put_number(out, value, size);
  return out;
}

struct MadeFunction {
  std::string name = "add";
  unsigned type = 2;
  unsigned language_major = 3;
  unsigned language_minor = 1;
};

struct MadeMetallib {
  std::vector<MadeFunction> functions = {MadeFunction{}};
  unsigned platform = 0x8001;
  unsigned type = 0;
  unsigned system = 0x81;
  unsigned system_major = 14;
  bool with_sizes = true;      ///< MDSZ, which old files lack
  bool with_extension = true;  ///< tags after the list

  /// Bitcode as it begins, in Apple's wrapper.
  static std::string code_of(const std::string& name) {
    const std::string bitcode = std::string("BC\xc0\xde", 4) + "code of " + name;
    std::string out("\xde\xc0\x17\x0b", 4);
    out += numbers({0, 20, bitcode.size(), 0}, 4) + bitcode;
    out.resize((out.size() + 15) / 16 * 16, '\0');
    return out;
  }

  [[nodiscard]] std::string bytes() const {
    std::string list;
    std::string metadata;
    std::string code;
    for (const MadeFunction& one : functions) {
      const std::string own = code_of(one.name);
      const auto hash = tlcb::metal::sha256(own);
      std::string tags = tag("NAME", one.name + '\0') + tag("TYPE", std::string(1, static_cast<char>(one.type))) +
                         tag("HASH", std::string(hash.begin(), hash.end())) +
                         tag("OFFT", numbers({metadata.size(), metadata.size(), code.size()}, 8)) +
                         tag("VERS", numbers({2, 6, one.language_major, one.language_minor}, 2));
      if (with_sizes) tags += tag("MDSZ", numbers({own.size()}, 8));
      list += group(tags);
      metadata += group("");
      code += own;
    }
    const std::string extension = with_extension ? tag("UUID", std::string(16, 'u')) + "ENDT" : "";
    constexpr std::uint64_t kHeader = 88;
    const std::uint64_t public_at = kHeader + 4 + list.size() + extension.size();
    const std::uint64_t private_at = public_at + metadata.size();
    const std::uint64_t code_at = private_at + metadata.size();
    std::string out = "MTLB" + numbers({platform, 2, 7}, 2) + static_cast<char>(type) + static_cast<char>(system) +
                      numbers({system_major, 0}, 2);
    out += numbers({code_at + code.size(), kHeader, list.size(), public_at, metadata.size(), private_at,
                    metadata.size(), code_at, code.size()},
                   8);
    put_number(out, functions.size(), 4);
    return out + list + extension + metadata + metadata + code;
  }
};

inline FakeBundle metal_artifact(const std::string& bytes, const std::string& target = "metal:apple7") {
  FakeBundle artifact;
  const bool library = bytes.rfind("MTLB", 0) == 0;
  artifact.members.push_back({library ? "kernel.metallib" : "kernel.metal",
                              static_cast<std::uint32_t>(library ? TLC_MEMBER_DEVICE_BINARY : TLC_MEMBER_SOURCE),
                              bytes});
  artifact.target = target;
  return artifact;
}

inline constexpr const char* kAddMetal =
    "#include <metal_stdlib>\nusing namespace metal;\nkernel void add(device float* a [[buffer(0)]],\n"
    "  uint i [[thread_position_in_grid]]) { a[i] += N; }\n";

}  // namespace tlc::test
