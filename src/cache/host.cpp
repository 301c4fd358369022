// SPDX-License-Identifier: MIT
// The services for backends: a table of functions, since a plugin never links this library.
#include <exception>
#include <new>
#include <utility>

#include "backend/blob.hpp"
#include "cache/cache.hpp"
#include "cache/log.hpp"
#include "cache/values.hpp"
#include "key/encode.hpp"
#include "key/key.hpp"

namespace tlc::cache {
namespace {

constexpr std::string_view kMemoNamespace = "tlc.memo";
constexpr std::string_view kMemoMember = "value";
constexpr std::size_t kMostMemo = std::size_t{64} << 10;

/// Runs what may throw; nothing that does leaves the library.
template <typename Body>
tlc_status guarded(tlc_error* error, const Body& body) noexcept {
  try {
    Result<tlc_status> done = body();
    return done ? *done : fill_error(error, done.error());
  } catch (const std::bad_alloc&) {
    return fill_error(error, make_error(TLC_E_NOMEM, "out of memory"));
  } catch (const std::exception& thrown) {
    return fill_error(error, make_error(TLC_E_INTERNAL, thrown.what()));
  }
}

Result<tlc_status> status_of(Result<void> done) {
  if (done) return tlc_status{TLC_OK};
  return std::move(done).error();
}

void host_log(std::int32_t level, tlc_str component, tlc_str message) {
  log(level, view_of(component), view_of(message));
}

tlc_status host_fail(tlc_error* error, tlc_status status, std::int32_t sys_errno, std::int64_t backend_code,
                     tlc_str message) {
  return guarded(error, [&]() -> Result<tlc_status> {
    return Error{status, sys_errno, backend_code, std::string(view_of(message))};
  });
}

tlc_blob* host_blob_create(const void* data, std::size_t len) {
  try {
    return backend::make_blob(std::string(static_cast<const char*>(data), data == nullptr ? 0 : len)).release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

const char* host_blob_data(const tlc_blob* blob, std::size_t* len) {
  if (len != nullptr) *len = blob == nullptr ? 0 : blob->bytes.size();
  return blob == nullptr ? nullptr : blob->bytes.c_str();
}

void host_blob_release(tlc_blob* blob) {
  backend::BlobFree{}(blob);
}

tlc_status host_bundle_add(tlc_bundle* bundle, tlc_str name, std::uint32_t type, const void* data, std::size_t len,
                           std::uint32_t flags, tlc_error* error) {
  return guarded(error, [&] {
    return status_of(bundle->bundle.add(view_of(name), type, {static_cast<const std::uint8_t*>(data), len},
                                        (flags & TLC_BUNDLE_BORROW) != 0));
  });
}

tlc_status host_bundle_add_guard(tlc_bundle* bundle, tlc_str path, const std::uint8_t* digest, tlc_error* error) {
  return guarded(error, [&] {
    std::optional<trust::Digest> content;
    if (digest != nullptr) std::copy(digest, digest + TLC_DIGEST_SIZE, content.emplace().bytes.begin());
    return status_of(bundle->bundle.add_guard(view_of(path), content));
  });
}

tlc_status host_bundle_add_absent(tlc_bundle* bundle, tlc_str path, tlc_error* error) {
  return guarded(error, [&] { return status_of(bundle->bundle.add_absent(view_of(path))); });
}

void host_log_append(tlc_log* log, tlc_str text) {
  if (log != nullptr)
    (void)guarded(nullptr, [&]() -> Result<tlc_status> {
      log->text.append(view_of(text));
      return tlc_status{TLC_OK};
    });
}

tlc_status host_artifact_folder(tlc_artifact* artifact, tlc_blob** path, tlc_error* error) {
  return guarded(error, [&]() -> Result<tlc_status> {
    Result<std::string> folder = to_core(artifact)->folder();
    if (!folder) return std::move(folder).error();
    *path = backend::make_blob(std::move(*folder)).release();
    return tlc_status{TLC_OK};
  });
}

tlc_str host_artifact_target(const tlc_artifact* artifact) {
  return str_of(key_text(*to_core(artifact), key::kFieldTarget));
}

tlc_status file_fact(tlc_call* call, tlc_str path, std::uint8_t* digest, store::FileFact fact, tlc_error* error) {
  return guarded(error, [&]() -> Result<tlc_status> {
    const std::string name(view_of(path));
    Result<trust::Digest> made = call->cache->local().files().digest_of(name.c_str(), fact);
    if (!made) return std::move(made).error();
    std::copy(made->bytes.begin(), made->bytes.end(), digest);
    return tlc_status{TLC_OK};
  });
}

tlc_status host_file_identity(tlc_call* call, tlc_str path, std::uint8_t* digest, tlc_error* error) {
  return file_fact(call, path, digest, store::FileFact::identity, error);
}

tlc_status host_file_digest(tlc_call* call, tlc_str path, std::uint8_t* digest, tlc_error* error) {
  return file_fact(call, path, digest, store::FileFact::content, error);
}

/// Facts are artifacts in a namespace of the library's own.
Result<key::Key> memo_key(const tlc_call& call, const void* data, std::size_t len) {
  key::Builder builder(key::Origin::library);
  builder.set_namespace(kMemoNamespace);
  builder.set_no_toolchain();
  builder.add_text("backend", call.backend);
  builder.add_bytes("key", {static_cast<const std::uint8_t*>(data), len});
  return builder.finish();
}

tlc_status host_memo_get(tlc_call* call, const void* data, std::size_t len, tlc_blob** value, tlc_error* error) {
  return guarded(error, [&]() -> Result<tlc_status> {
    *value = nullptr;
    Result<key::Key> key = memo_key(*call, data, len);
    if (!key) return std::move(key).error();
    const Look found = call->cache->get_quietly(*key);
    const store::MemberView* member = found.artifact ? found.artifact->find(kMemoMember) : nullptr;
    if (member == nullptr) return tlc_status{TLC_MISS};
    *value = host_blob_create(member->data.data(), member->data.size());
    return *value == nullptr ? tlc_status{TLC_E_NOMEM} : tlc_status{TLC_OK};
  });
}

tlc_status host_memo_put(tlc_call* call, const void* data, std::size_t len, const void* value, std::size_t value_len,
                         tlc_error* error) {
  return guarded(error, [&]() -> Result<tlc_status> {
    if (value_len > kMostMemo) return make_error(TLC_E_INVALID, "a remembered value has at most 64 KiB");
    Result<key::Key> key = memo_key(*call, data, len);
    if (!key) return std::move(key).error();
    Bundle bundle;
    if (Result<void> added =
            bundle.add(kMemoMember, TLC_MEMBER_OPAQUE, {static_cast<const std::uint8_t*>(value), value_len}, true);
        !added)
      return std::move(added).error();
    PublishMode mode;
    mode.want_artifact = false;
    Result<Published> done = call->cache->put(*key, bundle, mode);
    if (!done) return std::move(done).error();
    return done->status == TLC_EXISTED ? tlc_status{TLC_OK} : done->status;
  });
}

std::int32_t host_cancelled(const tlc_call* call) {
  return is_cancelled(call->cancel) ? 1 : 0;
}

}  // namespace

const tlc_host_api* host_api() {
  static const tlc_host_api api = {
      TLC_SIZEOF(tlc_host_api, cancelled),
      TLC_ABI_MAJOR,
      TLC_ABI_MINOR,
      host_log,
      host_fail,
      host_blob_create,
      host_blob_data,
      host_blob_release,
      request_find,
      value_type,
      value_text,
      value_int,
      value_f64,
      value_count,
      value_at,
      host_bundle_add,
      host_bundle_add_guard,
      host_bundle_add_absent,
      host_log_append,
      member_count,
      member_at,
      find_member,
      host_artifact_folder,
      host_artifact_target,
      host_file_identity,
      host_file_digest,
      host_memo_get,
      host_memo_put,
      host_cancelled,
  };
  return &api;
}

}  // namespace tlc::cache
