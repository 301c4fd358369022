// SPDX-License-Identifier: MIT
// tlcache-worker, the process in which a compiler that may kill its host is run.
//
// It is found beside the library, or where it was installed relative to it; TLC_WORKER names another one by its
// absolute path. It gets an environment of few variables, an empty folder as its working and temporary folder, which is
// removed afterwards whatever happened in it, and no descriptor but its standard ones.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/spawn.hpp"
#include "support/worker_protocol.hpp"

namespace tlcb {

/// The worker's path; throws Failure (TLC_E_UNAVAILABLE) that says where it was looked for.
[[nodiscard]] std::string find_worker();

struct WorkerAnswer {
  std::optional<WorkerOpened> opened;
  std::optional<WorkerDone> done;    ///< none: the worker died, or was stopped; `ended` says how
  std::vector<std::string> answers;  ///< of a task's handler
  std::string said;                  ///< what came on standard error
  SpawnResult ended;
};

/// Runs one order. Throws Failure where there is no worker, it is of another version, or was cancelled.
[[nodiscard]] WorkerAnswer run_worker(const CompileOrder& order, const std::function<bool()>& cancelled,
                                      std::chrono::milliseconds timeout);
/// The same with a task. `environment`: NAME=value, what its handler needs besides.
[[nodiscard]] WorkerAnswer run_worker(const WorkerTask& task, const std::vector<std::string>& environment,
                                      const std::function<bool()>& cancelled, std::chrono::milliseconds timeout);

}  // namespace tlcb
