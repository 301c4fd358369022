// SPDX-License-Identifier: MIT
// hiprtc, AMD's compiler as a library, in a process that it may kill.
#pragma once

#include <functional>

#include "support/worker_protocol.hpp"

namespace tlcb::worker {

/// Opens the library that the order names, tells `opened` what it is, then compiles. Whatever goes wrong is in the
/// answer, unless the library ends the process.
[[nodiscard]] WorkerDone compile(const CompileOrder& order, const std::function<void(const WorkerOpened&)>& opened);

}  // namespace tlcb::worker
