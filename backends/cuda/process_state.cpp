// SPDX-License-Identifier: MIT
#include "cuda/process_state.hpp"

#include <signal.h>

#include <array>
#include <mutex>
#include <utility>

#include "support/loaded_library.hpp"

namespace tlcb::cuda {
namespace {

constexpr int kSignals = 32;

struct Noted {
  std::mutex mutex;
  int compiles = 0;
  std::array<struct sigaction, kSignals> handlers{};
  std::array<bool, kSignals> known{};
};

Noted& noted() {
  static Noted one;
  return one;
}

const void* handler_address(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ? reinterpret_cast<const void*>(action.sa_sigaction)
                                             : reinterpret_cast<const void*>(action.sa_handler);
}

}  // namespace

KeepSignalHandlers::KeepSignalHandlers(std::string library_path) : library_path_(std::move(library_path)) {
  Noted& all = noted();
  const std::scoped_lock lock(all.mutex);
  if (all.compiles++ > 0) return;
  for (int signal = 1; signal < kSignals; ++signal) {
    const auto i = static_cast<std::size_t>(signal);
    all.known[i] = ::sigaction(signal, nullptr, &all.handlers[i]) == 0;
  }
}

KeepSignalHandlers::~KeepSignalHandlers() {
  Noted& all = noted();
  const std::scoped_lock lock(all.mutex);
  if (--all.compiles > 0) return;
  for (int signal = 1; signal < kSignals; ++signal) {
    const auto i = static_cast<std::size_t>(signal);
    struct sigaction now {};
    if (!all.known[i] || ::sigaction(signal, nullptr, &now) != 0) continue;
    if (handler_address(now) == handler_address(all.handlers[i])) continue;
    if (belongs_to(handler_address(now), library_path_)) ::sigaction(signal, &all.handlers[i], nullptr);
  }
}

}  // namespace tlcb::cuda
