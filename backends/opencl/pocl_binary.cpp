// SPDX-License-Identifier: MIT
// As PoCL 1.8 to 5 write them, format versions 9 to 11. All numbers are little-endian; a text is u32 length and bytes;
// a file is two texts, its path below a folder of PoCL's and its content.
//
//   header:  8 bytes "poclbin\0", u64 hash of the device, u32 version, u32 kernels, u64 flags (bit 1: variables of the
//            program, from version 10 on), u32 groups of files, 41 bytes of a hash as text;
//            with variables: u64 their bytes
//   group:   u64 bytes of the files, the files
//   kernel:  u64 bytes of all of it, u64 bytes of its files, u32 bytes of the arguments, text name, u32 arguments,
//            u32 locals, u64 required group size [3], u64 bytes of each local, text attributes, u32 which facts of
//            arguments are there, u32 flags (bit 1: 5 more u32, bit 2: 2 more u32);
//            the arguments: u32 access, u32 address space, u64 qualifiers, u32 type, u32 bytes, text name, text type;
//            the files
#include "opencl/pocl_binary.hpp"

#include <algorithm>
#include <cstddef>

#include "support/elf_check.hpp"
#include "support/tagged_fields.hpp"

namespace tlcb::opencl {
namespace {

constexpr std::string_view kMagic("poclbin\0", 8);
constexpr std::uint32_t kFirstKnown = 9;
constexpr std::uint32_t kVariablesFrom = 10;
constexpr std::uint32_t kLastKnown = 11;
constexpr std::size_t kHashText = 41;
constexpr std::uint64_t kHasVariables = 2;
constexpr std::uint32_t kHasGroupFacts = 2;
constexpr std::uint32_t kHasSubgroupFacts = 4;
/// More than the groups of any device, and the longest path that PoCL has room for, with its folder before it.
constexpr std::uint32_t kMostGroups = 64;
constexpr std::size_t kLongestPath = 2048;

constexpr const char* kCut = "it is cut or damaged";

class Walker {
 public:
  explicit Walker(std::string_view bytes) : rest_(bytes) {}

  PoclBinary run() {
    if (!header()) {
      if (out_.problem.empty()) out_.problem = kCut;
      return std::move(out_);
    }
    if (out_.version < kFirstKnown || out_.version > kLastKnown) return std::move(out_);
    out_.walked = true;
    if (!body() && out_.problem.empty()) out_.problem = kCut;
    if (out_.ok() && !rest_.empty()) out_.problem = "bytes follow its end";
    return std::move(out_);
  }

 private:
  bool header() {
    std::uint64_t device = 0;
    rest_.remove_prefix(kMagic.size());
    if (!take_number(rest_, device) || !take_number(rest_, out_.version)) return false;
    if (out_.version < kFirstKnown || out_.version > kLastKnown) return true;
    std::uint64_t flags = 0;
    if (!take_number(rest_, kernels_) || !take_number(rest_, flags) || !take_number(rest_, groups_)) return false;
    if (rest_.size() < kHashText) return false;
    const std::string_view hash = rest_.substr(0, kHashText);
    // It names a folder of PoCL's cache: 40 letters, one of which may be the slash of its two levels.
    const auto in_name = [](char c) { return (c >= 'A' && c <= 'P') || c == '/'; };
    if (hash.back() != '\0' || !std::all_of(hash.begin(), hash.end() - 1, in_name) || hash.front() == '/') {
      out_.problem = "it names a folder that PoCL would not";
      return false;
    }
    rest_.remove_prefix(kHashText);
    std::uint64_t variables = 0;
    return out_.version < kVariablesFrom || (flags & kHasVariables) == 0 || take_number(rest_, variables);
  }

  bool body() {
    if (kernels_ == 0) out_.problem = "it has no kernel";
    if (groups_ > kMostGroups || !out_.ok()) return false;
    for (std::uint32_t i = 0; i < groups_; ++i) {
      std::uint64_t size = 0;
      if (!take_number(rest_, size) || size == 0 || size > rest_.size() || !files(rest_.substr(0, size))) return false;
      rest_.remove_prefix(size);
    }
    for (std::uint32_t i = 0; i < kernels_; ++i) {
      if (!kernel()) return false;
    }
    return true;
  }

