// SPDX-License-Identifier: MIT
// The table of refused options, and the few that take a file or folder.
#include "cpu/options.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "cpu/cpu_features.hpp"
#include "support/failure.hpp"

namespace tlcb::cpu {
namespace {

struct Refused {
  std::string_view text;
  bool exact;  ///< the whole option, else how it begins
  tlc_status status;
  std::string_view why;
};

constexpr std::string_view kLoads = "loads code into the compiler or replaces one of its programs";
constexpr std::string_view kReads = "reads a file that the cache cannot watch";
constexpr std::string_view kOurs = "is for the backend to decide";
constexpr std::string_view kTarget =
    "says what code is compiled for; put that into the target (cpu:native, cpu:x86_64:avx2)";

constexpr std::array kRefused = {
    Refused{"-fplugin", false, TLC_E_DENIED, kLoads},
    Refused{"-fpass-plugin", false, TLC_E_DENIED, kLoads},
    Refused{"-load", false, TLC_E_DENIED, kLoads},
    Refused{"-wrapper", false, TLC_E_DENIED, kLoads},
    Refused{"-B", false, TLC_E_DENIED, kLoads},
    Refused{"-specs", false, TLC_E_DENIED, kLoads},
    Refused{"-X", false, TLC_E_DENIED, kLoads},
    Refused{"-foffload", false, TLC_E_DENIED, kLoads},
    Refused{"-fopenmp-targets", false, TLC_E_DENIED, kLoads},
    Refused{"-mllvm", false, TLC_E_DENIED, kLoads},
    Refused{"-Wp,", false, TLC_E_DENIED, kLoads},
    Refused{"-Wa,", false, TLC_E_DENIED, kLoads},
    Refused{"-resource-dir", false, TLC_E_DENIED, kLoads},
    Refused{"-ccc-", false, TLC_E_DENIED, kLoads},
    Refused{"@", false, TLC_E_DENIED, kReads},
    Refused{"-fprofile", false, TLC_E_DENIED, kReads},
    Refused{"-fauto-profile", false, TLC_E_DENIED, kReads},
    Refused{"-fbranch-probabilities", false, TLC_E_DENIED, kReads},
    Refused{"-fmodule", false, TLC_E_DENIED, kReads},
    Refused{"-fprebuilt-module", false, TLC_E_DENIED, kReads},
    Refused{"-include-pch", false, TLC_E_DENIED, kReads},
    Refused{"-fsanitize-blacklist", false, TLC_E_DENIED, kReads},
    Refused{"-fsanitize-ignorelist", false, TLC_E_DENIED, kReads},
    Refused{"-fsanitize-coverage-allowlist", false, TLC_E_DENIED, kReads},
    Refused{"-fsanitize-coverage-ignorelist", false, TLC_E_DENIED, kReads},
    Refused{"-fxray", false, TLC_E_DENIED, kReads},
    Refused{"-frewrite-map-file", false, TLC_E_DENIED, kReads},
    Refused{"-fthinlto-index", false, TLC_E_DENIED, kReads},
    Refused{"-cxx-isystem", false, TLC_E_DENIED, kReads},
    Refused{"-stdlib++", false, TLC_E_DENIED, kReads},
    Refused{"-F", false, TLC_E_DENIED, kReads},
    Refused{"-i", false, TLC_E_DENIED, kReads},  // but for those of kWithPath
    Refused{"-I-", true, TLC_E_INVALID, "is obsolete; use -iquote"},
    Refused{"-o", false, TLC_E_INVALID, kOurs},
    Refused{"-c", true, TLC_E_INVALID, kOurs},
    Refused{"-S", true, TLC_E_INVALID, kOurs},
    Refused{"-E", true, TLC_E_INVALID, kOurs},
    Refused{"-r", true, TLC_E_INVALID, kOurs},
    Refused{"-M", false, TLC_E_INVALID, kOurs},
    Refused{"-H", true, TLC_E_INVALID, kOurs},
    Refused{"-d", false, TLC_E_INVALID, kOurs},
    Refused{"-x", false, TLC_E_INVALID, "is for the backend to decide; set the field 'language'"},
    Refused{"-v", true, TLC_E_INVALID, kOurs},
    Refused{"-###", true, TLC_E_INVALID, kOurs},
    Refused{"-save-temps", false, TLC_E_INVALID, kOurs},
    Refused{"-print", false, TLC_E_INVALID, kOurs},
    Refused{"-fsyntax-only", true, TLC_E_INVALID, kOurs},
    Refused{"-fdump", false, TLC_E_INVALID, kOurs},
    Refused{"-fcallgraph-info", false, TLC_E_INVALID, kOurs},
    Refused{"-fstack-usage", false, TLC_E_INVALID, kOurs},
    Refused{"-ftest-coverage", false, TLC_E_INVALID, kOurs},
    Refused{"-coverage", false, TLC_E_INVALID, kOurs},
    Refused{"-gsplit-dwarf", false, TLC_E_INVALID, kOurs},
    Refused{"-working-directory", false, TLC_E_INVALID, kOurs},
    Refused{"-shared", true, TLC_E_INVALID, kOurs},
    Refused{"-static", true, TLC_E_INVALID, kOurs},
    Refused{"-static-pie", true, TLC_E_INVALID, kOurs},
    Refused{"-pie", true, TLC_E_INVALID, kOurs},
    Refused{"-T", false, TLC_E_INVALID, "is a linker's; pass it as -Wl,"},
    Refused{"-march", false, TLC_E_INVALID, kTarget},
    Refused{"-mcpu", false, TLC_E_INVALID, kTarget},
    Refused{"-mtune=native", true, TLC_E_INVALID, "depends on the machine; name the processor to tune for"},
    Refused{"-m16", true, TLC_E_INVALID, kTarget},
    Refused{"-m32", true, TLC_E_INVALID, kTarget},
    Refused{"-mx32", true, TLC_E_INVALID, kTarget},
    Refused{"-target", false, TLC_E_INVALID, kTarget},
    Refused{"-arch", false, TLC_E_INVALID, kTarget},
};

/// What a part of -Wl, or an -Xlinker argument may not be.
constexpr std::array kRefusedLinker = {
    Refused{"@", false, TLC_E_DENIED, kReads},
    Refused{"-plugin", false, TLC_E_DENIED, kLoads},
    Refused{"--plugin", false, TLC_E_DENIED, kLoads},
    Refused{"-P", false, TLC_E_DENIED, kLoads},
    Refused{"--audit", false, TLC_E_DENIED, kLoads},
    Refused{"--depaudit", false, TLC_E_DENIED, kLoads},
    Refused{"-f", false, TLC_E_DENIED, kLoads},
    Refused{"--auxiliary", false, TLC_E_DENIED, kLoads},
    Refused{"-F", false, TLC_E_DENIED, kLoads},
    Refused{"--filter", false, TLC_E_DENIED, kLoads},
    Refused{"-o", false, TLC_E_INVALID, kOurs},
    Refused{"--output", false, TLC_E_INVALID, kOurs},
    Refused{"-Map", false, TLC_E_INVALID, kOurs},
    Refused{"--Map", false, TLC_E_INVALID, kOurs},
    Refused{"--dependency-file", false, TLC_E_INVALID, kOurs},
    Refused{"-dependency-file", false, TLC_E_INVALID, kOurs},
    Refused{"--out-implib", false, TLC_E_INVALID, kOurs},
    Refused{"-l", false, TLC_E_INVALID, "belongs outside of -Wl,"},
    Refused{"--library", false, TLC_E_INVALID, "belongs outside of -Wl, as -l"},
    Refused{"-L", false, TLC_E_INVALID, "belongs outside of -Wl,"},
};

[[noreturn]] void refuse(std::string_view option, tlc_status status, std::string_view why) {
  throw Failure(status, "compiler option '" + std::string(option) + "' is refused: it " + std::string(why));
}

template <std::size_t N>
void check_table(std::string_view option, const std::array<Refused, N>& table) {
  for (const Refused& row : table) {
    if (row.exact ? option == row.text : option.starts_with(row.text)) {
      refuse(option, row.status, row.why);
    }
  }
}

/// Options whose value is a path, which must be absolute: the compiler runs in a folder of its own.
constexpr std::array<std::string_view, 9> kWithPath = {"-isystem", "-iquote",    "-idirafter", "-isysroot", "-include",
                                                       "-imacros", "--sysroot=", "-I",         "-L"};

class Checker {
 public:
  explicit Checker(const std::vector<std::string>& options) : options_(options) {}

