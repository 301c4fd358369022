// SPDX-License-Identifier: MIT
// The host's table in C++: text, errors, blobs with an owner. Header only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tlcache/backend.h"

namespace tlcb {

[[nodiscard]] inline tlc_str text(std::string_view view) {
  return {view.data(), view.size()};
}
[[nodiscard]] inline std::string_view view(tlc_str text) {
  if (text.data == nullptr) return {};
  return text.len == TLC_STRLEN ? std::string_view(text.data) : std::string_view(text.data, text.len);
}

/// Releases a blob through the table it came from.
struct BlobRelease {
  const tlc_host_api* host;
  void operator()(tlc_blob* blob) const { host->blob_release(blob); }
};
using Blob = std::unique_ptr<tlc_blob, BlobRelease>;

/// The services, with C++ types. A copy of a pointer: pass it by value.
class Host {
 public:
  explicit Host(const tlc_host_api* api) : api_(api) {}

  const tlc_host_api* operator->() const { return api_; }

  tlc_status fail(tlc_error* error, tlc_status status, std::string_view message, int sys_errno = 0) const {
    return api_->fail(error, status, sys_errno, 0, text(message));
  }

  void warn(std::string_view component, std::string_view message) const {
    api_->log(TLC_LOG_WARN, text(component), text(message));
  }

  /// Hands bytes out through a slot's out parameter.
  tlc_status give(tlc_blob** out, std::string_view bytes, tlc_error* error) const {
    *out = api_->blob_create(bytes.data(), bytes.size());
    return *out != nullptr ? TLC_OK : fail(error, TLC_E_NOMEM, "out of memory");
  }

  /// A remembered fact; false when it is not remembered (or cannot be read, which is the same).
  bool recall(tlc_call* call, std::string_view key, std::string& value) const {
    tlc_blob* raw = nullptr;
    if (api_->memo_get(call, key.data(), key.size(), &raw, nullptr) != TLC_OK) return false;
    const Blob blob(raw, BlobRelease{api_});
    std::size_t len = 0;
    const char* data = api_->blob_data(blob.get(), &len);
    value.assign(data, len);
    return true;
  }

  /// Remembers a fact; a store that cannot only costs the time to find it out again.
  void remember(tlc_call* call, std::string_view key, std::string_view value) const {
    (void)api_->memo_put(call, key.data(), key.size(), value.data(), value.size(), nullptr);
  }

 private:
  const tlc_host_api* api_;
};

}  // namespace tlcb
