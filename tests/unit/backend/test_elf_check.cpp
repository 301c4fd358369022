// SPDX-License-Identifier: MIT
#include "tlc_test.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "port/dynlib.hpp"
#include "support/elf_check.hpp"

using namespace tlcb;

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A real shared object: the one cmocka comes from.
const std::string& sample() {
  static const std::string bytes =
      read_file(*tlc::port::path_of_address(reinterpret_cast<const void*>(&_cmocka_run_group_tests)));
  return bytes;
}

ElfCheck check(const std::string& bytes) {
  return check_shared_object(bytes.data(), bytes.size());
}

/// Checks a copy that ends where its heap block ends, so that a sanitizer sees a read beyond.
bool passes(const char* data, std::size_t size) {
  const std::string exact(data, size);
  return check(exact).ok() && check_elf(exact.data(), exact.size()).ok();
}

void real_libraries_pass(void**) {
  const ElfCheck good = check(sample());
  assert_string_equal(good.problem.c_str(), "");
  assert_int_equal(good.machine, host_elf_machine());
  assert_true(good.soname.find("libcmocka") == 0);
  assert_false(good.needed.empty());
  for (const void* address : {reinterpret_cast<const void*>(&::strlen), reinterpret_cast<const void*>(&::dlopen),
                              reinterpret_cast<const void*>(&std::terminate)}) {
    const std::string path = *tlc::port::path_of_address(address);
    assert_string_equal(check(read_file(path)).problem.c_str(), "");
  }
}

void other_files_get_a_reason(void**) {
  assert_string_equal(check("").problem.c_str(), "it is empty");
  assert_true(check("\x7f"
                    "ELF")
                  .problem.find("too short") != std::string::npos);
  assert_true(check(std::string(100, 'x')).problem.find("magic") != std::string::npos);
  assert_true(check(std::string(100, '\0')).problem.find("magic") != std::string::npos);
  std::string bytes = sample();
  bytes[EI_CLASS] = ELFCLASS32;
  assert_true(check(bytes).problem.find("64-bit") != std::string::npos);
  bytes = sample();
  bytes[offsetof(Elf64_Ehdr, e_type)] = ET_REL;
  assert_true(check(bytes).problem.find("relocatable") != std::string::npos);
  assert_string_equal(elf_machine_name(EM_AARCH64).c_str(), "AArch64");
  assert_string_equal(elf_machine_name(EM_AMDGPU).c_str(), "machine 224");
}

void every_truncation_is_found(void**) {
  const std::string& bytes = sample();
  for (std::size_t size = 0; size < bytes.size(); size += 97) {
    assert_true_msg(!passes(bytes.data(), size), "%zu of %zu bytes passed", size, bytes.size());
  }
  assert_false(passes(bytes.data(), bytes.size() - 1));
}

void no_damage_makes_it_crash(void**) {
  std::mt19937_64 random(20240607);
  const std::string& whole = sample();
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = whole;
    const int flips = 1 + static_cast<int>(random() % 16);
    for (int i = 0; i < flips; ++i) {
      // Half of the damage goes where the structures are.
      const std::size_t at = random() % 2 != 0 ? random() % 4096 : random() % bytes.size();
      bytes[at] = static_cast<char>(random());
    }
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    if (!passes(bytes.data(), bytes.size())) ++refused;
  }
  assert_true_msg(refused > 1000, "%d", refused);
}

void hostile_numbers_are_refused(void**) {
  const std::string& whole = sample();
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof header);
  const std::uint64_t values[] = {0, 1, 0x7fffffff, 0xffffffff, 1ULL << 40, 1ULL << 63, ~0ULL, ~0ULL - 7};
  // Each 8-byte word of header, program headers and the first dynamic entries, by each value.
  const std::size_t end = header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);
  for (std::size_t at = 16; at + 8 <= end; at += 8) {
    for (const std::uint64_t value : values) {
      std::string bytes = whole;
      std::memcpy(bytes.data() + at, &value, sizeof value);
      (void)passes(bytes.data(), bytes.size());  // must only return
    }
  }
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    const std::size_t at = header.e_phoff + i * sizeof segment;
    std::memcpy(&segment, whole.data() + at, sizeof segment);
    if (segment.p_type == PT_DYNAMIC) {
      for (std::size_t word = 0; word + 8 <= segment.p_filesz; word += 8) {
        for (const std::uint64_t value : values) {
          std::string bytes = whole;
          std::memcpy(bytes.data() + segment.p_offset + word, &value, sizeof value);
          (void)passes(bytes.data(), bytes.size());
        }
      }
    }
    if (segment.p_type != PT_LOAD) continue;
    std::string bytes = whole;
    segment.p_filesz = ~0ULL;
    std::memcpy(bytes.data() + at, &segment, sizeof segment);
    assert_false(passes(bytes.data(), bytes.size()));
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(real_libraries_pass),         cmocka_unit_test(other_files_get_a_reason),
      cmocka_unit_test(every_truncation_is_found),   cmocka_unit_test(no_damage_makes_it_crash),
      cmocka_unit_test(hostile_numbers_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
