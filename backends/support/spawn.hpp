// SPDX-License-Identifier: MIT
// Running a compiler as a process, from within somebody else's process.
//
// - The child gets its own process group, default signals, exactly the environment given, and no
//   descriptor but 0, 1 and 2. Its standard input is a file in memory, so that nothing blocks and
//   no SIGPIPE can hit the host.
// - Standard output and error are drained together; neither can fill up and stop the child.
// - A host that ignores SIGCHLD, or reaps every child it can, makes waitpid answer ECHILD. The exit
//   status is then asked from the pidfd (Linux 6.15); where that is not to be had, the result is
//   `lost`: the child has ended, and the caller judges by what it left behind.
// - At the timeout, or when cancelled, the whole process group is killed.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tlcb {

struct SpawnRequest {
  std::string program;                               ///< absolute path
  std::vector<std::string> args;                     ///< without the program's own name
  std::vector<std::string> env;                      ///< NAME=value, all there is
  std::string folder;                                ///< working directory; empty: the host's
  std::string_view input;                            ///< for standard input
  std::chrono::milliseconds timeout{0};              ///< 0: none
  std::function<bool()> cancelled;                   ///< asked every 50 ms; may be empty
  std::size_t output_limit = std::size_t{64} << 20;  ///< of each stream; the rest is dropped
};

enum class Ended {
  not_started,  ///< code is errno
  exited,       ///< code is the exit status
  signalled,    ///< code is the signal
  timed_out,
  cancelled,
  lost  ///< ended, but somebody else took the status
};

struct SpawnResult {
  Ended ended = Ended::not_started;
  int code = 0;
  std::string output;  ///< standard output
  std::string errors;  ///< standard error

  [[nodiscard]] bool success() const { return ended == Ended::exited && code == 0; }
  /// "exited with status 1", "was killed by signal 11", ...
  [[nodiscard]] std::string describe() const;
};

[[nodiscard]] SpawnResult spawn(const SpawnRequest& request);

/// A program's absolute path: a name with a slash must be absolute already, one without is looked
/// for in the folders of $PATH that are absolute. Empty if it is not an executable file.
[[nodiscard]] std::string find_program(std::string_view name);

}  // namespace tlcb
