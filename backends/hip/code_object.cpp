// SPDX-License-Identifier: MIT
// What says for which processor the code is, by the version of the format (its ABI version in the ELF header):
//
// | ABI version | format | e_flags |
// |-------------|--------|---------------------------------------------------------------------------------------------|
// | 0           | 2      | bits 0 to 7 the processor | | 1           | 3      | and bit 8 xnack+, bit 9 sramecc+ | | 2,
// 3, 4     | 4 to 6 | bits 8 and 9 xnack, bits 10 and 11 sramecc: 0 there is none, 1 either, 2 off, 3 on          |
//
// From version 4 on the metadata note says it too, in words. Both must agree where the processor's number is known
// here; a newer processor is known by its words alone.
#include "hip/code_object.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "support/elf_check.hpp"

namespace tlcb::hip {
namespace {

constexpr std::uint16_t kMachine = 224;
constexpr unsigned char kOsAbiHsa = 0x40;
constexpr std::uint32_t kMetadataNote = 32;
constexpr char kOwner[] = "AMDGPU";  // with its NUL
constexpr std::string_view kTriple = "amdgcn-amd-amdhsa--";

struct Processor {
  unsigned number;
  std::string_view name;
};

/// EF_AMDGPU_MACH of LLVM's documentation, as far as it is for compute.
constexpr std::array kProcessors = {
    Processor{0x20, "gfx600"},        Processor{0x21, "gfx601"},          Processor{0x22, "gfx700"},
    Processor{0x23, "gfx701"},        Processor{0x24, "gfx702"},          Processor{0x25, "gfx703"},
    Processor{0x26, "gfx704"},        Processor{0x28, "gfx801"},          Processor{0x29, "gfx802"},
    Processor{0x2a, "gfx803"},        Processor{0x2b, "gfx810"},          Processor{0x2c, "gfx900"},
    Processor{0x2d, "gfx902"},        Processor{0x2e, "gfx904"},          Processor{0x2f, "gfx906"},
    Processor{0x30, "gfx908"},        Processor{0x31, "gfx909"},          Processor{0x32, "gfx90c"},
    Processor{0x33, "gfx1010"},       Processor{0x34, "gfx1011"},         Processor{0x35, "gfx1012"},
    Processor{0x36, "gfx1030"},       Processor{0x37, "gfx1031"},         Processor{0x38, "gfx1032"},
    Processor{0x39, "gfx1033"},       Processor{0x3a, "gfx602"},          Processor{0x3b, "gfx705"},
    Processor{0x3c, "gfx805"},        Processor{0x3d, "gfx1035"},         Processor{0x3e, "gfx1034"},
    Processor{0x3f, "gfx90a"},        Processor{0x40, "gfx940"},          Processor{0x41, "gfx1100"},
    Processor{0x42, "gfx1013"},       Processor{0x43, "gfx1150"},         Processor{0x44, "gfx1103"},
    Processor{0x45, "gfx1036"},       Processor{0x46, "gfx1101"},         Processor{0x47, "gfx1102"},
    Processor{0x48, "gfx1200"},       Processor{0x4a, "gfx1151"},         Processor{0x4b, "gfx941"},
    Processor{0x4c, "gfx942"},        Processor{0x4e, "gfx1201"},         Processor{0x4f, "gfx950"},
    Processor{0x51, "gfx9-generic"},  Processor{0x52, "gfx10-1-generic"}, Processor{0x53, "gfx10-3-generic"},
    Processor{0x54, "gfx11-generic"}, Processor{0x55, "gfx1152"},         Processor{0x58, "gfx1153"},
    Processor{0x59, "gfx12-generic"}, Processor{0x5f, "gfx9-4-generic"},
};

std::string_view processor_name(unsigned number) {
  for (const Processor& one : kProcessors) {
    if (one.number == number) return one.name;
  }
  return {};
}

/// Two bits of version 4 and newer.
char setting(std::uint32_t bits) {
  constexpr std::uint32_t kOff = 2;
  constexpr std::uint32_t kOn = 3;
  return bits == kOn ? '+' : bits == kOff ? '-' : '\0';
}

TargetId target_of_flags(std::uint32_t flags, int version) {
  TargetId id;
  id.processor = processor_name(flags & 0xff);
  if (version == 3) {
    if ((flags & 0x100) != 0) id.xnack = '+';
    if ((flags & 0x200) != 0) id.sramecc = '+';
  } else if (version > 3) {
    id.xnack = setting((flags >> 8) & 3);
    id.sramecc = setting((flags >> 10) & 3);
  }
  return id;
}

template <typename T>
T at(std::string_view bytes, std::uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::uint64_t aligned(std::uint64_t size) {
  return (size + 3) & ~std::uint64_t{3};
}

/// The note of this type that AMD owns; empty if there is none.
std::string_view find_note(std::string_view notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    const auto head = at<Elf64_Nhdr>(notes, 0);
    notes.remove_prefix(sizeof head);
    if (aligned(head.n_namesz) > notes.size()) return {};
    const std::string_view owner = notes.substr(0, head.n_namesz);
    notes.remove_prefix(aligned(head.n_namesz));
    if (head.n_descsz > notes.size()) return {};
    if (head.n_type == kMetadataNote && owner == std::string_view(kOwner, sizeof kOwner))
      return notes.substr(0, head.n_descsz);
    notes.remove_prefix(std::min<std::uint64_t>(aligned(head.n_descsz), notes.size()));
  }
  return {};
}

/// A file that check_shared_object has found sound: its segments and sections are inside its bytes.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes), header_(at<Elf64_Ehdr>(bytes, 0)) {}

