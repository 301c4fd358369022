// SPDX-License-Identifier: MIT
// Result<T>: a value or an Error. The core returns these instead of throwing across folders.
//
// Exceptions are left for what no caller can handle (std::bad_alloc); the C API turns those into a
// status too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "tlcache/tlcache.h"

namespace tlc {

/// Why something failed: a public status, the errno behind it (0 if none), a backend's own code,
/// and one sentence.
struct Error {
  tlc_status status = TLC_E_INTERNAL;
  int sys_errno = 0;
  std::int64_t backend_code = 0;
  std::string message;
};

/// An I/O error: "<what>: <text of errno>".
[[nodiscard]] Error io_error(int err, std::string_view what);

/// An error without an errno.
[[nodiscard]] inline Error make_error(tlc_status status, std::string message) {
  return Error{status, 0, 0, std::move(message)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }
  [[nodiscard]] Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT
  [[nodiscard]] bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  [[nodiscard]] const Error& error() const& { return error_; }
  [[nodiscard]] Error&& error() && { return std::move(error_); }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace tlc
