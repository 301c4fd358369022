// SPDX-License-Identifier: MIT
// Macros do not go the way of options: a driver gets those as one text, and how a space or a quote in it is meant
// differs from driver to driver. They become lines before the source, which every compiler reads alike.
#include "opencl/options.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "support/failure.hpp"
#include "support/option_reader.hpp"

namespace tlcb::opencl {
namespace {

constexpr std::string_view kReads = "reads or writes a file that the cache cannot watch";
constexpr std::string_view kOutput = "says what is made, which is a program for a device";

/// Named up to an `=`.
constexpr std::array kRefused = {
    RefusedOption{"-s", TLC_E_DENIED, kReads},
    RefusedOption{"-include", TLC_E_DENIED, kReads},
    RefusedOption{"-save-temps", TLC_E_DENIED, kReads},
    RefusedOption{"-dump-opt-llvm", TLC_E_DENIED, kReads},
    RefusedOption{"-x", TLC_E_INVALID, "says what the source is: give SPIR-V by the field 'il'"},
    RefusedOption{"-spir-std", TLC_E_INVALID, "says what the source is: give SPIR-V by the field 'il'"},
    RefusedOption{"-create-library", TLC_E_INVALID, kOutput},
    RefusedOption{"-enable-link-options", TLC_E_INVALID, kOutput},
    RefusedOption{"-cl-intel-gtpin-rera", TLC_E_INVALID, "is for tools that rewrite what was made"},
    RefusedOption{"-Xclang", TLC_E_DENIED, "reaches inside of the compiler, where anything can be read"},
    RefusedOption{"-mllvm", TLC_E_DENIED, "reaches inside of LLVM, which has options that read and write files"},
};

constexpr std::array<std::string_view, 18> kFlags = {"-cl-single-precision-constant",
                                                     "-cl-denorms-are-zero",
                                                     "-cl-fp32-correctly-rounded-divide-sqrt",
                                                     "-cl-opt-disable",
                                                     "-cl-strict-aliasing",
                                                     "-cl-uniform-work-group-size",
                                                     "-cl-no-subgroup-ifp",
                                                     "-cl-mad-enable",
                                                     "-cl-no-signed-zeros",
                                                     "-cl-unsafe-math-optimizations",
                                                     "-cl-finite-math-only",
                                                     "-cl-fast-relaxed-math",
                                                     "-cl-kernel-arg-info",
                                                     "-cl-ext=+all",
                                                     "-cl-ext=-all",
                                                     "-w",
                                                     "-Werror",
                                                     "-g"};

/// Options of drivers whose values are numbers and words: they change the result by their text alone.
constexpr std::array<std::string_view, 3> kVendors = {"-cl-nv-", "-cl-intel-", "-cl-amd-"};

constexpr std::array<std::string_view, 8> kLevels = {"-O0", "-O1", "-O2", "-O3", "-Os", "-Oz", "-Og", "-Ofast"};

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
           c == '.' || c == '=' || c == '+' || c == ',';
  });
}

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
    if (macro(option)) return;
    if (option.starts_with("-I")) {
      add_folder_option(option, option.size() > 2 ? option.substr(2) : reader_.next(option), out_);
      return;
    }
    const std::string_view name = std::string_view(option).substr(0, option.find('='));
    refuse_listed(option, name, kRefused);
    if (is_one_of(option, kLevels))
      refuse_option(option, TLC_E_INVALID, "is not known to OpenCL, which optimises unless -cl-opt-disable is given");
    const bool vendors = std::any_of(kVendors.begin(), kVendors.end(),
                                     [&](std::string_view prefix) { return option.starts_with(prefix); });
    if (is_one_of(option, kFlags) || (name == "-cl-std" && is_plain(option)) || (vendors && is_plain(option))) {
      out_.words.push_back(option);
      if (option == "-cl-nv-maxrregcount") out_.words.push_back(number(option));
      return;
    }
    refuse_option(option, TLC_E_INVALID,
                  "is not among those that this backend knows to be safe (docs/backends/opencl.md)");
  }

  std::string number(const std::string& option) {
    std::string given = reader_.next(option);
    if (!is_plain(given)) refuse_option(option + " " + given, TLC_E_INVALID, "has a value that is no number");
    return given;
  }

  /// -DX=1, -D X=1, -UX
  bool macro(const std::string& option) {
    if (!option.starts_with("-D") && !option.starts_with("-U")) return false;
    const std::string given = option.size() > 2 ? option.substr(2) : reader_.next(option);
    if (option[1] == 'D') {
      out_.defines.push_back(given);
      out_.prefix += define_line(given);
    } else {
      if (!is_plain(given)) refuse_option(option, TLC_E_INVALID, "names no macro");
      out_.prefix += "#undef " + given + "\n";
    }
    return true;
  }

  OptionReader reader_;
  Options out_;
};

}  // namespace

Options check_options(const std::vector<std::string>& options) {
  return Checker(options).run();
}

std::string define_line(const std::string& define) {
  const std::size_t equals = define.find('=');
  const std::string name = define.substr(0, equals);
  const std::string value = equals == std::string::npos ? "1" : define.substr(equals + 1);
  if (name.empty() || value.find_first_of("\n\r") != std::string::npos ||
      name.find_first_of(" \t\n\r\"'\\") != std::string::npos) {
    throw Failure(TLC_E_INVALID, "a macro '" + define + "' is not NAME, NAME=value or NAME(a,b)=value, in one line");
  }
  return "#define " + name + " " + value + "\n";
}

std::string option_text(const std::vector<std::string>& words, const std::vector<std::string>& folders) {
  std::string out;
  const auto add = [&](const std::string& word) { out += (out.empty() ? "" : " ") + word; };
  for (const std::string& folder : folders) {
    if (folder.find_first_of(" \t\n\r\"'\\") != std::string::npos) {
      throw Failure(TLC_E_INVALID,
                    "folder '" + folder +
                        "' has a space or a quote in its name, which cannot be told to an OpenCL driver; "
                        "give its headers by the field 'headers'");
    }
    add("-I" + folder);
  }
  for (const std::string& word : words) add(word);
  return out;
}

}  // namespace tlcb::opencl
