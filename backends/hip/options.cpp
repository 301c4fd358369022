// SPDX-License-Identifier: MIT
#include "hip/options.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "support/option_reader.hpp"

namespace tlcb::hip {
namespace {

constexpr std::string_view kReads = "reads or writes a file that the cache cannot watch";
constexpr std::string_view kTarget =
    "says what code is compiled for; put that into the target (hip:gfx90a, hip:gfx90a:xnack-, hip:native)";
constexpr std::string_view kOutput = "says what is made, which is a code object";

/// Named up to an `=`.
constexpr std::array kRefused = {
    RefusedOption{"--offload-arch", TLC_E_INVALID, kTarget},
    RefusedOption{"--cuda-gpu-arch", TLC_E_INVALID, kTarget},
    RefusedOption{"--gpu-architecture", TLC_E_INVALID, kTarget},
    RefusedOption{"-mcpu", TLC_E_INVALID, kTarget},
    RefusedOption{"-march", TLC_E_INVALID, kTarget},
    RefusedOption{"-target", TLC_E_INVALID, kTarget},
    RefusedOption{"--target", TLC_E_INVALID, kTarget},
    RefusedOption{"-o", TLC_E_INVALID, kOutput},
    RefusedOption{"-c", TLC_E_INVALID, kOutput},
    RefusedOption{"-S", TLC_E_INVALID, kOutput},
    RefusedOption{"-E", TLC_E_INVALID, kOutput},
    RefusedOption{"-x", TLC_E_INVALID, "says what language the source is in, which is HIP"},
    RefusedOption{"-emit-llvm", TLC_E_INVALID, kOutput},
    RefusedOption{"-fsyntax-only", TLC_E_INVALID, kOutput},
    RefusedOption{"-fgpu-rdc", TLC_E_INVALID, "makes relocatable code, which cannot be loaded"},
    RefusedOption{"-save-temps", TLC_E_DENIED, kReads},
    RefusedOption{"--save-temps", TLC_E_DENIED, kReads},
    RefusedOption{"-include-pch", TLC_E_DENIED, kReads},
    RefusedOption{"-fplugin", TLC_E_DENIED, "loads code into the compiler"},
    RefusedOption{"-fpass-plugin", TLC_E_DENIED, "loads code into the compiler"},
    RefusedOption{"-Xclang", TLC_E_DENIED, "reaches inside of the compiler, where anything can be read"},
    RefusedOption{"-nostdinc", TLC_E_INVALID, "is for the backend to decide: no folder of the system's is searched"},
};

constexpr std::array<std::string_view, 38> kFlags = {"-ffast-math",
                                                     "-fno-fast-math",
                                                     "-funsafe-math-optimizations",
                                                     "-fno-unsafe-math-optimizations",
                                                     "-fassociative-math",
                                                     "-fno-associative-math",
                                                     "-freciprocal-math",
                                                     "-fno-reciprocal-math",
                                                     "-ffinite-math-only",
                                                     "-fno-finite-math-only",
                                                     "-fsigned-zeros",
                                                     "-fno-signed-zeros",
                                                     "-fhonor-nans",
                                                     "-fno-honor-nans",
                                                     "-fhonor-infinities",
                                                     "-fno-honor-infinities",
                                                     "-fgpu-flush-denormals-to-zero",
                                                     "-fno-gpu-flush-denormals-to-zero",
                                                     "-fgpu-approx-transcendentals",
                                                     "-fno-gpu-approx-transcendentals",
                                                     "-fhip-fp32-correctly-rounded-divide-sqrt",
                                                     "-fno-hip-fp32-correctly-rounded-divide-sqrt",
                                                     "-munsafe-fp-atomics",
                                                     "-mno-unsafe-fp-atomics",
                                                     "-mwavefrontsize64",
                                                     "-mno-wavefrontsize64",
                                                     "-mcumode",
                                                     "-mno-cumode",
                                                     "-mtgsplit",
                                                     "-mno-tgsplit",
                                                     "-funroll-loops",
                                                     "-fno-unroll-loops",
                                                     "-fvectorize",
                                                     "-fno-vectorize",
                                                     "-fslp-vectorize",
                                                     "-fno-slp-vectorize",
                                                     "-gline-tables-only",
                                                     "-w"};

constexpr std::array<std::string_view, 9> kWithValue = {"-std",
                                                        "-ffp-contract",
                                                        "-ffp-model",
                                                        "-fdenormal-fp-math",
                                                        "-fdenormal-fp-math-f32",
                                                        "-mcode-object-version",
                                                        "-fgpu-default-stream",
                                                        "--gpu-max-threads-per-block",
                                                        "-ftemplate-depth"};

constexpr std::array<std::string_view, 8> kLevels = {"-O0", "-O1", "-O2", "-O3", "-Os", "-Oz", "-Og", "-Ofast"};

class Checker {
 public:
  explicit Checker(const std::vector<std::string>& options) : reader_(options) {}

  Options run() {
    while (const std::string* option = reader_.take()) one(*option);
    return std::move(out_);
  }

 private:
  void one(const std::string& option) {
    refuse_non_options(option);
    if (reader_.glued(option, out_)) return;
    const std::string_view name = std::string_view(option).substr(0, option.find('='));
    refuse_listed(option, name, kRefused);
    if (name == "-include") return pre_include(option);
    if (option == "-mllvm") return to_llvm(option);
    const bool level = is_one_of(option, kLevels);
    out_.optimises = out_.optimises || level;
    const bool given = name.size() < option.size();
    if (level || is_one_of(option, kFlags) || (given && is_one_of(name, kWithValue)) || is_warning(option)) {
      out_.words.push_back(option);
      return;
    }
    refuse_option(option, TLC_E_INVALID,
                  "is not among those that this backend knows to be safe (docs/backends/hip.md)");
  }

  void pre_include(const std::string& option) {
    const std::string name = reader_.value(option);
    add_pre_include(option, name, out_);
    out_.words.insert(out_.words.end(), {"-include", name});
  }

  /// LLVM has options that read and write files. Those of the AMD GPU's code generator change code only.
  void to_llvm(const std::string& option) {
    const std::string given = reader_.next(option);
    if (!given.starts_with("-amdgpu-") && !given.starts_with("--amdgpu-"))
      refuse_option(option + " " + given, TLC_E_DENIED,
                    "reaches inside of LLVM; only its options -amdgpu- are passed on");
    out_.words.insert(out_.words.end(), {option, given});
  }

  /// -Wall and the like, but not -Wl,... and its kind, which are for other programs.
  static bool is_warning(std::string_view option) {
    return option.starts_with("-W") && option.size() > 2 && option.find(',') == std::string_view::npos;
  }

  OptionReader reader_;
  Options out_;
};

}  // namespace

Options check_options(const std::vector<std::string>& options) {
  return Checker(options).run();
}

}  // namespace tlcb::hip
