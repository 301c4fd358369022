// SPDX-License-Identifier: MIT
#include "opencl/binary_check.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdint>

#include "opencl/pocl_binary.hpp"
#include "support/elf_check.hpp"
#include "support/tagged_fields.hpp"

namespace tlcb::opencl {
namespace {

constexpr std::uint32_t kSpirvMagic = 0x07230203;
constexpr std::size_t kWord = 4;
constexpr std::size_t kSpirvHeader = 5 * kWord;

bool is_spirv(std::string_view bytes) {
  std::uint32_t magic = 0;
  return take_number(bytes, magic) && magic == kSpirvMagic;
}

/// PTX of NVIDIA's driver, with or without a NUL at its end.
bool is_text(std::string_view bytes) {
  if (!bytes.empty() && bytes.back() == '\0') bytes.remove_suffix(1);
  const auto in_text = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= ' ' || c == '\n' || c == '\r' || c == '\t';
  };
  return !bytes.empty() && std::all_of(bytes.begin(), bytes.end(), in_text);
}

bool is_elf64(std::string_view bytes) {
  return bytes.starts_with(ELFMAG) && bytes.size() > EI_CLASS && bytes[EI_CLASS] == ELFCLASS64;
}

}  // namespace

Binary check_binary(std::string_view bytes) {
  Binary out;
  if (bytes.empty()) {
    out.problem = "it is empty";
  } else if (is_pocl_binary(bytes)) {
    out.format = Format::pocl;
    PoclBinary pocl = check_pocl_binary(bytes);
    out.problem = pocl.problem;
    out.kernels = std::move(pocl.kernels);
  } else if (is_elf64(bytes)) {
    out.format = Format::elf;
    out.problem = check_elf(bytes.data(), bytes.size()).problem;
  } else if (is_spirv(bytes)) {
    out.format = Format::spirv;
    out.problem = spirv_problem(bytes);
  } else if (is_text(bytes)) {
    out.format = Format::text;
  }
  return out;
}

std::string format_name(Format format) {
  switch (format) {
    case Format::pocl:
      return "PoCL binary";
    case Format::elf:
      return "ELF";
    case Format::text:
      return "text";
    case Format::spirv:
      return "SPIR-V";
    case Format::other:
      break;
  }
  return "driver's own";
}

std::string spirv_problem(std::string_view bytes) {
  if (!is_spirv(bytes)) return "it is no SPIR-V of this machine's byte order";
  if (bytes.size() % kWord != 0 || bytes.size() < kSpirvHeader) return "it is cut: SPIR-V consists of words of 4 bytes";
  bytes.remove_prefix(kSpirvHeader);
  while (!bytes.empty()) {
    std::uint32_t first = 0;
    std::string_view rest = bytes;
    (void)take_number(rest, first);
    const std::size_t size = kWord * (first >> 16);
    if (size == 0 || size > bytes.size()) return "an instruction in it reaches beyond its end: it is cut or damaged";
    bytes.remove_prefix(size);
  }
  return {};
}

}  // namespace tlcb::opencl