  Options run() {
    for (at_ = 0; at_ < options_.size(); ++at_) one(options_[at_]);
    return std::move(out_);
  }

 private:
  void one(const std::string& option) {
    if (option.empty()) throw Failure(TLC_E_INVALID, "a compiler option is empty");
    if (option.front() != '-' && option.front() != '@') return input(option);
    if (option == "-") refuse(option, TLC_E_INVALID, kOurs);
    if (option.starts_with("-Wl,")) return linker_list(option);
    if (option == "-Xlinker") return linker_one(option);
    if (option == "-z" || option == "-u" || option == "-e" || option == "--param") {
      out_.compile.insert(out_.compile.end(), {option, value(option)});
      return;
    }
    if (option.starts_with("-D") || option.starts_with("-U")) return define(option);
    if (with_path(option)) return;
    if (option.starts_with("--") && !option.starts_with("--param=")) {
      refuse(option, TLC_E_INVALID,
             "is a long spelling, of which only --param and --sysroot= are known; use the short one");
    }
    check_table(option, kRefused);
    check_feature(option);
    if (option.starts_with("-l")) return library(option);
    if (option.starts_with("-fuse-ld=")) out_.linker = option.substr(9);
    if (option.starts_with("-flto")) out_.lto = true;
    if (option.starts_with("-O")) out_.optimises = true;
    out_.compile.push_back(option);
  }

