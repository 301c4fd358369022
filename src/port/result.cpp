// SPDX-License-Identifier: MIT
// How an errno becomes an Error.
#include "port/result.hpp"

#include <cerrno>
#include <system_error>

namespace tlc {

namespace {

tlc_status status_of(int err) {
  switch (err) {
    case ENOENT:
    case ENOTDIR:
      return TLC_E_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
      return TLC_E_DENIED;
    case ENOMEM:
      return TLC_E_NOMEM;
    case EEXIST:
      return TLC_E_EXISTS;
    default:
      return TLC_E_IO;
  }
}

}  // namespace

Error io_error(int err, std::string_view what) {
  Error error{status_of(err), err, 0, std::string(what)};
  error.message += ": ";
  error.message += std::generic_category().message(err);  // strerror is not safe between threads
  return error;
}

}  // namespace tlc
