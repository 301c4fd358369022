// SPDX-License-Identifier: MIT
#include "tlc_test.hpp"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include <optional>
#include <string>
#include <vector>

#include "port/elf_id.hpp"
#include "port/file.hpp"

using namespace tlc;
using namespace tlc::port;

namespace {

using Id = std::optional<std::vector<std::uint8_t>>;

/// A file in memory with this content.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content) : fd_(::memfd_create("elf", MFD_CLOEXEC)) {
    assert_true(static_cast<bool>(fd_));
    assert_true(pwrite_full(fd_.get(), content.data(), content.size(), 0).ok());
  }
  [[nodiscard]] int get() const { return fd_.get(); }

 private:
  Fd fd_;
};

Id id_of(const std::string& content) {
  return build_id(MemoryFile(content).get());
}

template <typename T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_note(std::string& to, std::uint32_t type, const std::string& name, const std::string& content,
                 std::size_t align) {
  append(to, Elf64_Nhdr{static_cast<Elf64_Word>(name.size()), static_cast<Elf64_Word>(content.size()), type});
  to += name;
  to.resize((to.size() + align - 1) / align * align);
  to += content;
  to.resize((to.size() + align - 1) / align * align);
}

const std::string kGnu("GNU\0", 4);
const std::string kId("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a", 10);
const std::vector<std::uint8_t> kIdBytes(kId.begin(), kId.end());

/// An ELF file that holds a PT_LOAD and a PT_NOTE with these notes.
std::string elf_with(const std::string& notes, std::uint64_t align = 4) {
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  Elf64_Phdr note{};
  note.p_type = PT_NOTE;
  note.p_offset = sizeof header + 2 * sizeof load;
  note.p_filesz = notes.size();
  note.p_align = align;
  std::string file;
  append(file, header);
  append(file, load);
  append(file, note);
  return file + notes;
}

std::string good_elf() {
  std::string notes;
  append_note(notes, NT_GNU_BUILD_ID, "stapsdt", "not it", 4);
  append_note(notes, NT_GNU_ABI_TAG, kGnu, "0123456789abcdef", 4);
  append_note(notes, NT_GNU_BUILD_ID, kGnu, kId, 4);
  return elf_with(notes);
}

template <typename T>
std::string with(std::string file, std::size_t offset, T value) {
  memcpy(file.data() + offset, &value, sizeof value);
  return file;
}

void the_id_is_found_among_other_notes(void**) {
  assert_true(id_of(good_elf()) == Id(kIdBytes));
  std::string notes;
  append_note(notes, NT_GNU_PROPERTY_TYPE_0, kGnu, "0123456789ab", 8);
  append_note(notes, NT_GNU_BUILD_ID, kGnu, kId, 8);
  assert_true(id_of(elf_with(notes, 8)) == Id(kIdBytes));
}

void files_without_an_id_have_none(void**) {
  assert_false(id_of("").has_value());
  assert_false(id_of("#!/bin/sh\n").has_value());
  assert_false(id_of(elf_with("")).has_value());
  assert_false(build_id(-1).has_value());
  const std::string good = good_elf();
  assert_false(id_of(with<char>(good, EI_CLASS, ELFCLASS32)).has_value());
  assert_false(id_of(with<char>(good, EI_DATA, ELFDATA2MSB)).has_value());
  std::string notes;
  append_note(notes, NT_GNU_BUILD_ID, kGnu, "", 4);
  assert_false(id_of(elf_with(notes)).has_value());
  notes.clear();
  append_note(notes, NT_GNU_BUILD_ID, kGnu, std::string(65, 'x'), 4);
  assert_false(id_of(elf_with(notes)).has_value());
}

