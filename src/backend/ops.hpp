// SPDX-License-Identifier: MIT
// Ops: a backend's table as this library understands it, and a checked call for each of its slots.
//
// negotiate() copies min(theirs, ours) bytes of the caller's table into a zeroed table of our own
// and never reads theirs again. Each call checks the slot for NULL (TLC_E_UNSUPPORTED), catches
// what the slot throws (TLC_E_CALLBACK), and turns its tlc_error into an Error. A slot of a table
// older than the slot is NULL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "port/result.hpp"
#include "tlcache/backend.h"

namespace tlc::backend {

/// Whether the text is a target kind: 1 to 64 of [a-z0-9_.+-], not `auto` or `native`.
[[nodiscard]] bool is_kind(std::string_view text);
/// Whether the text is an engine: 1 to 128 of [A-Za-z0-9_.+-].
[[nodiscard]] bool is_engine(std::string_view text);

class Ops {
 public:
  /// Checks and copies a table. `origin` says in messages where it comes from (a plugin's path,
  /// "the application"). TLC_E_INVALID: a member is missing or malformed. TLC_E_ABI: versions or
  /// sizes do not fit.
  [[nodiscard]] static Result<Ops> negotiate(const tlc_backend_ops* theirs, void* state, std::string_view origin);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& engine() const { return engine_; }
  [[nodiscard]] const std::vector<std::string>& kinds() const { return kinds_; }
  [[nodiscard]] std::uint64_t caps() const { return table_.caps; }
  [[nodiscard]] bool host_bound() const { return (table_.caps & TLC_BACKEND_HOST_BOUND) != 0; }
  [[nodiscard]] bool survives_fork() const { return (table_.caps & TLC_BACKEND_SURVIVES_FORK) != 0; }
  /// Same slots, same names, same state: what an earlier registration of the same table left.
  [[nodiscard]] bool same_as(const Ops& other) const;

  [[nodiscard]] bool can_resolve() const { return table_.resolve_target != nullptr; }
  [[nodiscard]] bool can_identify() const { return table_.identify != nullptr; }
  [[nodiscard]] bool can_compile() const { return table_.compile != nullptr; }
  [[nodiscard]] bool can_validate() const { return table_.validate != nullptr; }
  [[nodiscard]] bool can_load() const { return table_.load != nullptr; }
  [[nodiscard]] bool can_probe() const { return table_.probe != nullptr; }

  // The slots. Where noted, a NULL slot has a natural answer and is no error.
  [[nodiscard]] Result<std::string> resolve_target(tlc_call* call, std::string_view target) const;
  [[nodiscard]] Result<std::string> identify(tlc_call* call, const tlc_request* request, std::string_view target) const;
  [[nodiscard]] Result<void> compile(tlc_call* call, const tlc_request* request, std::string_view target,
                                     tlc_bundle* bundle, tlc_log* log) const;
  /// NULL: every artifact is fine. An artifact that does not fit is an Error of TLC_REJECTED.
  [[nodiscard]] Result<void> validate(tlc_call* call, const tlc_artifact* artifact,
                                      const tlc_load_options* options) const;
  /// NULL: there is one place, 0.
  [[nodiscard]] Result<std::uint64_t> place(tlc_call* call, const tlc_load_options* options) const;
  [[nodiscard]] Result<void*> load(tlc_call* call, tlc_artifact* artifact, const tlc_load_options* options) const;
  [[nodiscard]] Result<void*> symbol(void* module, std::string_view name) const;
  /// NULL: the module itself. What is thrown is swallowed: nullptr.
  [[nodiscard]] void* native(void* module) const;
  /// NULL: nothing to do. What is thrown is swallowed.
  void unload(void* module) const;
  /// NULL: an empty JSON object.
  [[nodiscard]] Result<std::string> probe(tlc_call* call) const;
  /// NULL: nothing to do. What is thrown is swallowed.
  void close() const;
  [[nodiscard]] Result<std::string> describe(tlc_call* call, const tlc_artifact* artifact) const;

 private:
  Ops() = default;

  [[nodiscard]] Error unsupported(const char* slot) const;

  tlc_backend_ops table_{};  ///< the copy; its strings are not used after negotiate()
  void* state_ = nullptr;
  std::string name_;
  std::string engine_;
  std::vector<std::string> kinds_;
};

}  // namespace tlc::backend
