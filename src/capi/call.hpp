// SPDX-License-Identifier: MIT
// What every function of the C API does around its call of the core: out parameters, arguments, options, exceptions.
#pragma once

#include <cxxabi.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "backend/blob.hpp"
#include "cache/cache.hpp"
#include "cache/values.hpp"
#include "port/result.hpp"

namespace tlc::capi {

using cache::give_struct;
using cache::str_of;
using cache::to_core;
using cache::to_public;
using cache::view_of;

/// Runs a body that returns Result<tlc_status>; fills the error for every status but TLC_OK that carries a reason.
/// Nothing that is thrown leaves it, but the unwinding of pthread_cancel, which must not be stopped.
template <typename Body>
tlc_status call(tlc_error* error, const Body& body) {
  try {
    Result<tlc_status> done = body();
    return done ? *done : cache::fill_error(error, done.error());
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (const std::bad_alloc&) {
    return cache::fill_error(error, make_error(TLC_E_NOMEM, std::string()));
  } catch (const std::exception& thrown) {
    return cache::fill_error(error, make_error(TLC_E_INTERNAL, thrown.what()));
  } catch (...) {
    return cache::fill_error(error, make_error(TLC_E_INTERNAL, std::string()));
  }
}

inline Error invalid(std::string message) {
  return make_error(TLC_E_INVALID, std::move(message));
}

/// A required pointer.
#define TLC_REQUIRE(pointer) \
  if ((pointer) == nullptr) return ::tlc::capi::invalid(#pointer " is NULL")

inline Result<tlc_status> status_of(Result<void> done) {
  if (done) return tlc_status{TLC_OK};
  return std::move(done).error();
}

/// Hands text out as a blob.
inline tlc_status give(tlc_blob** out, std::string text) {
  *out = backend::make_blob(std::move(text)).release();
  return TLC_OK;
}

/// Copies a caller's options into `into`, which holds the defaults and our struct_size. A smaller struct leaves the
/// rest at its default; a larger one is accepted if what we do not know is zero.
template <typename Options>
Result<void> read_options(const Options* from, Options& into, const char* name) {
  if (from == nullptr) return {};
  const std::size_t known = into.struct_size;
  const std::size_t given = from->struct_size;
  if (given < sizeof(std::size_t)) return invalid(std::string(name) + ".struct_size is not set; use " + name + "_init");
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  if (given > known &&
      std::any_of(bytes + known, bytes + std::min(given, known + 4096), [](unsigned char byte) { return byte != 0; }))
    return make_error(TLC_E_UNSUPPORTED,
                      std::string(name) + " sets an option that this version of the library does not know");
  std::memcpy(&into, from, std::min(given, known));
  into.struct_size = known;
  return {};
}

}  // namespace tlc::capi
