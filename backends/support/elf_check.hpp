// SPDX-License-Identifier: MIT
// Whether bytes are an ELF file that a loader may be given. dlopen and GPU drivers take pointers or
// paths without sizes and crash on what is cut or damaged; this looks first and believes no number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tlcb {

struct ElfCheck {
  std::string problem;                 ///< what is wrong, as the end of a sentence; empty: nothing
  std::uint16_t type = 0;              ///< ET_*
  std::uint16_t machine = 0;           ///< EM_*
  std::uint32_t flags = 0;             ///< e_flags: the processor, for GPU code objects
  std::string soname;                  ///< DT_SONAME
  std::vector<std::string> needed;     ///< DT_NEEDED: libraries it wants
  std::vector<std::string> functions;  ///< global functions it defines, if they were asked for

  [[nodiscard]] bool ok() const { return problem.empty(); }
};

/// A 64-bit little-endian ELF file: header, segments and section table lie inside the bytes.
/// e_version is not looked at: CUDA 12 and older write their own there.
[[nodiscard]] ElfCheck check_elf(const void* data, std::size_t size);

/// The same, and a shared object whose load commands and dynamic section a loader can follow.
[[nodiscard]] ElfCheck check_shared_object(const void* data, std::size_t size, bool list_functions = false);

/// Whether everything up to the last byte belongs to some structure, so that a driver which follows one finds it whole.
/// For bytes that check_elf has found sound; fewer than `padding` bytes may follow the end. What is wrong, or empty.
[[nodiscard]] std::string elf_extent_problem(std::string_view bytes, std::size_t padding = 1);

/// e_machine of the code this program consists of.
[[nodiscard]] std::uint16_t host_elf_machine();

/// "x86-64", "AArch64", or "machine 224".
[[nodiscard]] std::string elf_machine_name(std::uint16_t machine);

}  // namespace tlcb
