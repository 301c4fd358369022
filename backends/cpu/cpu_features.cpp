// SPDX-License-Identifier: MIT
// Feature tables. A row: the name in a target, which is also the compiler's, and where the
// processor says it has it. On x86-64 that is a bit of CPUID, and the operating system must save
// the registers (XCR0); on AArch64 a bit of the auxiliary vector.
#include "cpu/cpu_features.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#else
#include <sys/utsname.h>
#endif

namespace tlcb::cpu {
namespace {

/// Registers that the operating system must save for a feature to be usable.
enum class State { none, avx, avx512 };
/// Which CPUID answer holds the bit.
enum class Leaf { l1_ecx, l1_edx, l7_ebx, l7_ecx, l7_edx, l71_eax, ext_ecx };

struct X86Feature {
  std::string_view name;
  Leaf leaf;
  int bit;
  State state;
};

constexpr std::array kX86 = {
    X86Feature{"sse3", Leaf::l1_ecx, 0, State::none},
    X86Feature{"pclmul", Leaf::l1_ecx, 1, State::none},
    X86Feature{"ssse3", Leaf::l1_ecx, 9, State::none},
    X86Feature{"fma", Leaf::l1_ecx, 12, State::avx},
    X86Feature{"cx16", Leaf::l1_ecx, 13, State::none},
    X86Feature{"sse4.1", Leaf::l1_ecx, 19, State::none},
    X86Feature{"sse4.2", Leaf::l1_ecx, 20, State::none},
    X86Feature{"movbe", Leaf::l1_ecx, 22, State::none},
    X86Feature{"popcnt", Leaf::l1_ecx, 23, State::none},
    X86Feature{"aes", Leaf::l1_ecx, 25, State::none},
    X86Feature{"avx", Leaf::l1_ecx, 28, State::avx},
    X86Feature{"f16c", Leaf::l1_ecx, 29, State::avx},
    X86Feature{"rdrnd", Leaf::l1_ecx, 30, State::none},
    X86Feature{"bmi", Leaf::l7_ebx, 3, State::none},
    X86Feature{"avx2", Leaf::l7_ebx, 5, State::avx},
    X86Feature{"bmi2", Leaf::l7_ebx, 8, State::none},
    X86Feature{"avx512f", Leaf::l7_ebx, 16, State::avx512},
    X86Feature{"avx512dq", Leaf::l7_ebx, 17, State::avx512},
    X86Feature{"rdseed", Leaf::l7_ebx, 18, State::none},
    X86Feature{"adx", Leaf::l7_ebx, 19, State::none},
    X86Feature{"avx512ifma", Leaf::l7_ebx, 21, State::avx512},
    X86Feature{"avx512cd", Leaf::l7_ebx, 28, State::avx512},
    X86Feature{"sha", Leaf::l7_ebx, 29, State::none},
    X86Feature{"avx512bw", Leaf::l7_ebx, 30, State::avx512},
    X86Feature{"avx512vl", Leaf::l7_ebx, 31, State::avx512},
    X86Feature{"avx512vbmi", Leaf::l7_ecx, 1, State::avx512},
    X86Feature{"avx512vbmi2", Leaf::l7_ecx, 6, State::avx512},
    X86Feature{"gfni", Leaf::l7_ecx, 8, State::none},
    X86Feature{"vaes", Leaf::l7_ecx, 9, State::avx},
    X86Feature{"vpclmulqdq", Leaf::l7_ecx, 10, State::avx},
    X86Feature{"avx512vnni", Leaf::l7_ecx, 11, State::avx512},
    X86Feature{"avx512bitalg", Leaf::l7_ecx, 12, State::avx512},
    X86Feature{"avx512vpopcntdq", Leaf::l7_ecx, 14, State::avx512},
    X86Feature{"avx512bf16", Leaf::l71_eax, 5, State::avx512},
    X86Feature{"sahf", Leaf::ext_ecx, 0, State::none},
    X86Feature{"lzcnt", Leaf::ext_ecx, 5, State::none},
};

/// x86-64 levels: names for sets. Their compiler option is -march=x86-64-<level>.
struct Level {
  std::string_view name;
  std::array<std::string_view, 20> needs;
};
constexpr std::array kLevels = {
    Level{"v2", {"cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"}},
    Level{"v3",
          {"cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2", "avx", "avx2", "bmi", "bmi2", "f16c", "fma",
           "lzcnt", "movbe"}},
    Level{"v4",
          {"cx16", "sahf", "popcnt", "sse3",  "ssse3", "sse4.1",  "sse4.2",   "avx",      "avx2",     "bmi",
           "bmi2", "f16c", "fma",    "lzcnt", "movbe", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
};

struct ArmFeature {
  std::string_view name;
  bool second;  ///< of AT_HWCAP2
  int bit;
};
constexpr std::array kArm = {
    ArmFeature{"aes", false, 3},   ArmFeature{"sha2", false, 6},     ArmFeature{"crc", false, 7},
    ArmFeature{"lse", false, 8},   ArmFeature{"fp16", false, 10},    ArmFeature{"rdma", false, 12},
    ArmFeature{"rcpc", false, 15}, ArmFeature{"dotprod", false, 20}, ArmFeature{"sve", false, 22},
    ArmFeature{"sve2", true, 1},   ArmFeature{"i8mm", true, 13},     ArmFeature{"bf16", true, 14},
};

const Level* level(std::string_view name) {
  for (const Level& row : kLevels) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

template <typename Table>
bool in_table(const Table& table, std::string_view name) {
  return std::any_of(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
}

#if defined(__x86_64__)

struct Cpuid {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  explicit Cpuid(std::uint32_t leaf, std::uint32_t sub = 0) {
    __get_cpuid_count(leaf, sub, &a, &b, &c, &d);  // all 0 where there is no such leaf
  }
};

class Processor {
 public:
  Processor() : l1_(1), l7_(7), l71_(l7_.a >= 1 ? Cpuid(7, 1) : Cpuid(0x7fffffff)), ext_(0x80000001) {
    constexpr std::uint32_t kOsxsave = 1U << 27;
    if ((l1_.c & kOsxsave) == 0) return;
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    avx_ = (low & 0x06) == 0x06;
    avx512_ = (low & 0xe6) == 0xe6;
  }

  [[nodiscard]] bool has(const X86Feature& feature) const {
    if (feature.state == State::avx && !avx_) return false;
    if (feature.state == State::avx512 && !avx512_) return false;
    return ((word(feature.leaf) >> feature.bit) & 1) != 0;
  }

 private:
  [[nodiscard]] std::uint32_t word(Leaf leaf) const {
    switch (leaf) {
      case Leaf::l1_ecx:
        return l1_.c;
      case Leaf::l1_edx:
        return l1_.d;
      case Leaf::l7_ebx:
        return l7_.b;
      case Leaf::l7_ecx:
        return l7_.c;
      case Leaf::l7_edx:
        return l7_.d;
      case Leaf::l71_eax:
        return l71_.a;
      case Leaf::ext_ecx:
        return ext_.c;
    }
    return 0;
  }

  Cpuid l1_, l7_, l71_, ext_;
  bool avx_ = false;
  bool avx512_ = false;
};

bool processor_has(std::string_view name) {
  static const Processor processor;
  for (const X86Feature& row : kX86) {
    if (row.name == name) return processor.has(row);
  }
  return false;
}

#elif defined(__aarch64__)

bool processor_has(std::string_view name) {
  for (const ArmFeature& row : kArm) {
    if (row.name == name) {
      return ((getauxval(row.second ? AT_HWCAP2 : AT_HWCAP) >> row.bit) & 1) != 0;
    }
  }
  return false;
}

#else

bool processor_has(std::string_view) {
  return false;
}

#endif

template <typename Table>
std::string joined(const Table& table) {
  std::string out;
  for (const auto& row : table) out += (out.empty() ? "" : " ") + std::string(row.name);
  return out;
}

}  // namespace

std::string host_arch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  utsname system{};
  return ::uname(&system) == 0 ? system.machine : "unknown";
#endif
}

bool is_known_feature(std::string_view name) {
  return is_feature_of("x86_64", name) || is_feature_of("aarch64", name);
}

bool is_feature_of(std::string_view arch, std::string_view name) {
  if (arch == "x86_64") return in_table(kX86, name) || level(name) != nullptr;
  if (arch == "aarch64") return in_table(kArm, name);
  return false;
}

std::string feature_names(std::string_view arch) {
  if (arch == "x86_64") return joined(kLevels) + " " + joined(kX86);
  return arch == "aarch64" ? joined(kArm) : "none";
}

std::vector<std::string> host_features() {
  std::vector<std::string> out;
  const auto add_from = [&out](const auto& table) {
    for (const auto& row : table) {
      if (processor_has(row.name)) out.emplace_back(row.name);
    }
  };
  if (host_arch() == "x86_64") add_from(kX86);
  if (host_arch() == "aarch64") add_from(kArm);
  std::sort(out.begin(), out.end());
  return out;
}

bool host_has(std::string_view name) {
  const Level* set = host_arch() == "x86_64" ? level(name) : nullptr;
  if (set == nullptr) return processor_has(name);
  return std::all_of(set->needs.begin(), set->needs.end(),
                     [](std::string_view need) { return need.empty() || processor_has(need); });
}

std::vector<std::string> feature_options(std::string_view arch, const std::vector<std::string>& features) {
  std::vector<std::string> out;
  if (arch == "aarch64" && !features.empty()) {
    std::string march = "-march=armv8-a";
    for (const std::string& feature : features) march += "+" + feature;
    out.push_back(std::move(march));
    return out;
  }
  std::string_view highest;
  for (const std::string& feature : features) {
    if (level(feature) == nullptr) {
      out.push_back("-m" + feature);
    } else if (feature > highest) {
      highest = feature;
    }
  }
  if (!highest.empty()) out.insert(out.begin(), "-march=x86-64-" + std::string(highest));
  return out;
}

}  // namespace tlcb::cpu
