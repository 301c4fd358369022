// SPDX-License-Identifier: MIT
// The ELF structures a loader follows, each checked against the bytes there are.
//
// | structure       | what must hold                                                             |
// |-----------------|----------------------------------------------------------------------------|
// | header          | magic, 64-bit, little-endian, version 1, entry sizes as in the standard     |
// | section table   | absent, or whole and inside the file; each section too                      |
// | program headers | 1 to 1024, inside the file; each segment's bytes inside the file            |
// | PT_LOAD         | ascending, apart, offset and address agree modulo a power-of-two alignment  |
// | PT_DYNAMIC      | one, inside a PT_LOAD, ends in DT_NULL                                      |
// | DT_* tables     | each wholly inside the bytes of one PT_LOAD; names inside the string table  |
#include "support/elf_check.hpp"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

namespace tlcb {
namespace {

static_assert(std::endian::native == std::endian::little, "the structures are read as they lie");

constexpr std::size_t kMaxSegments = 1024;
constexpr std::size_t kMaxDynamic = 4096;
constexpr std::size_t kMaxNeeded = 256;

/// One pass over one file. Functions say whether to go on; problem_ tells why not.
class Checker {
 public:
  Checker(const void* data, std::size_t size, bool list_functions = false)
      : data_(static_cast<const char*>(data)), size_(size), list_functions_(list_functions) {}

  ElfCheck elf() {
    if (header() && sections()) (void)segments();
    return std::move(out_);
  }

  ElfCheck shared_object() {
    if (header() && shared_type() && sections() && segments() && loads() && dynamic()) {
      (void)(strings() && symbols() && tables());
    }
    return std::move(out_);
  }

 private:
  bool bad(std::string problem) {
    out_.problem = std::move(problem);
    return false;
  }

  [[nodiscard]] bool inside(std::uint64_t offset, std::uint64_t len) const {
    return offset <= size_ && len <= size_ - offset;
  }

  /// A structure at an offset that has been found to be inside.
  template <typename T>
  [[nodiscard]] T at(std::uint64_t offset) const {
    T value;
    std::memcpy(&value, data_ + offset, sizeof value);
    return value;
  }

  bool header() {
    if (size_ == 0) return bad("it is empty");
    if (size_ < sizeof(Elf64_Ehdr)) return bad("it is too short for an ELF header");
    header_ = at<Elf64_Ehdr>(0);
    const unsigned char* ident = header_.e_ident;
    if (std::memcmp(ident, ELFMAG, SELFMAG) != 0) {
      return bad("it is no ELF file: it does not begin with the ELF magic");
    }
    if (ident[EI_CLASS] != ELFCLASS64) return bad("it is no 64-bit ELF file");
    if (ident[EI_DATA] != ELFDATA2LSB) return bad("it is not little-endian");
    if (ident[EI_VERSION] != EV_CURRENT) return bad("its ELF version is unknown");
    if (header_.e_ehsize != sizeof(Elf64_Ehdr)) return bad("its header has an unknown size");
    out_.type = header_.e_type;
    out_.machine = header_.e_machine;
    out_.flags = header_.e_flags;
    return true;
  }

  bool shared_type() {
    if (header_.e_version != EV_CURRENT) return bad("its ELF version is unknown");
    if (header_.e_type == ET_DYN) return true;
    return bad(header_.e_type == ET_REL ? "it is a relocatable object, not a shared object"
                                        : "it is not a shared object");
  }

