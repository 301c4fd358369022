// SPDX-License-Identifier: MIT
// From a request to its key: target resolved, engine chosen, toolchain identified.
#include <sys/utsname.h>

#include <utility>

#include "cache/cache.hpp"
#include "key/target.hpp"
#include "port/system.hpp"

namespace tlc::cache {
namespace {

/// What code of a host-bound backend depends on beside its target.
const std::string& host_text() {
  static const std::string text = [] {
    struct utsname name {};
    if (::uname(&name) != 0) return std::string("unknown");
    return std::string(name.machine) + "-" + name.sysname + "-" + port::libc_version();
  }();
  return text;
}

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Result<key::Key> Cache::make_key(const tlc_request& request, const tlc_cancel* cancel) {
  const key::Request& wanted = request.request;
  if (wanted.target().empty()) return wanted.make_key("", wanted.engine());
  Result<key::Target> parsed = key::Target::parse(wanted.target());
  if (!parsed) return std::move(parsed).error();
  Result<std::shared_ptr<backend::Entry>> found = registry().find(parsed->kind(), wanted.engine());
  if (!found) {
    // Nobody registered it: stored as it is, if the request says all that a backend would have said.
    const bool stated = wanted.toolchain().has_value() || wanted.no_toolchain();
    if (!stated || !parsed->resolved()) return std::move(found).error();
    return wanted.make_key(parsed->canonical(), wanted.engine());
  }
  const backend::Entry::Call backend(**found);
  if (!backend) return backend.refused();
  tlc_call call{this, backend->name(), cancel};
  std::string target = parsed->canonical();
  if (backend->can_resolve()) {
    Result<std::string> resolved = backend->resolve_target(&call, target);
    if (!resolved) return std::move(resolved).error();
    target = std::move(*resolved);
  }
  std::optional<std::string> identity;
  if (backend->can_identify() && !wanted.toolchain() && !wanted.no_toolchain()) {
    Result<std::string> identified = backend->identify(&call, &request, target);
    if (!identified) return std::move(identified).error();
    identity = std::move(*identified);
  }
  std::optional<std::span<const std::uint8_t>> toolchain;
  if (identity) toolchain = bytes_of(*identity);
  std::optional<std::string_view> host;
  if (backend->host_bound()) host = host_text();
  return wanted.make_key(target, backend->engine(), toolchain, host);
}

}  // namespace tlc::cache