  bool kernel() {
    std::string_view head = rest_;
    std::uint64_t all = 0;
    std::uint64_t of_files = 0;
    if (!take_number(head, all) || !take_number(head, of_files)) return false;
    if (all > rest_.size() || of_files > all) return false;
    std::string_view facts = rest_.substr(0, all - of_files);
    if (!kernel_facts(facts) || !files(rest_.substr(all - of_files, of_files))) return false;
    rest_.remove_prefix(all);
    return true;
  }

  /// All that is said of a kernel, to its end.
  bool kernel_facts(std::string_view facts) {
    constexpr std::size_t kSizes = 8 + 8;
    if (facts.size() < kSizes) return false;
    facts.remove_prefix(kSizes);
    std::uint32_t of_arguments = 0;
    std::string_view name;
    std::uint32_t arguments = 0;
    std::uint32_t locals = 0;
    if (!take_number(facts, of_arguments) || !take_text(facts, name) || name.empty()) return false;
    if (!take_number(facts, arguments) || !take_number(facts, locals)) return false;
    constexpr std::size_t kGroupSize = 24;
    if (!skip(facts, kGroupSize) || !skip(facts, std::uint64_t{8} * locals)) return false;
    std::string_view attributes;
    if (!take_text(facts, attributes) || !skip(facts, 4) || !more_facts(facts)) return false;
    KernelInfo kernel;
    kernel.name = name;
    if (facts.size() != of_arguments || !read_arguments(facts, arguments, kernel)) return false;
    out_.kernels.push_back(std::move(kernel));
    return true;
  }

  static bool more_facts(std::string_view& facts) {
    constexpr std::size_t kSubgroupFacts = 8;
    constexpr std::size_t kGroupFacts = 20;
    std::uint32_t flags = 0;
    if (!take_number(facts, flags)) return false;
    if ((flags & kHasSubgroupFacts) != 0 && !skip(facts, kSubgroupFacts)) return false;
    return (flags & kHasGroupFacts) == 0 || skip(facts, kGroupFacts);
  }

  /// Each to the end of all.
  static bool read_arguments(std::string_view facts, std::uint32_t count, KernelInfo& into) {
    constexpr std::size_t kNumbers = 8 + 4 + 4;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t access = 0;
      std::uint32_t space = 0;
      std::string_view name;
      std::string_view type;
      if (!take_number(facts, access) || !take_number(facts, space) || !skip(facts, kNumbers)) return false;
      if (!take_text(facts, name) || !take_text(facts, type)) return false;
      into.arguments.push_back(argument_text(space, type, name));
    }
    return facts.empty();
  }

  bool files(std::string_view bytes) {
    while (!bytes.empty()) {
      std::string_view path;
      std::string_view content;
      if (!take_text(bytes, path) || !take_text(bytes, content)) return false;
      if (!stays_inside(path)) {
        out_.problem = "a path in it leads out of PoCL's folder";
        return false;
      }
      // PoCL loads these as they are.
      if (!path.ends_with(".so")) continue;
      const ElfCheck elf = check_shared_object(content.data(), content.size());
      if (!elf.ok()) {
        out_.problem = "of the code in it: " + elf.problem;
        return false;
      }
    }
    return true;
  }

  static bool stays_inside(std::string_view path) {
    if (path.size() > kLongestPath || path.size() < 2 || path.front() != '/' || path.back() == '/') return false;
    if (path.find('\0') != std::string_view::npos) return false;
    const std::string guarded = std::string(path) + "/";
    return guarded.find("/../") == std::string::npos && guarded.find("/./") == std::string::npos;
  }

  static bool take_text(std::string_view& bytes, std::string_view& text) {
    std::uint32_t size = 0;
    if (!take_number(bytes, size) || size > bytes.size()) return false;
    text = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return true;
  }

  static bool skip(std::string_view& bytes, std::uint64_t count) {
    if (count > bytes.size()) return false;
    bytes.remove_prefix(count);
    return true;
  }

  std::string_view rest_;
  std::uint32_t kernels_ = 0;
  std::uint32_t groups_ = 0;
  PoclBinary out_;
};

}  // namespace

bool is_pocl_binary(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

PoclBinary check_pocl_binary(std::string_view bytes) {
  return Walker(bytes).run();
}

}  // namespace tlcb::opencl