void numbers_that_lie_give_no_id(void**) {
  const std::string good = good_elf();
  constexpr std::size_t kNote = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
  for (const std::uint64_t n : {UINT64_MAX, UINT64_MAX - 55, UINT64_MAX / 2, UINT64_MAX / 2 - 56,
                                std::uint64_t{1} << 40U, std::uint64_t{good.size()}}) {
    assert_false(id_of(with(good, offsetof(Elf64_Ehdr, e_phoff), n)).has_value());
    assert_false(id_of(with(good, kNote + offsetof(Elf64_Phdr, p_offset), n)).has_value());
    assert_false(id_of(with(good, kNote + offsetof(Elf64_Phdr, p_filesz), n)).has_value());
  }
  assert_false(id_of(with<std::uint16_t>(good, offsetof(Elf64_Ehdr, e_phnum), 65535)).has_value());
  assert_false(id_of(with<std::uint16_t>(good, offsetof(Elf64_Ehdr, e_phnum), 0)).has_value());
  assert_false(id_of(with<std::uint16_t>(good, offsetof(Elf64_Ehdr, e_phentsize), 1)).has_value());
  const std::size_t first_note = kNote + sizeof(Elf64_Phdr);
  for (const std::uint32_t n : {UINT32_MAX, UINT32_MAX - 3, std::uint32_t{1} << 31U}) {
    assert_false(id_of(with(good, first_note, n)).has_value());
    assert_false(id_of(with(good, first_note + 4, n)).has_value());
  }
  // An id that says to be longer than its segment.
  std::string notes;
  append_note(notes, NT_GNU_BUILD_ID, kGnu, kId, 4);
  assert_true(id_of(elf_with(notes)) == Id(kIdBytes));
  assert_false(id_of(with<std::uint32_t>(elf_with(notes), first_note + 4, 64)).has_value());
}

std::string system_program() {
  auto text = read_file_at(AT_FDCWD, "/bin/true", 64U << 20U);
  assert_true(text.ok());
  return *text;
}

/// Whatever comes back, it is an id in shape.
void assert_in_shape(const Id& id) {
  assert_true(!id || (!id->empty() && id->size() <= 64));
}

void every_truncation_is_survived(void**) {
  for (const std::string& file : {system_program(), good_elf()}) {
    const Id whole = id_of(file);
    const MemoryFile copy(file);
    for (std::size_t len = std::min<std::size_t>(file.size(), 4096); len-- > 0;) {
      assert_int_equal(::ftruncate(copy.get(), static_cast<off_t>(len)), 0);
      const Id id = build_id(copy.get());
      assert_true(!id || id == whole);  // never a part of one
    }
  }
}

void every_flipped_byte_is_survived(void**) {
  for (const std::string& file : {system_program(), good_elf()}) {
    const MemoryFile copy(file);
    const std::size_t header_bytes = std::min<std::size_t>(file.size(), 4096);
    for (std::size_t at = 0; at < header_bytes; ++at) {
      for (const unsigned flip : {0x01U, 0x02U, 0x04U, 0x08U, 0x10U, 0x20U, 0x40U, 0x80U, 0xffU}) {
        const char byte = static_cast<char>(static_cast<unsigned char>(file[at]) ^ flip);
        assert_true(pwrite_full(copy.get(), &byte, 1, static_cast<off_t>(at)).ok());
        assert_in_shape(build_id(copy.get()));
      }
      assert_true(pwrite_full(copy.get(), &file[at], 1, static_cast<off_t>(at)).ok());
    }
    assert_true(build_id(copy.get()) == id_of(file));
  }
}

void flips_and_truncations_together_are_survived(void**) {
  const std::string file = system_program();
  const std::size_t header_bytes = std::min<std::size_t>(file.size(), 1024);
  for (std::size_t len = 1; len < 4096 && len < file.size(); len += 61) {
    const MemoryFile copy(file.substr(0, len));
    for (std::size_t at = 0; at < header_bytes && at < len; ++at) {
      const char byte = static_cast<char>(~file[at]);
      assert_true(pwrite_full(copy.get(), &byte, 1, static_cast<off_t>(at)).ok());
      assert_in_shape(build_id(copy.get()));
      assert_true(pwrite_full(copy.get(), &file[at], 1, static_cast<off_t>(at)).ok());
    }
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_id_is_found_among_other_notes),
      cmocka_unit_test(files_without_an_id_have_none),
      cmocka_unit_test(numbers_that_lie_give_no_id),
      cmocka_unit_test(every_truncation_is_survived),
      cmocka_unit_test(every_flipped_byte_is_survived),
      cmocka_unit_test(flips_and_truncations_together_are_survived),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
