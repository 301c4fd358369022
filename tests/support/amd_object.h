/* SPDX-License-Identifier: MIT */
/*
 * The smallest code object that passes for one: an ELF shared object for an AMD GPU, with a payload in a section.
 *
 *   0 header   64 program headers (load, dynamic)   176 dynamic   272 hash   288 symbols   312 names of symbols
 *   320 names of sections   352 section headers (none, .payload, .shstrtab)   544 the payload, to the end
 */
#ifndef TLC_TEST_AMD_OBJECT_H
#define TLC_TEST_AMD_OBJECT_H

#include <elf.h>
#include <string.h>

enum { AMD_OBJECT_PAYLOAD = 544 };

/* Size of an object with a payload of so many bytes; writes it where `out` is not NULL. abi_version: 2 is version 4 of
   the format. */
static inline size_t amd_object(char* out, unsigned flags, unsigned char abi_version, const void* payload, size_t len) {
  enum { kDynamic = 176, kHash = 272, kSymbols = 288, kStrings = 312, kNames = 320, kSections = 352 };
  static const char names[] = "\0.payload\0.shstrtab";
  const size_t size = AMD_OBJECT_PAYLOAD + len;
  if (out == NULL) return size;
  memset(out, 0, AMD_OBJECT_PAYLOAD);
  Elf64_Ehdr header;
  memset(&header, 0, sizeof header);
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = 0x40;
  header.e_ident[EI_ABIVERSION] = abi_version;
  header.e_type = ET_DYN;
  header.e_machine = 224;
  header.e_version = EV_CURRENT;
  header.e_flags = flags;
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  header.e_shoff = kSections;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  memcpy(out, &header, sizeof header);
  Elf64_Phdr segments[2];
  memset(segments, 0, sizeof segments);
  segments[0].p_type = PT_LOAD;
  segments[0].p_filesz = segments[0].p_memsz = size;
  segments[0].p_align = 4096;
  segments[1].p_type = PT_DYNAMIC;
  segments[1].p_offset = segments[1].p_vaddr = kDynamic;
  segments[1].p_filesz = segments[1].p_memsz = 6 * sizeof(Elf64_Dyn);
  segments[1].p_align = 8;
  memcpy(out + header.e_phoff, segments, sizeof segments);
  const Elf64_Dyn dynamic[6] = {{DT_HASH, {kHash}}, {DT_SYMTAB, {kSymbols}}, {DT_STRTAB, {kStrings}},
                                {DT_STRSZ, {1}},    {DT_SYMENT, {24}},       {DT_NULL, {0}}};
  memcpy(out + kDynamic, dynamic, sizeof dynamic);
  const Elf64_Word hash[4] = {1, 1, 0, 0};
  memcpy(out + kHash, hash, sizeof hash);
  memcpy(out + kNames, names, sizeof names);
  Elf64_Shdr sections[3];
  memset(sections, 0, sizeof sections);
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_offset = AMD_OBJECT_PAYLOAD;
  sections[1].sh_size = len;
  sections[2].sh_name = 10;
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = kNames;
  sections[2].sh_size = sizeof names;
  memcpy(out + kSections, sections, sizeof sections);
  if (len != 0) memcpy(out + AMD_OBJECT_PAYLOAD, payload, len);
  return size;
}

#endif
