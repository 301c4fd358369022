// SPDX-License-Identifier: MIT
// What device code says of itself: archs, kernels with their registers and memory, variables.
#include <elf.h>

#include <cstring>
#include <map>
#include <optional>

#include "cuda/binary_check.hpp"
#include "cuda/cuda.hpp"
#include "cuda/metadata.hpp"
#include "cuda/ptx.hpp"
#include "support/json.hpp"
#include "support/members.hpp"

namespace tlcb::cuda {
namespace {

/// In .nv.info: {u8 format, u8 attribute, u16 size, size bytes}; format 4 is the one with bytes.
constexpr std::uint8_t kInfoBytes = 4;
constexpr std::uint8_t kInfoFrameSize = 0x11;
constexpr std::uint8_t kInfoRegisters = 0x2f;
/// In a symbol's st_other: a kernel, not a function that kernels call.
constexpr unsigned char kEntry = 0x10;

struct Kernel {
  std::uint32_t registers = 0;
  std::uint64_t shared = 0;
  std::uint32_t stack = 0;
};

/// A checked cubin: its sections and symbols are inside its bytes, what they say need not be true.
class Cubin {
 public:
  explicit Cubin(std::string_view bytes) : bytes_(bytes) {
    std::memcpy(&header_, bytes.data(), sizeof header_);
    names_ = content(header_.e_shstrndx);
    for (std::size_t i = 0; i < header_.e_shnum; ++i) {
      const Elf64_Shdr found = section(i);
      if (found.sh_type == SHT_SYMTAB) read_symbols(i, found.sh_link);
    }
    for (std::size_t i = 0; i < header_.e_shnum; ++i) read_shared(i);
    for (std::size_t i = 0; i < header_.e_shnum; ++i) read_info(i);
  }

  [[nodiscard]] const std::map<std::string, Kernel>& kernels() const { return kernels_; }
  [[nodiscard]] const std::vector<std::string>& variables() const { return variables_; }

 private:
  [[nodiscard]] Elf64_Shdr section(std::size_t i) const {
    Elf64_Shdr out{};
    if (i < header_.e_shnum) std::memcpy(&out, bytes_.data() + header_.e_shoff + i * sizeof out, sizeof out);
    return out;
  }

  [[nodiscard]] std::string_view content(std::size_t i) const {
    const Elf64_Shdr found = section(i);
    if (found.sh_type == SHT_NULL || found.sh_type == SHT_NOBITS) return {};
    return bytes_.substr(found.sh_offset, found.sh_size);
  }

  static std::string text_at(std::string_view table, std::size_t at) {
    if (at >= table.size()) return {};
    const std::string_view rest = table.substr(at);
    return std::string(rest.substr(0, rest.find('\0')));
  }

  void read_shared(std::size_t i) {
    const Elf64_Shdr found = section(i);
    const std::string name = text_at(names_, found.sh_name);
    constexpr std::string_view kPrefix = ".nv.shared.";
    if (!name.starts_with(kPrefix)) return;
    const auto kernel = kernels_.find(name.substr(kPrefix.size()));
    if (kernel != kernels_.end()) kernel->second.shared = found.sh_size;
  }

  void read_symbols(std::size_t table, std::size_t strings) {
    const std::string_view symbols = content(table);
    const std::string_view names = content(strings);
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
      const std::string name = text_at(names, symbol.st_name);
      symbols_.push_back(name);
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      if (type == STT_FUNC && (symbol.st_other & kEntry) != 0) kernels_[name];
      // Names with a dot are the compiler's own.
      if (type == STT_OBJECT && !name.empty() && name[0] != '.') variables_.push_back(name);
    }
  }

  /// Registers and stack of each function, by the number of its symbol.
  void read_info(std::size_t i) {
    if (text_at(names_, section(i).sh_name) != ".nv.info") return;
    std::string_view info = content(i);
    while (info.size() >= 4) {
      const auto format = static_cast<std::uint8_t>(info[0]);
      const auto attribute = static_cast<std::uint8_t>(info[1]);
      std::uint16_t size = 0;
      std::memcpy(&size, info.data() + 2, sizeof size);
      info.remove_prefix(4);
      if (format != kInfoBytes) continue;
      if (size > info.size()) return;
      if (size == 8) read_number(attribute, info);
      info.remove_prefix(size);
    }
  }

  void read_number(std::uint8_t attribute, std::string_view info) {
    std::uint32_t symbol = 0;
    std::uint32_t number = 0;
    std::memcpy(&symbol, info.data(), sizeof symbol);
    std::memcpy(&number, info.data() + sizeof symbol, sizeof number);
    const auto kernel = symbol < symbols_.size() ? kernels_.find(symbols_[symbol]) : kernels_.end();
    if (kernel == kernels_.end()) return;
    if (attribute == kInfoFrameSize) kernel->second.stack = number;
    if (attribute == kInfoRegisters) kernel->second.registers = number;
  }

  std::string_view bytes_;
  Elf64_Ehdr header_{};
  std::string_view names_;
  std::map<std::string, Kernel> kernels_;
  std::vector<std::string> symbols_;
  std::vector<std::string> variables_;
};

std::string kernels_json(const Cubin& cubin) {
  std::string out;
  for (const auto& [name, kernel] : cubin.kernels()) {
    out += (out.empty() ? "" : ", ") + (R"({"name": )" + json_text(name)) + R"(, "registers": )" +
           std::to_string(kernel.registers) + R"(, "shared_bytes": )" + std::to_string(kernel.shared) +
           R"(, "stack_bytes": )" + std::to_string(kernel.stack) + "}";
  }
  return "[" + out + "]";
}

std::string entries_json(const PtxFacts& facts) {
  std::string out;
  for (const std::string& name : facts.entries) {
    out += (out.empty() ? "" : ", ") + (R"({"name": )" + json_text(name)) + "}";
  }
  return "[" + out + "]";
}

std::string describe_binary(std::string_view bytes) {
  const Binary binary = check_binary(bytes);
  std::string out = R"({"format": )" + json_text(format_name(binary.format));
  if (!binary.ok()) return out + R"(, "problem": )" + json_text(binary.problem) + "}";
  std::vector<std::string> archs;
  for (const Image& image : binary.images) archs.push_back(image.arch.text());
  if (!archs.empty()) out += R"(, "archs": )" + json_list(archs);
  if (binary.format == Format::cubin) {
    const Cubin cubin(bytes);
    out += R"(, "kernels": )" + kernels_json(cubin) + R"(, "symbols": )" + json_list(cubin.variables());
  }
  if (binary.format == Format::ptx) {
    const PtxFacts facts = read_ptx(binary.images.front().bytes);
    out += R"(, "ptx_version": )" + json_text(facts.version) + R"(, "kernels": )" + entries_json(facts);
  }
  return out + "}";
}

}  // namespace

std::string describe(State& state, const tlc_artifact* artifact) {
  return describe_device_code(state.host, artifact, describe_binary);
}

}  // namespace tlcb::cuda
