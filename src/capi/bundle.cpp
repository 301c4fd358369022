// SPDX-License-Identifier: MIT
// Bundles.
#include "capi/call.hpp"

using namespace tlc;        // NOLINT: the definitions of the C API only call the core
using namespace tlc::capi;  // NOLINT

tlc_status tlc_bundle_create(tlc_bundle** bundle, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(bundle);
    *bundle = nullptr;
    *bundle = std::make_unique<tlc_bundle>().release();
    return tlc_status{TLC_OK};
  });
}

void tlc_bundle_destroy(tlc_bundle* bundle) {
  std::default_delete<tlc_bundle>()(bundle);
}

tlc_status tlc_bundle_add(tlc_bundle* bundle, tlc_str name, uint32_t type, const void* data, size_t len, uint32_t flags,
                          tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(bundle);
    if (data == nullptr && len != 0) return invalid("data is NULL and len is not 0");
    if ((flags & ~uint32_t{TLC_BUNDLE_BORROW}) != 0)
      return make_error(TLC_E_UNSUPPORTED, "flags has an unknown TLC_BUNDLE_* bit");
    return status_of(bundle->bundle.add(view_of(name), type, {static_cast<const uint8_t*>(data), len},
                                        (flags & TLC_BUNDLE_BORROW) != 0));
  });
}

tlc_status tlc_bundle_set_compile_time(tlc_bundle* bundle, uint64_t microseconds, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(bundle);
    bundle->bundle.set_compile_us(microseconds);
    return tlc_status{TLC_OK};
  });
}

tlc_status tlc_bundle_set_label(tlc_bundle* bundle, tlc_str label, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(bundle);
    return status_of(bundle->bundle.set_label(view_of(label)));
  });
}

tlc_status tlc_bundle_add_guard(tlc_bundle* bundle, tlc_str path, const uint8_t* digest, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(bundle);
    std::optional<trust::Digest> content;
    if (digest != nullptr) std::copy(digest, digest + TLC_DIGEST_SIZE, content.emplace().bytes.begin());
    return status_of(bundle->bundle.add_guard(view_of(path), content));
  });
}

tlc_status tlc_bundle_add_absent(tlc_bundle* bundle, tlc_str path, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(bundle);
    return status_of(bundle->bundle.add_absent(view_of(path)));
  });
}

tlc_status tlc_bundle_add_requirement(tlc_bundle* bundle, const tlc_key* key, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(bundle);
    TLC_REQUIRE(key);
    bundle->bundle.add_requirement(key->key.digest());
    return tlc_status{TLC_OK};
  });
}
