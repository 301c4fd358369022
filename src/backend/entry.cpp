// SPDX-License-Identifier: MIT
// Entry: who is inside a backend, and when it may be closed.
//
// running_ holds, in one word, the process that counted (its fork epoch) and the number of calls.
// In a forked child the calls of the parent's other threads are not there; the first child that
// enters starts the count anew.
#include <limits>
#include <string>
#include <utility>

#include "backend/registry.hpp"
#include "port/fork.hpp"

namespace tlc::backend {
namespace {

/// The innermost Call of this thread; each knows the one around it.
thread_local Entry::Call* innermost = nullptr;

std::uint32_t this_process() {
  return static_cast<std::uint32_t>(port::fork_epoch());
}

constexpr std::uint64_t pack(std::uint32_t epoch, std::uint32_t calls) {
  return (std::uint64_t{epoch} << 32) | calls;
}
constexpr std::uint32_t epoch_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}
constexpr std::uint32_t calls_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}

}  // namespace

Entry::Entry(Ops ops, const tlc_backend_ops* table, void* state, std::string origin)
    : ops_(std::move(ops)), table_(table), state_(state), origin_(std::move(origin)) {}

bool Entry::enter(std::uint32_t& epoch) {
  epoch = this_process();
  std::uint64_t word = running_.load();
  std::uint64_t next = 0;
  do {
    next = epoch_of(word) == epoch ? word + 1 : pack(epoch, 1);
  } while (!running_.compare_exchange_weak(word, next));
  // Count first, then look: whoever closes sets the flag first, then looks at the count.
  if (!closing_.load()) return true;
  leave(epoch);
  return false;
}

void Entry::leave(std::uint32_t epoch) {
  std::uint64_t word = running_.load();
  do {
    if (epoch_of(word) != epoch || calls_of(word) == 0) return;  // counted by another process
  } while (!running_.compare_exchange_weak(word, word - 1));
  if (closing_.load()) running_.notify_all();
}

void Entry::wait_for_calls() const {
  for (std::uint64_t word = running_.load(); epoch_of(word) == this_process() && calls_of(word) != 0;
       word = running_.load()) {
    running_.wait(word);
  }
}

Entry::Call* Entry::running_on_this_thread() const {
  Call* outermost = nullptr;
  for (Call* call = innermost; call != nullptr; call = call->outer_) {
    if (call->entry_ == this) outermost = call;
  }
  return outermost;
}

void Entry::remove_module() {
  if (modules_.fetch_sub(1) == (kRetired | 1)) ops_.close();
}

void Entry::retire() {
  if (!start_closing()) return;
  if (Call* outer = running_on_this_thread()) {
    // Waiting for itself would never end: the Call closes the backend on its way out.
    add_module();
    outer->owes_module_ = true;
  } else {
    wait_for_calls();
  }
  if (modules_.fetch_or(kRetired) == 0) ops_.close();
}

Entry::Call::Call(Entry& entry) : entry_(&entry) {
  entered_ = entry.enter(epoch_);
  if (!entered_) return;
  outer_ = innermost;
  innermost = this;
}

Entry::Call::~Call() {
  if (!entered_) return;
  innermost = outer_;
  entry_->leave(epoch_);
  if (owes_module_) entry_->remove_module();
}

Error Entry::Call::refused() const {
  return make_error(TLC_E_NOT_FOUND, "backend '" + entry_->ops_.name() + "' was taken out of the registry");
}

}  // namespace tlc::backend