  [[nodiscard]] std::string_view metadata() const {
    for (std::uint64_t i = 0; i < header_.e_phnum; ++i) {
      const auto segment = at<Elf64_Phdr>(bytes_, header_.e_phoff + i * sizeof(Elf64_Phdr));
      if (segment.p_type != PT_NOTE) continue;
      const std::string_view found = find_note(bytes_.substr(segment.p_offset, segment.p_filesz));
      if (!found.empty()) return found;
    }
    return {};
  }

  /// Variables that programs may ask for: exported, and no descriptor of a kernel.
  [[nodiscard]] std::vector<std::string> variables() const {
    std::vector<std::string> out;
    for (std::uint64_t i = 0; i < header_.e_shnum; ++i) {
      const Elf64_Shdr table = section(i);
      if (table.sh_type != SHT_DYNSYM || table.sh_link >= header_.e_shnum) continue;
      const std::string_view symbols = content(table);
      const std::string_view names = content(section(table.sh_link));
      for (std::uint64_t from = 0; from + sizeof(Elf64_Sym) <= symbols.size(); from += sizeof(Elf64_Sym)) {
        const auto symbol = at<Elf64_Sym>(symbols, from);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_name >= names.size()) continue;
        std::string name(names.substr(symbol.st_name));
        name.resize(std::min(name.find('\0'), name.size()));
        if (!name.empty() && !name.ends_with(".kd") && name.find("__HIP_Coordinates") == std::string::npos)
          out.push_back(std::move(name));
      }
    }
    return out;
  }

 private:
  [[nodiscard]] Elf64_Shdr section(std::uint64_t i) const {
    return at<Elf64_Shdr>(bytes_, header_.e_shoff + i * sizeof(Elf64_Shdr));
  }
  [[nodiscard]] std::string_view content(const Elf64_Shdr& found) const {
    if (found.sh_type == SHT_NULL || found.sh_type == SHT_NOBITS) return {};
    return bytes_.substr(found.sh_offset, found.sh_size);
  }

  std::string_view bytes_;
  Elf64_Ehdr header_;
};

/// Compares what the flags say with what the metadata says, and fills in what only one of them knows.
void settle_target(CodeObject& out, std::uint32_t flags) {
  out.target = target_of_flags(flags, out.version);
  const bool named = out.metadata && out.metadata->target.starts_with(kTriple);
  TargetId said;
  if (named && !parse_target_id(std::string_view(out.metadata->target).substr(kTriple.size()), said)) {
    out.problem = "its metadata names no processor: it is damaged";
  } else if (out.target.processor.empty() && !named) {
    out.problem = "it is for a processor of number " + std::to_string(flags & 0xff) + ", which is not known";
  } else if (out.target.processor.empty()) {
    out.target = said;
  } else if (named && said != out.target) {
    out.problem = "its header says that it is for " + out.target.text() + ", its metadata that it is for " +
                  said.text() + ": it is damaged";
  }
}

/// What its header must say before anything else of it is looked at.
std::string header_problem(const ElfCheck& elf, std::string_view bytes) {
  if (!elf.ok()) return elf.problem;
  if (elf.machine != kMachine) return "it is for " + elf_machine_name(elf.machine) + ", not for an AMD GPU";
  const auto os_abi = static_cast<unsigned char>(bytes[EI_OSABI]);
  if (os_abi != kOsAbiHsa) return "its OS/ABI " + std::to_string(os_abi) + " is not that of HIP";
  if (elf.type == ET_REL)
    return "it is relocatable code, which must be linked (ld.lld -shared) before it can be loaded";
  const auto abi_version = static_cast<unsigned char>(bytes[EI_ABIVERSION]);
  constexpr unsigned char kNewest = 4;
  if (abi_version > kNewest) {
    return "its code object version (ABI version " + std::to_string(abi_version) + ") is newer than any known here";
  }
  return {};
}

}  // namespace

CodeObject check_code_object(std::string_view bytes) {
  CodeObject out;
  const ElfCheck header = check_elf(bytes.data(), bytes.size());
  out.problem = header_problem(header, bytes);
  if (!out.ok()) return out;
  out.problem = check_shared_object(bytes.data(), bytes.size()).problem;
  if (out.ok()) out.problem = elf_extent_problem(bytes);
  if (!out.ok()) return out;
  out.version = static_cast<unsigned char>(bytes[EI_ABIVERSION]) + 2;
  const Reader reader(bytes);
  const std::string_view metadata = reader.metadata();
  if (!metadata.empty()) {
    out.metadata = parse_metadata(metadata);
    if (!out.metadata) {
      out.problem = "its metadata cannot be read: it is damaged";
      return out;
    }
  }
  settle_target(out, header.flags);
  if (out.ok()) out.variables = reader.variables();
  return out;
}

}  // namespace tlcb::hip
