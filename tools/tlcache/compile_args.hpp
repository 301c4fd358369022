// SPDX-License-Identifier: MIT
// The options that say what to compile; `compile` and `why` take the same.
//
// They become the request's fields, whatever the target kind:
//   source        text   the file's content
//   language      text   from --language or the file's ending; left out when neither says it
//   options       list   -O, --std, then each --option, in order; for kind cpu then -iquote and
//                        the file's folder, when it includes "..."
//   defines       map    -D NAME=VALUE as text, -D NAME as null
//   include_dirs  list   absolute paths; for other kinds than cpu the file's folder first, likewise
//   compiler      text   --compiler
#pragma once

#include <string>
#include <vector>

#include "common.hpp"

namespace tlc::tool {

struct CompileArgs {
  std::string file;
  std::string target;
  std::string engine;
  std::string name_space = "cli";
  std::string label;
  std::string language;
  std::string standard;
  std::string optimize;
  std::string compiler;
  std::vector<std::string> options;
  std::vector<std::string> defines;
  std::vector<std::string> include_dirs;
  std::vector<std::string> fields;
};

/// Adds the options, but not the positional FILE.
void add_compile_options(CLI::App& command, CompileArgs& args);
Request build_request(const CompileArgs& args);

/// An error of the library about a target that no backend serves, with what is registered.
[[noreturn]] void fail_with_backends(tlc_cache* cache, const CompileArgs& args, tlc_status status,
                                     const tlc_error& error);

}  // namespace tlc::tool
