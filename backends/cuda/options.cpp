// SPDX-License-Identifier: MIT
#include "cuda/options.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "support/failure.hpp"

namespace tlcb::cuda {
namespace {

constexpr std::string_view kReads = "reads or writes a file that the cache cannot watch";
constexpr std::string_view kOurs = "is for the backend to decide";
constexpr std::string_view kTarget =
    "says what code is compiled for; put that into the target (cuda:sm_90, cuda:sm_90a, cuda:native)";
constexpr std::string_view kOutput = "says what is made; put that into the field 'output' (cubin, ptx, ltoir)";

/// Names are without their dashes: NVRTC takes most options with one or two.
struct Refused {
  std::string_view name;
  tlc_status status;
  std::string_view why;
};

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

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

[[noreturn]] void refuse(std::string_view option, tlc_status status, std::string_view why) {
  throw Failure(status, "compiler option '" + std::string(option) + "' is refused: it " + std::string(why));
}

std::string_view without_dashes(std::string_view option) {
  option.remove_prefix(1);
  if (option.starts_with('-')) option.remove_prefix(1);
  return option;
}

class Checker {
 public:
  explicit Checker(const std::vector<std::string>& options) : options_(options) {}

  Options run() {
    for (at_ = 0; at_ < options_.size(); ++at_) one(options_[at_]);
    return std::move(out_);
  }

 private:
  void one(const std::string& option) {
    if (option.find('\0') != std::string::npos) throw Failure(TLC_E_INVALID, "a compiler option has a NUL");
    if (option.starts_with('@')) refuse(option, TLC_E_DENIED, kReads);
    if (option.size() < 2 || option.front() != '-') {
      refuse(option, TLC_E_INVALID, "does not begin with '-'; NVRTC compiles one source, that of the field 'source'");
    }
    if (glued(option)) return;
    const std::string_view whole = without_dashes(option);
    const std::string_view name = whole.substr(0, whole.find('='));
    for (const Refused& row : kRefused) {
      if (name == row.name) refuse(option, row.status, row.why);
    }
    if (optimisation(option, whole)) return;
    if (is_one_of(whole, kFlags)) return flag(option, whole);
    if (name == "ptxas-options" || name == "Xptxas") return ptxas(option);
    if (name == "include-path") return folder(option, value(option));
    if (name == "define-macro") return define(value(option));
    if (name == "undefine-macro") return undefine(value(option));
    if (name == "pre-include" || name == "include") return pre_include(option, value(option));
    if (is_one_of(name, kWithValue)) return with_value(option, name);
    refuse(option, TLC_E_INVALID, "is not among those that this backend knows to be safe (docs/backends/cuda.md)");
  }

  /// -DX=1, -UX, -I/folder, and the same in two words.
  bool glued(const std::string& option) {
    if (option[1] != 'D' && option[1] != 'U' && option[1] != 'I') return false;
    const std::string given = option.size() > 2 ? option.substr(2) : next(option);
    if (option[1] == 'D') define(given);
    if (option[1] == 'U') undefine(given);
    if (option[1] == 'I') folder(option, given);
    return true;
  }

  const std::string& next(const std::string& option) {
    if (at_ + 1 == options_.size()) refuse(option, TLC_E_INVALID, "lacks its argument");
    return options_[++at_];
  }

  /// After the `=`, or the next word.
  std::string value(const std::string& option) {
    const std::size_t equals = option.find('=');
    return equals == std::string::npos ? next(option) : option.substr(equals + 1);
  }

  void define(const std::string& given) {
    out_.defines.push_back(given);
    out_.words.push_back("-D" + given);
  }
  void undefine(const std::string& given) { out_.words.push_back("-U" + given); }

  void folder(const std::string& option, const std::string& path) {
    if (path.empty() || path.front() != '/') {
      refuse(option, TLC_E_INVALID, "has a relative path; make it absolute");
    }
    out_.folders.push_back(path);
  }

  void pre_include(const std::string& option, const std::string& name) {
    if (name.empty()) refuse(option, TLC_E_INVALID, "names no header");
    out_.pre_includes.push_back(name);
    out_.words.push_back("--pre-include=" + name);
  }

  /// The level that the command line of other compilers has; NVRTC leaves it to ptxas.
  bool optimisation(const std::string& option, std::string_view whole) {
    if (whole.front() != 'O' || whole.starts_with("Of")) return false;
    if (whole.size() != 2 || whole[1] < '0' || whole[1] > '3') {
      refuse(option, TLC_E_INVALID, "is no level that NVRTC has; use -O0 to -O3");
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
    const std::string given = value(option);
    if (name == "rdc" || name == "relocatable-device-code") out_.relocatable = given == "true";
    if (name == "split-compile" && given == "0") {
      refuse(option, TLC_E_INVALID, "depends on the number of processors; give a number of threads");
    }
    out_.words.push_back(option.substr(0, option.find('=')) + "=" + given);
  }

  void ptxas(const std::string& option) {
    const std::string given = value(option);
    for (std::size_t start = 0; start <= given.size();) {
      const std::size_t end = std::min(given.find_first_of(", \t", start), given.size());
      const std::string word = given.substr(start, end - start);
      start = end + 1;
      if (word.starts_with('@')) refuse(option, TLC_E_DENIED, kReads);
      if (!word.starts_with('-') || word.size() < 2) continue;
      const std::string_view name = without_dashes(word);
      if (is_one_of(name.substr(0, name.find('=')), kRefusedPtxas)) {
        refuse(option, TLC_E_DENIED, "tells ptxas of files, or of what the target and the backend decide");
      }
    }
    out_.words.push_back("--ptxas-options=" + given);
  }

  const std::vector<std::string>& options_;
  std::size_t at_ = 0;
  Options out_;
};

}  // namespace

Options check_options(const std::vector<std::string>& options) {
  return Checker(options).run();
}

}  // namespace tlcb::cuda
