// SPDX-License-Identifier: MIT
// A reader of three ELF structures that believes none of their numbers.
//
// | structure      | where                | read from it                                    |
// |----------------|----------------------|-------------------------------------------------|
// | ELF header     | 0, 64 bytes          | class, byte order, version, phoff, phnum        |
// | program header | phoff, 56 bytes each | type (4 = note), offset, size, alignment        |
// | note           | in the segment       | name length, descriptor length, type, both texts|
//
// It reads with pread only. A count or size over its cap makes the rest of the file unread, so
// that the work is bounded whatever the file says.
#include "port/elf_id.hpp"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

#include "port/file.hpp"

namespace tlc::port {

namespace {

static_assert(std::endian::native == std::endian::little, "the structures are read as they lie");

constexpr std::size_t kMaxSegments = 256;
constexpr std::size_t kMaxNoteBytes = std::size_t{64} * 1024;
constexpr std::size_t kMaxIdBytes = 64;

using Bytes = std::vector<std::uint8_t>;

/// Exactly `len` bytes at `off`, or false.
bool read_exactly(int fd, void* into, std::size_t len, std::uint64_t off) {
  if (off > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - len) return false;
  auto got = pread_full(fd, into, len, static_cast<off_t>(off));
  return got && *got == len;
}

bool is_our_kind(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_ident[EI_VERSION] == EV_CURRENT &&
         header.e_phentsize == sizeof(Elf64_Phdr);
}

/// `n` rounded up to a multiple of `align`, a power of two.
std::uint64_t rounded(std::uint64_t n, std::uint64_t align) {
  return (n + align - 1) & ~(align - 1);
}

/// The build id among the notes of one segment. Lengths are 32-bit, sums 64-bit: nothing overflows.
std::optional<Bytes> find_in_notes(const Bytes& notes, std::uint64_t align) {
  std::uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr note{};
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::uint64_t name = at + sizeof note;
    const std::uint64_t content = rounded(name + note.n_namesz, align);
    const std::uint64_t end = content + note.n_descsz;
    if (end > notes.size()) return std::nullopt;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
        std::memcmp(notes.data() + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 && note.n_descsz > 0 &&
        note.n_descsz <= kMaxIdBytes) {
      const std::uint8_t* first = notes.data() + content;
      return Bytes(first, first + note.n_descsz);
    }
    at = rounded(end, align);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<std::uint8_t>> build_id(int fd) {
  Elf64_Ehdr header{};
  if (!read_exactly(fd, &header, sizeof header, 0) || !is_our_kind(header)) return std::nullopt;

  std::vector<Elf64_Phdr> segments(std::min<std::size_t>(header.e_phnum, kMaxSegments));
  if (!read_exactly(fd, segments.data(), segments.size() * sizeof(Elf64_Phdr), header.e_phoff)) {
    return std::nullopt;
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNoteBytes) continue;
    Bytes notes(segment.p_filesz);
    if (!read_exactly(fd, notes.data(), notes.size(), segment.p_offset)) continue;
    // Notes are padded to 4 bytes, or to 8 in a segment that says so.
    if (auto id = find_in_notes(notes, segment.p_align == 8 ? 8 : 4)) return id;
  }
  return std::nullopt;
}

}  // namespace tlc::port
