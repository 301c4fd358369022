// SPDX-License-Identifier: MIT
// Ctrl-C and closed pipes.
#include "signals.hpp"

#include <atomic>
#include <csignal>

namespace tlc::tool {
namespace {

// What a signal handler may touch: lock-free atomics only.
std::atomic<int> noted{0};
std::atomic<tlc_cancel*> token{nullptr};
static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<tlc_cancel*>::is_always_lock_free);

void note(int signal) {
  noted.store(signal);
  if (tlc_cancel* cancel = token.load()) tlc_cancel_trigger(cancel);
}

void ignore(int) {}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

// A handler that does nothing, not SIG_IGN: exec resets a handler, and hands on what is ignored.
void survive_closed_pipes() {
  handle(SIGPIPE, ignore, SA_RESTART);
}

Interruptible::Interruptible(tlc_cancel* cancel) {
  token.store(cancel);
  handle(SIGINT, note, SA_RESETHAND);
  handle(SIGTERM, note, SA_RESETHAND);
}

Interruptible::~Interruptible() {
  handle(SIGINT, SIG_DFL, 0);
  handle(SIGTERM, SIG_DFL, 0);
  token.store(nullptr);
}

int interrupted() {
  return noted.load();
}

}  // namespace tlc::tool
