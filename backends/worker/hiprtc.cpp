// SPDX-License-Identifier: MIT
// Debian and Ubuntu have hiprtc's functions in libamdhip64, ROCm itself in libhiprtc. Up to ROCm 5 they live in both.
#include "hiprtc.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "support/loaded_library.hpp"

namespace tlcb::worker {
namespace {

using Program = struct ProgramOpaque*;

/// Its functions, as AMD's documentation declares them.
struct Api {
  int (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(int result) = nullptr;
  int (*create)(Program* program, const char* source, const char* name, int count, const char** headers,
                const char** names) = nullptr;
  int (*destroy)(Program* program) = nullptr;
  int (*add_name)(Program program, const char* expression) = nullptr;
  int (*compile)(Program program, int count, const char** options) = nullptr;
  int (*lowered)(Program program, const char* expression, const char** name) = nullptr;
  int (*log_size)(Program program, std::size_t* size) = nullptr;
  int (*log)(Program program, char* text) = nullptr;
  int (*code_size)(Program program, std::size_t* size) = nullptr;
  int (*code)(Program program, char* bytes) = nullptr;
  int (*runtime_version)(int* version) = nullptr;  ///< of libamdhip64: finer than the compiler's own
};

/// The name of the first function that is missing; empty: none is.
std::string find_functions(const LoadedLibrary& library, Api& api) {
  std::string missing;
  const auto need = [&](auto& into, const char* name) {
    library.find(into, name);
    if (into == nullptr && missing.empty()) missing = name;
  };
  need(api.version, "hiprtcVersion");
  need(api.error_string, "hiprtcGetErrorString");
  need(api.create, "hiprtcCreateProgram");
  need(api.destroy, "hiprtcDestroyProgram");
  need(api.add_name, "hiprtcAddNameExpression");
  need(api.compile, "hiprtcCompileProgram");
  need(api.lowered, "hiprtcGetLoweredName");
  need(api.log_size, "hiprtcGetProgramLogSize");
  need(api.log, "hiprtcGetProgramLog");
  need(api.code_size, "hiprtcGetCodeSize");
  need(api.code, "hiprtcGetCode");
  library.find(api.runtime_version, "hipRuntimeGetVersion");
  return missing;
}

class Compile {
 public:
  explicit Compile(const CompileOrder& order) : order_(order), before_(loaded_files()) {}
  Compile(const Compile&) = delete;
  Compile& operator=(const Compile&) = delete;
  ~Compile() {
    if (program_ != nullptr) (void)api_.destroy(&program_);
  }

  WorkerDone run(const std::function<void(const WorkerOpened&)>& opened) {
    if (!open() || !create()) return std::move(out_);
    opened(what_was_opened());  // by now it has opened what it consists of
    std::vector<const char*> options;
    for (const std::string& option : order_.options) options.push_back(option.c_str());
    const int result = api_.compile(program_, static_cast<int>(options.size()), options.data());
    out_.log = bytes(api_.log_size, api_.log);
    out_.log.resize(std::min(out_.log.find('\0'), out_.log.size()));
    if (!check(result, "")) return std::move(out_);
    out_.code = bytes(api_.code_size, api_.code);
    for (const std::string& expression : order_.expressions) {
      const char* name = nullptr;
      if (!check(api_.lowered(program_, expression.c_str(), &name), "name expression '" + expression + "': ")) break;
      out_.lowered.emplace_back(name);
    }
    return std::move(out_);
  }

 private:
  bool open() {
    std::vector<std::string> names = order_.candidates;
    if (!order_.library.empty()) names = {order_.library};
    std::string why;
    for (const std::string& name : names) {
      std::string problem;
      library_ = LoadedLibrary::open(name, problem);
      if (library_) {
        const std::string missing = find_functions(library_, api_);
        if (missing.empty()) return true;
        problem = library_.path() + " lacks " + missing;
      }
      why += (why.empty() ? "" : "; ") + problem;
    }
    out_.result = -1;
    out_.problem = why;
    return false;
  }

  bool create() {
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const auto& [name, text] : order_.headers) {
      names.push_back(name.c_str());
      texts.push_back(text.c_str());
    }
    if (!check(api_.create(&program_, order_.source.c_str(), order_.name.c_str(), static_cast<int>(texts.size()),
                           texts.data(), names.data()),
               "the source was not taken: "))
      return false;
    return std::all_of(order_.expressions.begin(), order_.expressions.end(), [this](const std::string& expression) {
      return check(api_.add_name(program_, expression.c_str()), "name expression '" + expression + "': ");
    });
  }

  WorkerOpened what_was_opened() {
    WorkerOpened opened;
    opened.path = library_.path();
    int major = 0;
    int minor = 0;
    if (api_.version(&major, &minor) == 0) opened.version = std::to_string(major) + "." + std::to_string(minor);
    if (int version = 0; api_.runtime_version != nullptr && api_.runtime_version(&version) == 0)
      opened.version += " (HIP " + std::to_string(version) + ")";
    for (const std::string& file : loaded_files()) {
      if (before_.count(file) == 0) opened.files.push_back(file);
    }
    return opened;
  }

  bool check(int result, const std::string& doing) {
    if (result == 0) return true;
    const char* text = api_.error_string(result);
    out_.result = result;
    out_.problem = doing + (text != nullptr ? text : "no reason given");
    return false;
  }

  [[nodiscard]] std::string bytes(int (*size_of)(Program, std::size_t*), int (*get)(Program, char*)) const {
    std::size_t size = 0;
    if (size_of(program_, &size) != 0 || size == 0) return {};
    std::string out(size, '\0');
    return get(program_, out.data()) == 0 ? out : std::string();
  }

  const CompileOrder& order_;
  std::set<std::string> before_;
  LoadedLibrary library_;
  Api api_;
  Program program_ = nullptr;
  WorkerDone out_;
};

}  // namespace

WorkerDone compile(const CompileOrder& order, const std::function<void(const WorkerOpened&)>& opened) {
  return Compile(order).run(opened);
}

}  // namespace tlcb::worker
