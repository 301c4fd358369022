// SPDX-License-Identifier: MIT
// Negotiation of a backend's table, and the guarded call of each slot.
#include "backend/ops.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "backend/blob.hpp"

namespace tlc::backend {
namespace {

constexpr std::size_t kMaxKinds = 64;

std::string versions(std::uint32_t major, std::uint32_t minor) {
  return "ABI " + std::to_string(major) + "." + std::to_string(minor);
}

std::string our_version() {
  return versions(TLC_ABI_MAJOR, TLC_ABI_MINOR);
}

bool all_of(std::string_view text, std::size_t limit, bool upper) {
  if (text.empty() || text.size() > limit) return false;
  return std::all_of(text.begin(), text.end(), [upper](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '+' || c == '-' ||
           (upper && c >= 'A' && c <= 'Z');
  });
}

/// The statuses a slot may return: TLC_OK, errors, and of the outcomes only "rejected".
bool is_slot_status(tlc_status status) {
  return status <= TLC_OK || status == TLC_REJECTED;
}

/// An out parameter for a slot's error, and what it says as an Error.
struct ErrorSlot {
  tlc_error raw{};

  ErrorSlot() { raw.struct_size = TLC_SIZEOF(tlc_error, message); }

  [[nodiscard]] Error take(const Ops& ops, const char* slot, tlc_status status) {
    raw.message[sizeof raw.message - 1] = '\0';
    Error error{status, raw.sys_errno, raw.backend_code, raw.message};
    if (!is_slot_status(status)) {
      error.status = TLC_E_CALLBACK;
      error.message = "backend '" + ops.name() + "': " + slot + " returned status " + std::to_string(status) +
                      ", which a slot may not return";
    } else if (error.message.empty()) {
      error.message = "backend '" + ops.name() + "': " + slot + " failed with status " + std::to_string(status) +
                      " and said no more";
    }
    return error;
  }
};

Error thrown(const Ops& ops, const char* slot, const char* what) {
  return make_error(TLC_E_CALLBACK, "backend '" + ops.name() + "': " + slot + " threw an exception: " + what);
}

/// Calls a slot that returns a status. What it throws becomes an Error; the forced unwind of a
/// cancelled thread passes, as it must.
template <typename Fn>
Result<void> guarded(const Ops& ops, const char* slot, Fn&& fn) {
  ErrorSlot error;
  tlc_status status = TLC_OK;
  try {
    status = fn(&error.raw);
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& e) {
    return thrown(ops, slot, e.what());
  } catch (...) {
    return thrown(ops, slot, "not a std::exception");
  }
  if (status == TLC_OK) return {};
  return error.take(ops, slot, status);
}

/// The same for a slot that hands out bytes.
template <typename Fn>
Result<std::string> guarded_bytes(const Ops& ops, const char* slot, Fn&& fn) {
  tlc_blob* raw = nullptr;
  Result<void> done = guarded(ops, slot, [&](tlc_error* error) { return fn(&raw, error); });
  const BlobPtr blob(raw);
  if (!done) return std::move(done).error();
  if (!blob) {
    return make_error(TLC_E_ABI, "backend '" + ops.name() + "': " + slot + " returned TLC_OK but set no result");
  }
  return std::move(blob->bytes);
}

/// A slot without a status, where nobody waits for an error.
template <typename Fn>
void guarded_quiet(Fn&& fn) {
  try {
    fn();
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (...) {  // NOLINT(bugprone-empty-catch): the contract is to swallow it
  }
}

tlc_str view(std::string_view text) {
  return tlc_str{text.data(), text.size()};
}

/// "the backend 'x' from y" or, while its name cannot be trusted, "the backend from y".
std::string who(const char* name, std::string_view origin) {
  std::string text = "the backend ";
  if (name != nullptr) text += "'" + std::string(name, strnlen(name, 128)) + "' ";
  return text + "from " + std::string(origin);
}

/// Sizes and versions: all that may be looked at before the rest can be trusted.
std::optional<Error> check_versions(const tlc_backend_ops& theirs, std::string_view origin) {
  const std::string from = "the backend from " + std::string(origin);
  if (theirs.struct_size < TLC_BACKEND_OPS_PREFIX) {
    return make_error(TLC_E_ABI, from + " gives a table of " + std::to_string(theirs.struct_size) +
                                     " bytes, fewer than the " + std::to_string(TLC_BACKEND_OPS_PREFIX) +
                                     " of the prefix that every version has; set struct_size to "
                                     "TLC_BACKEND_OPS_SIZE (this library has " +
                                     our_version() + ")");
  }
  if (theirs.abi_major != TLC_ABI_MAJOR) {
    return make_error(TLC_E_ABI, who(theirs.name, origin) + " was built for " +
                                     versions(theirs.abi_major, theirs.abi_minor) + ", this library has " +
                                     our_version() + "; the major numbers must be equal: rebuild the backend");
  }
  if ((theirs.struct_size - TLC_BACKEND_OPS_PREFIX) % sizeof(void*) != 0) {
    return make_error(TLC_E_ABI, who(theirs.name, origin) + " (" + versions(theirs.abi_major, theirs.abi_minor) +
                                     ") gives a table of " + std::to_string(theirs.struct_size) +
                                     " bytes, which ends inside a slot; set struct_size to "
                                     "TLC_BACKEND_OPS_SIZE (this library has " +
                                     our_version() + ")");
  }
  return std::nullopt;
}

Error malformed(const char* name, std::string_view origin, const std::string& what) {
  return make_error(TLC_E_INVALID, who(name, origin) + " " + what);
}

Result<std::vector<std::string>> read_kinds(const tlc_backend_ops& theirs, std::string_view origin) {
  std::vector<std::string> kinds;
  for (std::size_t i = 0; theirs.target_kinds[i] != nullptr; ++i) {
    if (i == kMaxKinds) {
      return malformed(theirs.name, origin,
                       "names more than " + std::to_string(kMaxKinds) + " target kinds; end the list with NULL");
    }
    std::string kind(theirs.target_kinds[i], strnlen(theirs.target_kinds[i], 128));
    if (!is_kind(kind)) {
      return malformed(
          theirs.name, origin,
          "names the target kind '" + kind + "'; a kind is 1 to 64 of [a-z0-9_.+-], and not auto or native");
    }
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
      return malformed(theirs.name, origin, "names the target kind '" + kind + "' twice");
    }
    kinds.push_back(std::move(kind));
  }
  if (kinds.empty()) return malformed(theirs.name, origin, "names no target kind");
  return kinds;
}

}  // namespace

bool is_kind(std::string_view text) {
  return all_of(text, 64, false) && text != "auto" && text != "native";
}

bool is_engine(std::string_view text) {
  return all_of(text, 128, true);
}

Result<Ops> Ops::negotiate(const tlc_backend_ops* theirs, void* state, std::string_view origin) {
  if (theirs == nullptr) {
    return make_error(TLC_E_INVALID, "the backend from " + std::string(origin) + " gives no table: ops is NULL");
  }
  if (auto error = check_versions(*theirs, origin)) return *std::move(error);

  Ops ops;
  std::memcpy(&ops.table_, theirs, std::min(theirs->struct_size, sizeof ops.table_));
  ops.state_ = state;
  const tlc_backend_ops& table = ops.table_;
  if (table.name == nullptr || *table.name == '\0') {
    return malformed(nullptr, origin, "has no name");
  }
  if (table.engine == nullptr) return malformed(table.name, origin, "has no engine: it is NULL");
  if (table.target_kinds == nullptr) {
    return malformed(table.name, origin, "has no target kinds: the list is NULL");
  }
  ops.name_.assign(table.name, strnlen(table.name, 128));
  ops.engine_.assign(table.engine, strnlen(table.engine, 256));
  if (!is_engine(ops.engine_)) {
    return malformed(table.name, origin, "names the engine '" + ops.engine_ + "'; it is 1 to 128 of [A-Za-z0-9_.+-]");
  }
  auto kinds = read_kinds(table, origin);
  if (!kinds) return std::move(kinds).error();
  ops.kinds_ = *std::move(kinds);
  return ops;
}

bool Ops::same_as(const Ops& other) const {
  return state_ == other.state_ && name_ == other.name_ && engine_ == other.engine_ && kinds_ == other.kinds_ &&
         table_.caps == other.table_.caps && table_.resolve_target == other.table_.resolve_target &&
         table_.identify == other.table_.identify && table_.compile == other.table_.compile &&
         table_.validate == other.table_.validate && table_.place == other.table_.place &&
         table_.load == other.table_.load && table_.symbol == other.table_.symbol &&
         table_.native == other.table_.native && table_.unload == other.table_.unload &&
         table_.probe == other.table_.probe && table_.close == other.table_.close &&
         table_.describe == other.table_.describe;
}

Error Ops::unsupported(const char* slot) const {
  return make_error(TLC_E_UNSUPPORTED, "backend '" + name_ + "' (engine " + engine_ + ") has no " + slot);
}

Result<std::string> Ops::resolve_target(tlc_call* call, std::string_view target) const {
  if (table_.resolve_target == nullptr) return unsupported("resolve_target");
  return guarded_bytes(*this, "resolve_target", [&](tlc_blob** out, tlc_error* error) {
    return table_.resolve_target(state_, call, view(target), out, error);
  });
}

Result<std::string> Ops::identify(tlc_call* call, const tlc_request* request, std::string_view target) const {
  if (table_.identify == nullptr) return unsupported("identify");
  return guarded_bytes(*this, "identify", [&](tlc_blob** out, tlc_error* error) {
    return table_.identify(state_, call, request, view(target), out, error);
  });
}

Result<void> Ops::compile(tlc_call* call, const tlc_request* request, std::string_view target, tlc_bundle* bundle,
                          tlc_log* log) const {
  if (table_.compile == nullptr) return unsupported("compile");
  return guarded(*this, "compile", [&](tlc_error* error) {
    return table_.compile(state_, call, request, view(target), bundle, log, error);
  });
}

Result<void> Ops::validate(tlc_call* call, const tlc_artifact* artifact, const tlc_load_options* options) const {
  if (table_.validate == nullptr) return {};
  return guarded(*this, "validate",
                 [&](tlc_error* error) { return table_.validate(state_, call, artifact, options, error); });
}

Result<std::uint64_t> Ops::place(tlc_call* call, const tlc_load_options* options) const {
  std::uint64_t place = 0;
  if (table_.place == nullptr) return place;
  auto done =
      guarded(*this, "place", [&](tlc_error* error) { return table_.place(state_, call, options, &place, error); });
  if (!done) return std::move(done).error();
  return place;
}

Result<void*> Ops::load(tlc_call* call, tlc_artifact* artifact, const tlc_load_options* options) const {
  if (table_.load == nullptr) return unsupported("load");
  void* module = nullptr;
  auto done = guarded(*this, "load",
                      [&](tlc_error* error) { return table_.load(state_, call, artifact, options, &module, error); });
  if (!done) return std::move(done).error();
  return module;
}

Result<void*> Ops::symbol(void* module, std::string_view name) const {
  if (table_.symbol == nullptr) return unsupported("symbol");
  void* address = nullptr;
  auto done = guarded(*this, "symbol",
                      [&](tlc_error* error) { return table_.symbol(state_, module, view(name), &address, error); });
  if (!done) return std::move(done).error();
  return address;
}

void* Ops::native(void* module) const {
  if (table_.native == nullptr) return module;
  void* handle = nullptr;
  guarded_quiet([&] { handle = table_.native(state_, module); });
  return handle;
}

void Ops::unload(void* module) const {
  if (table_.unload != nullptr) guarded_quiet([&] { table_.unload(state_, module); });
}

Result<std::string> Ops::probe(tlc_call* call) const {
  if (table_.probe == nullptr) return std::string("{}");
  return guarded_bytes(*this, "probe",
                       [&](tlc_blob** json, tlc_error* error) { return table_.probe(state_, call, json, error); });
}

void Ops::close() const {
  if (table_.close != nullptr) guarded_quiet([&] { table_.close(state_); });
}

Result<std::string> Ops::describe(tlc_call* call, const tlc_artifact* artifact) const {
  if (table_.describe == nullptr) return unsupported("describe");
  return guarded_bytes(*this, "describe", [&](tlc_blob** json, tlc_error* error) {
    return table_.describe(state_, call, artifact, json, error);
  });
}

}  // namespace tlc::backend
