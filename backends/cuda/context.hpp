// SPDX-License-Identifier: MIT
// The context a call works in: current for as long as the call takes, never longer.
#pragma once

#include "cuda/driver.hpp"

namespace tlcb::cuda {

/// options->context; else the caller's current one, unless the options name another device; else the primary context of
/// options->device (0).
[[nodiscard]] CuContext choose_context(Driver& driver, const tlc_load_options* options);

/// The device that choose_context would take, without making a context.
[[nodiscard]] CuDevice choose_device(Driver& driver, const tlc_load_options* options);

/// Makes a context current, and the one before again: nothing to do where it is the same.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, CuContext context) : driver_(driver) {
    CuContext now = nullptr;
    if (driver.api.context_current(&now) == kCuOk && now == context) return;
    driver.check(driver.api.context_push(context), "the context cannot be used");
    pushed_ = true;
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext() {
    if (!pushed_) return;
    CuContext gone = nullptr;
    (void)driver_.api.context_pop(&gone);
  }

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

}  // namespace tlcb::cuda