  bool sections() {
    if (header_.e_shoff == 0) {
      return header_.e_shnum == 0 || bad("it counts sections but has no section table");
    }
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) {
      return bad("its section headers have an unknown size");
    }
    const std::uint64_t bytes = std::uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr);
    if (header_.e_shnum == 0 || !inside(header_.e_shoff, bytes)) {
      return bad("its section table reaches beyond its end: the file is cut or damaged");
    }
    if (header_.e_shstrndx >= header_.e_shnum) return bad("its section names are in no section");
    for (std::uint64_t i = 0; i < header_.e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr));
      if (section.sh_type == SHT_NULL || section.sh_type == SHT_NOBITS) continue;
      if (!inside(section.sh_offset, section.sh_size)) {
        return bad("a section reaches beyond its end: the file is cut or damaged");
      }
    }
    return true;
  }

  bool segments() {
    if (header_.e_phnum == 0) return header_.e_type == ET_REL || bad("it has no segments");
    if (header_.e_phnum > kMaxSegments) return bad("it has too many segments");
    if (header_.e_phentsize != sizeof(Elf64_Phdr)) {
      return bad("its program headers have an unknown size");
    }
    const std::uint64_t bytes = std::uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr);
    if (!inside(header_.e_phoff, bytes)) {
      return bad("its program headers reach beyond its end: the file is cut or damaged");
    }
    for (std::uint64_t i = 0; i < header_.e_phnum; ++i) {
      const auto segment = at<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr));
      if (segment.p_type == PT_NULL) continue;
      if (!inside(segment.p_offset, segment.p_filesz)) {
        return bad("a segment reaches beyond its end: the file is cut or damaged");
      }
      if (segment.p_type == PT_LOAD) loads_.push_back(segment);
      if (segment.p_type == PT_DYNAMIC) {
        if (dynamic_) return bad("it has two dynamic sections");
        dynamic_ = segment;
      }
      if (segment.p_type == PT_TLS) tls_ = segment;
      if (segment.p_type == PT_GNU_RELRO) relro_ = segment;
    }
    return true;
  }

  bool loads() {
    if (loads_.empty()) return bad("it has nothing to load");
    std::uint64_t end = 0;
    for (const Elf64_Phdr& load : loads_) {
      if (load.p_filesz > load.p_memsz || load.p_vaddr + load.p_memsz < load.p_vaddr) {
        return bad("a segment's sizes contradict each other");
      }
      if (load.p_align == 0 || !std::has_single_bit(load.p_align) ||
          (load.p_vaddr - load.p_offset) % load.p_align != 0) {
        return bad("a segment is not aligned as a loader needs it");
      }
      if (load.p_vaddr < end) return bad("its segments overlap or are out of order");
      end = load.p_vaddr + load.p_memsz;
    }
    // The initial thread-local data is copied from loaded bytes; RELRO may be padded to a page.
    constexpr std::uint64_t kLargestPage = 65536;
    if (tls_ && (tls_->p_filesz > tls_->p_memsz || !loaded(tls_->p_vaddr, tls_->p_filesz))) {
      return bad("its thread-local data is outside of what is loaded");
    }
    if (relro_ && relro_->p_memsz != 0 &&
        (!starts_in_load(relro_->p_vaddr) || relro_->p_memsz > end + kLargestPage ||
         relro_->p_vaddr > end + kLargestPage - relro_->p_memsz)) {
      return bad("what it wants protected is outside of what is loaded");
    }
    return true;
  }

  [[nodiscard]] bool starts_in_load(std::uint64_t address) const {
    for (const Elf64_Phdr& load : loads_) {
      if (address >= load.p_vaddr && address - load.p_vaddr < load.p_memsz) return true;
    }
    return false;
  }

  /// The file offset of `len` bytes that are loaded from the file to this address.
  [[nodiscard]] std::optional<std::uint64_t> loaded(std::uint64_t address, std::uint64_t len) const {
    for (const Elf64_Phdr& load : loads_) {
      if (address < load.p_vaddr) continue;
      const std::uint64_t from = address - load.p_vaddr;
      if (from <= load.p_filesz && len <= load.p_filesz - from) return load.p_offset + from;
    }
    return std::nullopt;
  }

  bool dynamic() {
    if (!dynamic_) return bad("it has no dynamic section");
    const std::uint64_t count = dynamic_->p_filesz / sizeof(Elf64_Dyn);
    if (loaded(dynamic_->p_vaddr, dynamic_->p_filesz) != dynamic_->p_offset) {
      return bad("its dynamic section is not where it is loaded from");
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i == kMaxDynamic) return bad("its dynamic section is too long");
      const auto entry = at<Elf64_Dyn>(dynamic_->p_offset + i * sizeof(Elf64_Dyn));
      if (entry.d_tag == DT_NULL) return true;
      if (entry.d_tag == DT_NEEDED) {
        if (needed_.size() == kMaxNeeded) return bad("it needs too many libraries");
        needed_.push_back(entry.d_un.d_val);
      } else {
        tags_[entry.d_tag] = entry.d_un.d_val;
      }
    }
    return bad("its dynamic section has no end");
  }

  [[nodiscard]] std::optional<std::uint64_t> tag(std::int64_t which) const {
    const auto found = tags_.find(which);
    if (found == tags_.end()) return std::nullopt;
    return found->second;
  }

  /// A name in the string table; nothing if it is not inside.
  [[nodiscard]] std::optional<std::string> name(std::uint64_t offset) const {
    if (offset >= names_.size()) return std::nullopt;
    return std::string(names_.data() + offset);  // the table ends in NUL
  }

  bool strings() {
    const auto address = tag(DT_STRTAB);
    const auto len = tag(DT_STRSZ);
    if (!address || !len || *len == 0) return bad("it has no table of names");
    const auto offset = loaded(*address, *len);
    if (!offset || data_[*offset + *len - 1] != '\0') {
      return bad("its table of names is not whole");
    }
    names_ = std::string_view(data_ + *offset, *len);
    for (const std::uint64_t at : needed_) {
      auto text = name(at);
      if (!text || text->empty()) return bad("a library it needs has no name");
      out_.needed.push_back(*std::move(text));
    }
    for (const std::int64_t which : {DT_SONAME, DT_RPATH, DT_RUNPATH}) {
      const auto at = tag(which);
      if (at && !name(*at)) return bad("a name is outside of its table of names");
      if (at && which == DT_SONAME) out_.soname = *name(*at);
    }
    return true;
  }

  /// Number of symbols by the hash table a loader uses.
  [[nodiscard]] std::optional<std::uint64_t> symbol_count() const {
    if (const auto address = tag(DT_GNU_HASH)) return count_by_gnu_hash(*address);
    if (const auto address = tag(DT_HASH)) {
      const auto head = loaded(*address, 8);
      if (!head) return std::nullopt;
      const std::uint64_t buckets = at<std::uint32_t>(*head);
      const std::uint64_t chains = at<std::uint32_t>(*head + 4);
      if (buckets == 0 || !loaded(*address, 8 + 4 * (buckets + chains))) return std::nullopt;
      return chains;
    }
    return 0;
  }

  [[nodiscard]] std::optional<std::uint64_t> count_by_gnu_hash(std::uint64_t address) const {
    const auto head = loaded(address, 16);
    if (!head) return std::nullopt;
    const std::uint64_t buckets = at<std::uint32_t>(*head);
    const std::uint64_t first = at<std::uint32_t>(*head + 4);
    const std::uint64_t blooms = at<std::uint32_t>(*head + 8);
    if (buckets == 0 || !std::has_single_bit(blooms)) return std::nullopt;
    const std::uint64_t fixed = 16 + 8 * blooms + 4 * buckets;
    if (!loaded(address, fixed)) return std::nullopt;
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < buckets; ++i) {
      last = std::max<std::uint64_t>(last, at<std::uint32_t>(*head + 16 + 8 * blooms + 4 * i));
    }
    if (last < first) return first;
    // The chain of the highest bucket ends at the first hash whose lowest bit is set.
    for (std::uint64_t i = last;; ++i) {
      const auto link = loaded(address + fixed + 4 * (i - first), 4);
      if (!link) return std::nullopt;
      if ((at<std::uint32_t>(*link) & 1) != 0) return i + 1;
    }
  }

  bool symbols() {
    const auto count = symbol_count();
    if (!count) return bad("its table of symbol hashes is not whole");
    const auto address = tag(DT_SYMTAB);
    if (!address) return bad("it has no table of symbols");
    const auto offset = loaded(*address, *count * sizeof(Elf64_Sym));
    if (!offset) return bad("its table of symbols is not whole");
    for (std::uint64_t i = 0; i < *count; ++i) {
      const auto symbol = at<Elf64_Sym>(*offset + i * sizeof(Elf64_Sym));
      if (symbol.st_name >= names_.size()) return bad("a symbol's name is outside of its names");
      const bool placed =
          symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS && ELF64_ST_TYPE(symbol.st_info) != STT_TLS;
      if (placed && !in_span(symbol.st_value)) {
        return bad("a symbol's address is outside of what is loaded");
      }
      if (list_functions_ && placed && is_global_function(symbol)) {
        const std::string_view name = names_.substr(symbol.st_name);
        out_.functions.emplace_back(name.substr(0, name.find('\0')));
      }
    }
    return true;
  }

  static bool is_global_function(const Elf64_Sym& symbol) {
    return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL;
  }

  /// Between the first and the last loaded byte; end markers may lie one past it.
  [[nodiscard]] bool in_span(std::uint64_t address) const {
    return address >= loads_.front().p_vaddr && address <= loads_.back().p_vaddr + loads_.back().p_memsz;
  }

  /// A table that the dynamic section gives by address and size.
  bool table(std::int64_t address_tag, std::int64_t size_tag, std::uint64_t entry) {
    const auto address = tag(address_tag);
    const auto len = tag(size_tag);
    if (!address && (!len || *len == 0)) return true;
    if (!address || !len || *len % entry != 0 || !loaded(*address, *len)) {
      return bad("a table of its dynamic section is not whole");
    }
    return true;
  }

  bool relocations(std::int64_t address_tag, std::int64_t size_tag) {
    if (!table(address_tag, size_tag, sizeof(Elf64_Rela))) return false;
    const auto address = tag(address_tag);
    if (!address) return true;
    const std::uint64_t count = *tag(size_tag) / sizeof(Elf64_Rela);
    const std::uint64_t offset = *loaded(*address, *tag(size_tag));
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto rela = at<Elf64_Rela>(offset + i * sizeof(Elf64_Rela));
      if (!in_loads_or_empty(rela.r_offset)) {
        return bad("a relocation writes outside of what is loaded");
      }
    }
    return true;
  }

  /// 0 is a relocation of type NONE.
  [[nodiscard]] bool in_loads_or_empty(std::uint64_t address) const { return address == 0 || starts_in_load(address); }

  bool tables() {
    if (tag(DT_RELAENT).value_or(sizeof(Elf64_Rela)) != sizeof(Elf64_Rela) ||
        tag(DT_SYMENT).value_or(sizeof(Elf64_Sym)) != sizeof(Elf64_Sym)) {
      return bad("entries of its dynamic tables have an unknown size");
    }
    constexpr std::int64_t kRelrSize = 35;  // DT_RELRSZ and DT_RELR, newer than some elf.h
    constexpr std::int64_t kRelr = 36;
    if (!relocations(DT_RELA, DT_RELASZ) || !table(kRelr, kRelrSize, 8)) return false;
    if (tag(DT_JMPREL) && tag(DT_PLTREL).value_or(DT_RELA) == DT_RELA && !relocations(DT_JMPREL, DT_PLTRELSZ)) {
      return false;
    }
    if (!table(DT_INIT_ARRAY, DT_INIT_ARRAYSZ, 8) || !table(DT_FINI_ARRAY, DT_FINI_ARRAYSZ, 8)) {
      return false;
    }
    for (const std::int64_t which : {DT_INIT, DT_FINI, DT_PLTGOT}) {
      const auto address = tag(which);
      if (address && !starts_in_load(*address)) {
        return bad("an address of its dynamic section is outside of what is loaded");
      }
    }
    for (const std::int64_t which : {DT_VERSYM, DT_VERNEED, DT_VERDEF}) {
      const auto address = tag(which);
      if (address && !loaded(*address, 2)) {
        return bad("a version table of its dynamic section is outside of what is loaded");
      }
    }
    return true;
  }

  const char* data_;
  std::size_t size_;
  bool list_functions_;
  ElfCheck out_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> loads_;
  std::optional<Elf64_Phdr> tls_;
  std::optional<Elf64_Phdr> relro_;
  std::optional<Elf64_Phdr> dynamic_;
  std::map<std::int64_t, std::uint64_t> tags_;
  std::vector<std::uint64_t> needed_;
  std::string_view names_;
};

}  // namespace

ElfCheck check_elf(const void* data, std::size_t size) {
  return Checker(data, size).elf();
}

ElfCheck check_shared_object(const void* data, std::size_t size, bool list_functions) {
  return Checker(data, size, list_functions).shared_object();
}

std::string elf_extent_problem(std::string_view bytes, std::size_t padding) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.e_shoff == 0) return "it has no sections";
  const auto end_of = [](std::uint64_t offset, std::uint64_t len) { return offset + len; };
  std::uint64_t end = end_of(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  if (header.e_phnum != 0) {
    end = std::max(end, end_of(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)));
  }
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS) {
      end = std::max(end, end_of(section.sh_offset, section.sh_size));
    }
    if (section.sh_link >= header.e_shnum) return "a section refers to one that is not there";
  }
  return bytes.size() - end < padding ? "" : "it has bytes after its end: it is damaged";
}

std::uint16_t host_elf_machine() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#elif defined(__riscv)
  return EM_RISCV;
#elif defined(__powerpc64__)
  return EM_PPC64;
#else
  return EM_NONE;
#endif
}

std::string elf_machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "AArch64";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "PowerPC64";
    default:
      return "machine " + std::to_string(machine);
  }
}

}  // namespace tlcb
