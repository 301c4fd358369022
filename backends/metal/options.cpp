// SPDX-License-Identifier: MIT
#include "metal/options.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "support/failure.hpp"
#include "support/names.hpp"
#include "support/option_reader.hpp"

namespace tlcb::metal {
namespace {

constexpr std::string_view kReads = "reads or writes a file that the cache cannot watch";
constexpr std::string_view kTarget =
    "says what code is compiled for; put that into the target (metal:apple7, metal:macos14.0, metal:msl3.1)";
constexpr std::string_view kOutput = "says what is made, which is a metallib";

/// Named up to an `=`.
constexpr std::array kRefused = {
    RefusedOption{"-std", TLC_E_INVALID, kTarget},
    RefusedOption{"-target", TLC_E_INVALID, kTarget},
    RefusedOption{"-arch", TLC_E_INVALID, kTarget},
    RefusedOption{"-mmacosx-version-min", TLC_E_INVALID, kTarget},
    RefusedOption{"-mmacos-version-min", TLC_E_INVALID, kTarget},
    RefusedOption{"-mios-version-min", TLC_E_INVALID, kTarget},
    RefusedOption{"-mtvos-version-min", TLC_E_INVALID, kTarget},
    RefusedOption{"-isysroot", TLC_E_INVALID, kTarget},
    RefusedOption{"-sdk", TLC_E_INVALID, kTarget},
    RefusedOption{"-o", TLC_E_INVALID, kOutput},
    RefusedOption{"-c", TLC_E_INVALID, kOutput},
    RefusedOption{"-S", TLC_E_INVALID, kOutput},
    RefusedOption{"-E", TLC_E_INVALID, kOutput},
    RefusedOption{"-x", TLC_E_INVALID, "says what language the source is in, which is Metal's"},
    RefusedOption{"-emit-llvm", TLC_E_INVALID, kOutput},
    RefusedOption{"-fsyntax-only", TLC_E_INVALID, kOutput},
    RefusedOption{"-dynamiclib", TLC_E_INVALID, "makes a library for others to link, which has no kernels of its own"},
    RefusedOption{"-frecord-sources", TLC_E_DENIED, kReads},
    RefusedOption{"-save-temps", TLC_E_DENIED, kReads},
    RefusedOption{"--save-temps", TLC_E_DENIED, kReads},
    RefusedOption{"-include-pch", TLC_E_DENIED, kReads},
    RefusedOption{"-fmodules-cache-path", TLC_E_DENIED, kReads},
    RefusedOption{"-fplugin", TLC_E_DENIED, "loads code into the compiler"},
    RefusedOption{"-Xclang", TLC_E_DENIED, "reaches inside of the compiler, where anything can be read"},
    RefusedOption{"-mllvm", TLC_E_DENIED, "reaches inside of LLVM, which has options that write files"},
};

constexpr std::string_view kDefine = "define.";

class Checker {
 public:
  explicit Checker(const DeviceSource& request) : request_(request), reader_(request.options) {}

  Options run() {
    for (const std::string& define : request_.defines) add_macro(define);
    while (const std::string* option = reader_.take()) one(*option);
    return std::move(out_);
  }

 private:
  void one(const std::string& option) {
    refuse_non_options(option);
    const std::size_t defines = out_.defines.size();
    if (reader_.glued(option, out_)) {
      if (out_.defines.size() > defines) add_macro(out_.defines.back());
      if (option[1] == 'U') offline_only(option);
      return;
    }
    const std::string_view name = std::string_view(option).substr(0, option.find('='));
    refuse_listed(option, name, kRefused);
    if (name == "-include") {
      const std::string header = reader_.value(option);
      add_pre_include(option, header, out_);
      out_.words.insert(out_.words.end(), {"-include", header});
      return offline_only(option);
    }
    if (!known_by_both(option) && !known_offline(option)) {
      refuse_option(option, TLC_E_INVALID,
                    "is not among those that this backend knows to be safe (docs/backends/metal.md)");
    }
    out_.words.push_back(option);
  }

  bool known_by_both(std::string_view option) {
    if (option == "-ffast-math" || option == "-fno-fast-math") {
      out_.at_load.fast_math = option == "-ffast-math";
    } else if (option == "-fpreserve-invariance") {
      out_.at_load.preserve_invariance = true;
    } else if (option == "-Os" || option == "-O2") {
      out_.at_load.for_size = option == "-Os";
    } else {
      return option == "-w" || is_warning(option);  // no code is changed by these
    }
    return true;
  }

  bool known_offline(const std::string& option) {
    constexpr std::array<std::string_view, 8> kFlags = {"-O0",
                                                        "-O1",
                                                        "-O3",
                                                        "-gline-tables-only",
                                                        "-fmetal-math-fp32-functions=fast",
                                                        "-fmetal-math-fp32-functions=precise",
                                                        "-fcikernel",
                                                        "-funroll-loops"};
    if (!is_one_of(option, kFlags) && !option.starts_with("-fmetal-math-mode=") &&
        !option.starts_with("-ffp-contract="))
      return false;
    offline_only(option);
    return true;
  }

  static bool is_warning(std::string_view option) {
    return option.starts_with("-W") && option.size() > 2 && option.find(',') == std::string_view::npos;
  }

  /// NAME is 1, NAME= nothing, as compilers have it.
  void add_macro(const std::string& define) {
    const std::size_t equals = define.find('=');
    const std::string name = define.substr(0, equals);
    if (name.find('(') != std::string::npos) offline_only("-D" + define);
    out_.at_load.macros[name] = equals == std::string::npos ? "1" : define.substr(equals + 1);
  }

  void offline_only(const std::string& option) {
    if (out_.offline_only.empty()) out_.offline_only = option;
  }

  const DeviceSource& request_;
  OptionReader reader_;
  Options out_;
};

}  // namespace

std::string to_json(const LoadOptions& options) {
  Names texts;
  for (const auto& [name, value] : options.macros) texts[std::string(kDefine) + name] = value;
  if (options.fast_math) texts["math"] = *options.fast_math ? "fast" : "precise";
  if (options.preserve_invariance) texts["invariance"] = "preserve";
  if (options.for_size) texts["optimize"] = "size";
  return tlcb::to_json(texts);
}

std::optional<LoadOptions> parse_load_options(std::string_view json) {
  const auto texts = parse_names(json);
  if (!texts) return std::nullopt;
  LoadOptions out;
  for (const auto& [name, value] : *texts) {
    if (name.starts_with(kDefine)) {
      out.macros[name.substr(kDefine.size())] = value;
    } else if (name == "math" && (value == "fast" || value == "precise")) {
      out.fast_math = value == "fast";
    } else if (name == "invariance" && value == "preserve") {
      out.preserve_invariance = true;
    } else if (name == "optimize" && value == "size") {
      out.for_size = true;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

Options check_options(const DeviceSource& request) {
  return Checker(request).run();
}

}  // namespace tlcb::metal
