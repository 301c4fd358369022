// SPDX-License-Identifier: MIT
#include "cuda/options.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "support/option_reader.hpp"

namespace tlcb::cuda {
namespace {

constexpr std::string_view kReads = "reads or writes a file that the cache cannot watch";
constexpr std::string_view kOurs = "is for the backend to decide";
constexpr std::string_view kTarget =
    "says what code is compiled for; put that into the target (cuda:sm_90, cuda:sm_90a, cuda:native)";
constexpr std::string_view kOutput = "says what is made; put that into the field 'output' (cubin, ptx, ltoir)";

/// Names are without their dashes: NVRTC takes most options with one or two.
using Refused = RefusedOption;

constexpr std::array kRefused = {
    Refused{"gpu-architecture", TLC_E_INVALID, kTarget},
    Refused{"arch", TLC_E_INVALID, kTarget},
    Refused{"gencode", TLC_E_INVALID, kTarget},
    Refused{"code", TLC_E_INVALID, kTarget},
    Refused{"cubin", TLC_E_INVALID, kOutput},
    Refused{"ptx", TLC_E_INVALID, kOutput},
    Refused{"ltoir", TLC_E_INVALID, kOutput},
    Refused{"dlto", TLC_E_INVALID, kOutput},
    Refused{"dlink-time-opt", TLC_E_INVALID, kOutput},
    Refused{"optix-ir", TLC_E_INVALID, "makes an output that this backend does not keep"},
    Refused{"fdevice-syntax-only", TLC_E_INVALID, "makes no output that could be kept"},
    Refused{"pch", TLC_E_DENIED, kReads},
    Refused{"create-pch", TLC_E_DENIED, kReads},
    Refused{"use-pch", TLC_E_DENIED, kReads},
    Refused{"create_pch", TLC_E_DENIED, kReads},
    Refused{"use_pch", TLC_E_DENIED, kReads},
    Refused{"pch-dir", TLC_E_DENIED, kReads},
    Refused{"pch_dir", TLC_E_DENIED, kReads},
    Refused{"time", TLC_E_DENIED, kReads},
    Refused{"fdevice-time-trace", TLC_E_DENIED, kReads},
    Refused{"use-bundled-headers", TLC_E_DENIED,
            "installs and reads files that the cache cannot watch; use 'include_dirs'"},
    Refused{"cache", TLC_E_INVALID, kOurs},
    Refused{"no-cache", TLC_E_INVALID, "is always passed: there is one cache, this one"},
    Refused{"modify-stack-limit", TLC_E_INVALID, "is always passed as false: a compile leaves the process alone"},
    Refused{"no-source-include", TLC_E_INVALID,
            "is for the backend to decide: the working directory is never searched"},
};

constexpr std::array<std::string_view, 24> kFlags = {"dc",
                                                     "device-c",
                                                     "dw",
                                                     "device-w",
                                                     "ewp",
                                                     "extensible-whole-program",
                                                     "G",
                                                     "device-debug",
                                                     "lineinfo",
                                                     "generate-line-info",
                                                     "use_fast_math",
                                                     "extra-device-vectorization",
                                                     "restrict",
                                                     "default-device",
                                                     "device-as-default-execution-space",
                                                     "device-int128",
                                                     "device-float128",
                                                     "no-display-error-number",
                                                     "no-err-no",
                                                     "display-error-number",
                                                     "w",
                                                     "disable-warnings",
                                                     "minimal",
                                                     "gen-opt-lto"};

/// With a value: after `=`, or as the next word.
constexpr std::array<std::string_view, 27> kWithValue = {"rdc",
                                                         "relocatable-device-code",
                                                         "ftz",
                                                         "prec-sqrt",
                                                         "prec-div",
                                                         "fmad",
                                                         "maxrregcount",
                                                         "Ofc",
                                                         "Ofast-compile",
                                                         "dopt",
                                                         "std",
                                                         "builtin-move-forward",
                                                         "builtin-initializer-list",
                                                         "opt-info",
                                                         "optimization-info",
                                                         "diag-error",
                                                         "diag-suppress",
                                                         "diag-warn",
                                                         "jump-table-density",
                                                         "jtd",
                                                         "frandom-seed",
                                                         "split-compile",
                                                         "version-ident",
                                                         "device-stack-protector",
                                                         "brief-diagnostics",
                                                         "brief-diag",
                                                         "fmax-errors"};

/// What ptxas may not be told.
constexpr std::array<std::string_view, 9> kRefusedPtxas = {
    "optf", "options-file", "o", "output-file", "arch", "gpu-name", "m", "machine", "input-as-string"};

std::string_view without_dashes(std::string_view option) {
  option.remove_prefix(1);
  if (option.starts_with('-')) option.remove_prefix(1);
  return option;
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
    if (reader_.glued(option, out_)) return;
    const std::string_view whole = without_dashes(option);
    const std::string_view name = whole.substr(0, whole.find('='));
    for (const Refused& row : kRefused) {
      if (name == row.name) refuse_option(option, row.status, row.why);
    }
    if (optimisation(option, whole)) return;
    if (is_one_of(whole, kFlags)) return flag(option, whole);
    if (name == "ptxas-options" || name == "Xptxas") return ptxas(option);
    if (name == "include-path") return add_folder_option(option, reader_.value(option), out_);
    if (name == "define-macro") return add_define_option(reader_.value(option), out_);
    if (name == "undefine-macro") {
      out_.words.push_back("-U" + reader_.value(option));
      return;
    }
    if (name == "pre-include" || name == "include") return pre_include(option, reader_.value(option));
    if (is_one_of(name, kWithValue)) return with_value(option, name);
    refuse_option(option, TLC_E_INVALID,
                  "is not among those that this backend knows to be safe (docs/backends/cuda.md)");
  }

