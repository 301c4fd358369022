// SPDX-License-Identifier: MIT
// Which format it is, and the check of a cubin: an ELF file for machine 190.
//
// | CUDA          | OS/ABI | where e_flags has the SM |
// |---------------|--------|--------------------------|
// | 13 and newer  | 0x41   | bits 8 to 15             |
// | 12 and older  | 0x33   | bits 0 to 7              |
//
// Measured with NVRTC 11.8, 12.9 and 13. The variants 'a' and 'f' have the flags of the plain arch.
#include "cuda/binary_check.hpp"

#include <elf.h>

#include <cstdint>

#include "support/elf_check.hpp"

namespace tlcb::cuda {
namespace {

constexpr std::uint16_t kMachine = 190;
constexpr unsigned char kOsAbi12 = 0x33;
constexpr unsigned char kOsAbi13 = 0x41;
/// Of images in a fatbin.
constexpr std::uint64_t kAlignment = 8;
constexpr std::string_view kLtoirMagic = "\xed\x43\x4e\x7f";
constexpr std::string_view kFatbinMagic = "\x50\xed\x55\xba";

}  // namespace

Binary check_cubin(std::string_view bytes, bool padded) {
  Binary out;
  out.format = Format::cubin;
  const ElfCheck elf = check_elf(bytes.data(), bytes.size());
  out.problem = elf.problem;
  if (!out.ok()) return out;
  if (elf.machine != kMachine) {
    out.problem = "it is for " + elf_machine_name(elf.machine) + ", not for an NVIDIA GPU";
    return out;
  }
  const auto os_abi = static_cast<unsigned char>(bytes[EI_OSABI]);
  if (os_abi != kOsAbi12 && os_abi != kOsAbi13) {
    out.problem = "its OS/ABI " + std::to_string(os_abi) + " is none that CUDA 11 to 13 writes";
    return out;
  }
  if (elf.type != ET_EXEC) {
    out.problem = "it is relocatable code, which must be linked (nvJitLink) before it can be loaded";
    return out;
  }
  out.problem = elf_extent_problem(bytes, padded ? kAlignment : 1);
  Image image;
  image.format = Format::cubin;
  image.arch.number = static_cast<int>(os_abi == kOsAbi13 ? (elf.flags >> 8) & 0xff : elf.flags & 0xff);
  image.bytes = bytes;
  out.images.push_back(image);
  return out;
}

Format format_of(std::string_view bytes) {
  if (bytes.starts_with(ELFMAG)) return Format::cubin;
  if (bytes.starts_with(kFatbinMagic)) return Format::fatbin;
  if (bytes.starts_with(kLtoirMagic)) return Format::ltoir;
  return Format::ptx;
}

Binary check_binary(std::string_view bytes) {
  Binary out;
  if (bytes.empty()) {
    out.problem = "it is empty";
    return out;
  }
  out.format = format_of(bytes);
  if (out.format == Format::cubin) return check_cubin(bytes);
  if (out.format == Format::fatbin) return check_fatbin(bytes);
  if (out.format == Format::ltoir) return out;
  out.format = Format::unknown;
  Binary text = check_ptx(bytes);
  if (text.format == Format::ptx) return text;
  out.problem = "it is neither a cubin, a fatbin, PTX nor LTO-IR";
  return out;
}

std::string format_name(Format format) {
  switch (format) {
    case Format::cubin:
      return "cubin";
    case Format::fatbin:
      return "fatbin";
    case Format::ptx:
      return "PTX";
    case Format::ltoir:
      return "LTO-IR";
    case Format::unknown:
      break;
  }
  return "unknown";
}

}  // namespace tlcb::cuda
