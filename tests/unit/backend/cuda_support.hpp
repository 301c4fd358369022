// SPDX-License-Identifier: MIT
// What tests of the cuda backend share: its table with a fake host, and requests.
//
// TLC_TEST_NVRTC names the libnvrtc to test with. Without it there is none: programs that need one are skipped.
#pragma once

#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "device_support.hpp"

extern "C" tlc_status tlc_cuda_plugin_init_v1(const tlc_host_api* host, const tlc_backend_ops** ops, void** state,
                                              tlc_error* error);

namespace tlc::test {

inline backend::Ops new_cuda_ops() {
  return new_ops(tlc_cuda_plugin_init_v1);
}

inline const backend::Ops& cuda_ops() {
  static const backend::Ops ops = new_cuda_ops();
  return ops;
}

/// Whether there is an NVRTC to test with; it is then the one the backend takes.
inline bool use_test_nvrtc() {
  const char* path = ::getenv("TLC_TEST_NVRTC");
  if (path == nullptr || *path == '\0') return false;
  ::setenv("TLC_NVRTC", path, 1);
  return true;
}

inline FakeRequest cuda_request(const std::string& source, const std::vector<std::string>& options = {}) {
  return source_request(source, options);
}

inline Compiled compile_cuda(const FakeRequest& request, const std::string& target = "cuda:sm_90") {
  return compile_by(cuda_ops(), request, target);
}

/// The smallest cubin that passes for one, as CUDA 13 or 12 writes them.
inline std::string make_cubin(int sm, bool cuda13 = true) {
  constexpr char kNames[] = "\0.shstrtab";
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = cuda13 ? 0x41 : 0x33;
  header.e_type = ET_EXEC;
  header.e_machine = 190;
  header.e_version = cuda13 ? 1 : 0x81;
  header.e_flags = static_cast<Elf64_Word>(cuda13 ? 0x6000004 | (sm << 8) : 0x500500 | sm);
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shoff = sizeof header + sizeof(Elf64_Phdr) + 16;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shstrndx = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_offset = sizeof header + sizeof segment;
  segment.p_filesz = segment.p_memsz = sizeof kNames;
  segment.p_align = 8;
  Elf64_Shdr sections[2]{};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = segment.p_offset;
  sections[1].sh_size = sizeof kNames;
  std::string out(header.e_shoff + sizeof sections, '\0');
  std::memcpy(out.data(), &header, sizeof header);
  std::memcpy(out.data() + header.e_phoff, &segment, sizeof segment);
  std::memcpy(out.data() + segment.p_offset, kNames, sizeof kNames);
  std::memcpy(out.data() + header.e_shoff, sections, sizeof sections);
  return out;
}

/// PTX with one kernel, ended by the NUL that it must have.
inline std::string make_ptx(const std::string& target) {
  return std::string("// comment .version 1.0\n.version 8.4\n.target " + target +
                     ", debug\n.address_size 64\n/* .entry no */\n.visible .entry kern(\n)\n{ ret; }\n") +
         '\0';
}

}  // namespace tlc::test