  const std::string& value(const std::string& option) {
    if (at_ + 1 == options_.size()) refuse(option, TLC_E_INVALID, "lacks its argument");
    return options_[++at_];
  }

  bool with_path(const std::string& option) {
    for (const std::string_view name : kWithPath) {
      if (!option.starts_with(name) || option == "-I-" || option == "-include-pch") continue;
      if (option == name) {
        const std::string& path = value(option);
        absolute(std::string(option).append(" ").append(path), path);
        keep_path(name, path, {option, path});
      } else {
        const std::string path = option.substr(name.size());
        absolute(option, path);
        keep_path(name, path, {option});
      }
      return true;
    }
    return false;
  }

  static void absolute(std::string_view shown, const std::string& path) {
    if (path.empty() || path.front() != '/') {
      refuse(shown, TLC_E_INVALID, "has a relative path; make it absolute");
    }
  }

  void keep_path(std::string_view name, const std::string& path, const std::vector<std::string>& words) {
    if (name == "-L") out_.library_dirs.push_back(path);
    auto& into = name == "-L" ? out_.link : out_.compile;
    into.insert(into.end(), words.begin(), words.end());
  }

  /// -DNAME and -D NAME.
  void define(const std::string& option) {
    out_.compile.push_back(option);
    if (option.size() == 2) out_.compile.push_back(value(option));
  }

  void library(const std::string& option) {
    std::string name = option.substr(2);
    if (name.empty()) name = value(option);
    out_.libraries.push_back(name);
    out_.link.push_back("-l" + name);
  }

  /// A file to link: its kind must be plain, since the compiler would compile anything else.
  void input(const std::string& path) {
    absolute(path, path);
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    if (!name.ends_with(".o") && !name.ends_with(".a") && !name.ends_with(".so") &&
        name.find(".so.") == std::string_view::npos) {
      refuse(path, TLC_E_INVALID, "is no object, archive or shared library");
    }
    out_.link.push_back(path);
  }

  void linker_list(const std::string& option) {
    std::string_view rest = std::string_view(option).substr(4);
    while (true) {
      const std::size_t comma = rest.find(',');
      linker_word(option, rest.substr(0, comma));
      if (comma == std::string_view::npos) break;
      rest = rest.substr(comma + 1);
    }
    out_.compile.push_back(option);
  }

  void linker_one(const std::string& option) {
    const std::string& word = value(option);
    linker_word(option + " " + word, word);
    out_.compile.push_back(option);
    out_.compile.push_back(word);
  }

  static void linker_word(std::string_view shown, std::string_view word) {
    for (const Refused& row : kRefusedLinker) {
      if (row.exact ? word == row.text : word.starts_with(row.text)) {
        refuse(shown, row.status, row.why);
      }
    }
  }

  /// -mavx2 belongs into the target, so that `validate` knows what the code needs.
  static void check_feature(std::string_view option) {
    if (option.starts_with("-m") && is_known_feature(option.substr(2))) {
      refuse(option, TLC_E_INVALID, kTarget);
    }
  }

  const std::vector<std::string>& options_;
  std::size_t at_ = 0;
  Options out_;
};

}  // namespace

Options check_options(const std::vector<std::string>& options) {
  return Checker(options).run();
}

}  // namespace tlcb::cpu