  void pre_include(const std::string& option, const std::string& name) {
    add_pre_include(option, name, out_);
    out_.words.push_back("--pre-include=" + name);
  }

  /// The level that the command line of other compilers has; NVRTC leaves it to ptxas.
  bool optimisation(const std::string& option, std::string_view whole) {
    if (whole.front() != 'O' || whole.starts_with("Of")) return false;
    if (whole.size() != 2 || whole[1] < '0' || whole[1] > '3') {
      refuse_option(option, TLC_E_INVALID, "is no level that NVRTC has; use -O0 to -O3");
    }
    out_.words.push_back("--ptxas-options=-" + std::string(whole));
    return true;
  }

  void flag(const std::string& option, std::string_view name) {
    if (name == "dc" || name == "device-c") out_.relocatable = true;
    if (name == "G" || name == "device-debug") out_.debug = true;
    out_.words.push_back(option);
  }

  void with_value(const std::string& option, std::string_view name) {
    const std::string given = reader_.value(option);
    if (name == "rdc" || name == "relocatable-device-code") out_.relocatable = given == "true";
    if (name == "split-compile" && given == "0") {
      refuse_option(option, TLC_E_INVALID, "depends on the number of processors; give a number of threads");
    }
    out_.words.push_back(option.substr(0, option.find('=')) + "=" + given);
  }

  void ptxas(const std::string& option) {
    const std::string given = reader_.value(option);
    for (std::size_t start = 0; start <= given.size();) {
      const std::size_t end = std::min(given.find_first_of(", \t", start), given.size());
      const std::string word = given.substr(start, end - start);
      start = end + 1;
      if (word.starts_with('@')) refuse_option(option, TLC_E_DENIED, kReads);
      if (!word.starts_with('-') || word.size() < 2) continue;
      const std::string_view name = without_dashes(word);
      if (is_one_of(name.substr(0, name.find('=')), kRefusedPtxas)) {
        refuse_option(option, TLC_E_DENIED, "tells ptxas of files, or of what the target and the backend decide");
      }
    }
    out_.words.push_back("--ptxas-options=" + given);
  }

  OptionReader reader_;
  Options out_;
};

}  // namespace

Options check_options(const std::vector<std::string>& options) {
  return Checker(options).run();
}

}  // namespace tlcb::cuda
