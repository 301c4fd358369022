// SPDX-License-Identifier: MIT
// Status, text, errors, version, log.
#include <cstring>

#include "cache/log.hpp"
#include "capi/call.hpp"
#include "store/versions.hpp"
#include "trust/hash.hpp"

using namespace tlc;        // NOLINT: the definitions of the C API only call the core
using namespace tlc::capi;  // NOLINT

namespace {

struct StatusText {
  tlc_status status;
  const char* name;
  const char* message;
};

constexpr StatusText kStatus[] = {
    {TLC_OK, "TLC_OK", "done"},
    {TLC_MISS, "TLC_MISS", "nothing is stored for this key"},
    {TLC_REJECTED, "TLC_REJECTED", "what is stored is unusable"},
    {TLC_NOT_STORED, "TLC_NOT_STORED", "the artifact could not be kept"},
    {TLC_EXISTED, "TLC_EXISTED", "the key was already published"},
    {TLC_CONFLICT, "TLC_CONFLICT", "another generation was published"},
    {TLC_TIMEOUT, "TLC_TIMEOUT", "the deadline passed"},
    {TLC_LOCKED, "TLC_LOCKED", "the compile lock is yours"},
    {TLC_TOO_LARGE, "TLC_TOO_LARGE", "larger than an eighth of the store's limit"},
    {TLC_E_INVALID, "TLC_E_INVALID", "an argument is wrong"},
    {TLC_E_NOMEM, "TLC_E_NOMEM", "out of memory"},
    {TLC_E_IO, "TLC_E_IO", "the system refused"},
    {TLC_E_INTERNAL, "TLC_E_INTERNAL", "a fault of the library's"},
    {TLC_E_UNSUPPORTED, "TLC_E_UNSUPPORTED", "not supported"},
    {TLC_E_ABI, "TLC_E_ABI", "header, library or plugin do not fit together"},
    {TLC_E_EXISTS, "TLC_E_EXISTS", "another backend is registered there"},
    {TLC_E_NOT_FOUND, "TLC_E_NOT_FOUND", "no such thing"},
    {TLC_E_UNCACHEABLE, "TLC_E_UNCACHEABLE", "the request cannot be keyed"},
    {TLC_E_COMPILE, "TLC_E_COMPILE", "the source does not compile"},
    {TLC_E_LOAD, "TLC_E_LOAD", "the loader refused the artifact"},
    {TLC_E_UNAVAILABLE, "TLC_E_UNAVAILABLE", "not available on this machine"},
    {TLC_E_CANCELLED, "TLC_E_CANCELLED", "cancelled by the caller"},
    {TLC_E_FORKED, "TLC_E_FORKED", "the object belongs to the parent process"},
    {TLC_E_CALLBACK, "TLC_E_CALLBACK", "a callback asked to stop"},
    {TLC_E_DENIED, "TLC_E_DENIED", "refused for trust"},
    {TLC_E_BUSY, "TLC_E_BUSY", "in use elsewhere"},
    {TLC_E_CORRUPT, "TLC_E_CORRUPT", "stored bytes are not what was stored"},
};

const StatusText* find_status(tlc_status status) {
  for (const StatusText& one : kStatus)
    if (one.status == status) return &one;
  return nullptr;
}

}  // namespace

tlc_str tlc_str_from(const char* text) {
  return {text, text == nullptr ? 0 : std::strlen(text)};
}

void tlc_error_init(tlc_error* error) {
  if (error == nullptr) return;
  std::memset(error, 0, TLC_SIZEOF(tlc_error, message));
  error->struct_size = TLC_SIZEOF(tlc_error, message);
}

const char* tlc_status_name(tlc_status status) {
  const StatusText* found = find_status(status);
  return found == nullptr ? "?" : found->name;
}

const char* tlc_status_message(tlc_status status) {
  const StatusText* found = find_status(status);
  return found == nullptr ? "unknown status" : found->message;
}

const char* tlc_blob_data(const tlc_blob* blob, size_t* len) {
  if (len != nullptr) *len = blob == nullptr ? 0 : blob->bytes.size();
  return blob == nullptr ? nullptr : blob->bytes.c_str();
}

void tlc_blob_release(tlc_blob* blob) {
  backend::BlobFree{}(blob);
}

uint32_t tlc_version(void) {
  return TLC_VERSION;
}

const char* tlc_version_string(void) {
  return TLC_VERSION_STRING;
}

uint32_t tlc_abi_version(void) {
  return TLC_ABI_MAJOR << 16 | TLC_ABI_MINOR;
}

uint64_t tlc_features(void) {
  return TLC_FEATURE_STORE | TLC_FEATURE_PLUGINS | TLC_FEATURE_REMOTES;
}

const char* tlc_build_info(void) {
  static const std::string text = [] {
    std::string info = "tlcache " TLC_VERSION_STRING;
#if defined(__clang__)
    info += ", clang " __clang_version__;
#elif defined(__GNUC__)
    info += ", gcc " __VERSION__;
#endif
    return info + ", lmdb " + store::lmdb_version() + ", libsodium " + trust::sodium_version() + ", xxhash " +
           trust::xxhash_version();
  }();
  return text.c_str();
}

tlc_status tlc_set_log(int32_t level, tlc_log_fn fn, void* user_data, void (*destroy)(void*), tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    if (level < TLC_LOG_OFF || level > TLC_LOG_DEBUG) {
      if (destroy != nullptr) destroy(user_data);
      return invalid("level is none of TLC_LOG_*");
    }
    cache::set_log(level, fn, user_data, destroy);
    return tlc_status{TLC_OK};
  });
}

void tlc_log_append(tlc_log* log, tlc_str text) {
  if (log != nullptr)
    (void)call(nullptr, [&]() -> Result<tlc_status> {
      log->text.append(view_of(text));
      return tlc_status{TLC_OK};
    });
}
