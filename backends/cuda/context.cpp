// SPDX-License-Identifier: MIT
#include "cuda/context.hpp"

#include <cstdint>
#include <optional>

namespace tlcb::cuda {
namespace {

CuContext given_context(const tlc_load_options* options) {
  if (options == nullptr || options->struct_size < TLC_SIZEOF(tlc_load_options, context)) return nullptr;
  return static_cast<CuContext>(options->context);
}

/// 0 and -1 leave the choice to the caller's current context.
std::int64_t given_device(const tlc_load_options* options) {
  if (options == nullptr || options->struct_size < TLC_SIZEOF(tlc_load_options, device)) return 0;
  if (options->device < -1 || options->device > INT32_MAX) {
    throw Failure(TLC_E_INVALID, "there is no device " + std::to_string(options->device));
  }
  return options->device;
}

CuContext current_context(const Driver& driver) {
  CuContext current = nullptr;
  driver.check(driver.api.context_current(&current), "the current context cannot be found");
  return current;
}

CuDevice device_of(const Driver& driver, CuContext context) {
  const CurrentContext pushed(driver, context);
  CuDevice device = 0;
  driver.check(driver.api.context_device(&device), "the context does not tell its device");
  return device;
}

/// A context that is there already: the one given, or the caller's.
CuContext present_context(const Driver& driver, const tlc_load_options* options) {
  if (CuContext given = given_context(options)) return given;
  CuContext current = current_context(driver);
  const std::int64_t wanted = given_device(options);
  if (current == nullptr || wanted <= 0) return current;
  return device_of(driver, current) == driver.device(static_cast<int>(wanted)) ? current : nullptr;
}

CuDevice wanted_device(const Driver& driver, const tlc_load_options* options) {
  const std::int64_t wanted = given_device(options);
  return driver.device(wanted > 0 ? static_cast<int>(wanted) : 0);
}

}  // namespace

CuContext choose_context(Driver& driver, const tlc_load_options* options) {
  if (CuContext context = present_context(driver, options)) return context;
  return driver.primary_context(wanted_device(driver, options));
}

CuDevice choose_device(Driver& driver, const tlc_load_options* options) {
  if (CuContext context = present_context(driver, options)) return device_of(driver, context);
  return wanted_device(driver, options);
}

}  // namespace tlcb::cuda
