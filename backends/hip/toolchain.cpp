// SPDX-License-Identifier: MIT
#include "hip/toolchain.hpp"

#include <optional>

#include "support/failure.hpp"
#include "support/toolchain.hpp"

namespace tlcb::hip {
namespace {

std::string identity_of(Host host, tlc_call* call, const Toolchain& toolchain, const TargetId& target) {
  if (const Hiprtc* hiprtc = toolchain.hiprtc()) return hiprtc->identity(host, call);
  return toolchain.clang().identity(host, call, target);
}

/// By itself: hiprtc if it knows the arch; else clang; else hiprtc all the same, which then says what is wrong.
std::variant<Hiprtc, Clang> choose(Host host, tlc_call* call, const TargetId& target, Facts& facts) {
  std::optional<Hiprtc> hiprtc;
  std::string no_hiprtc;
  try {
    hiprtc = find_hiprtc(host, call, environment("TLC_HIPRTC"), target, facts);
    if (hiprtc->knows_arch) return *std::move(hiprtc);
  } catch (const Failure& failure) {
    if (failure.status() != TLC_E_UNAVAILABLE) throw;
    no_hiprtc = failure.what();
  }
  try {
    return find_clang(host, call, environment("TLC_HIP_CLANG"), target, facts);
  } catch (const Failure& failure) {
    if (failure.status() != TLC_E_UNAVAILABLE) throw;
    if (hiprtc) return *std::move(hiprtc);
    throw Failure(TLC_E_UNAVAILABLE, no_hiprtc + ". And " + failure.what());
  }
}

std::string name_of(const std::string& wanted, const TargetId& target) {
  return target.text() + " " + wanted;
}

}  // namespace

Toolchain ToolchainFinder::get(Host host, tlc_call* call, const std::string& wanted, const TargetId& target) {
  const std::string name = name_of(wanted, target);
  const std::scoped_lock lock(mutex_);
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  Toolchain toolchain;
  if (wanted.empty()) {
    toolchain.compiler = choose(host, call, target, toolchain.facts);
  } else if (is_clang(wanted)) {
    toolchain.compiler = find_clang(host, call, wanted, target, toolchain.facts);
  } else {
    toolchain.compiler = find_hiprtc(host, call, wanted, target, toolchain.facts);
  }
  toolchain.identity = identity_of(host, call, toolchain, target);
  return known_.emplace(name, std::move(toolchain)).first->second;
}

void ToolchainFinder::check_same(Host host, tlc_call* call, const std::string& wanted, const TargetId& target,
                                 const Toolchain& toolchain) {
  if (identity_of(host, call, toolchain, target) == toolchain.identity) return toolchain.facts.note(host, call);
  const std::scoped_lock lock(mutex_);
  known_.erase(name_of(wanted, target));
  throw Failure(TLC_E_UNCACHEABLE, "the compiler for " + target.text() +
                                       " is not the one any more that it was when the key was made; ask again");
}

}  // namespace tlcb::hip
