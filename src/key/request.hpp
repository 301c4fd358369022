// SPDX-License-Identifier: MIT
// Request: the fields of a key in full, for the compile step, and what does not enter the key
// (label, required members).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "key/encode.hpp"
#include "key/key.hpp"
#include "key/value.hpp"
#include "port/result.hpp"
#include "trust/digest.hpp"

namespace tlc::key {

class Request {
 public:
  explicit Request(Origin origin = Origin::user);

  // A field each, as in Builder. Names, UTF-8 and nesting are checked here and now, duplicates by
  // make_key. The first error sticks: every later call returns it.
  Result<void> add_null(std::string_view name, Flags flags = 0);
  Result<void> add_bool(std::string_view name, bool value, Flags flags = 0);
  Result<void> add_int(std::string_view name, std::int64_t value, Flags flags = 0);
  Result<void> add_uint(std::string_view name, std::uint64_t value, Flags flags = 0);
  Result<void> add_f64(std::string_view name, double value, Flags flags = 0);
  Result<void> add_text(std::string_view name, std::string_view value, Flags flags = 0);
  Result<void> add_bytes(std::string_view name, std::span<const std::uint8_t> value, Flags flags = 0);
  Result<void> add_digest(std::string_view name, const trust::Digest& value, Flags flags = 0);
  Result<void> begin_list(std::string_view name, Flags flags = 0);
  Result<void> begin_map(std::string_view name, Flags flags = 0);
  Result<void> end();

  Result<void> set_namespace(std::string_view name);
  /// Any spelling; `auto` and `native` are allowed here, for the backend to resolve.
  Result<void> set_target(std::string_view target);
  Result<void> set_engine(std::string_view engine);
  Result<void> set_toolchain(std::span<const std::uint8_t> identity);
  /// The caller says that nothing but the fields determines the artifact.
  void set_flag_no_toolchain() { no_toolchain_ = true; }
  Result<void> set_label(std::string_view label);
  Result<void> require_member(std::string_view name);

  [[nodiscard]] const std::string& name_space() const { return namespace_; }
  [[nodiscard]] const std::string& target() const { return target_; }  ///< canonical; may be unresolved
  [[nodiscard]] const std::string& engine() const { return engine_; }
  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] const std::vector<std::string>& required_members() const { return members_; }
  [[nodiscard]] bool no_toolchain() const { return no_toolchain_; }
  [[nodiscard]] const std::optional<std::vector<std::uint8_t>>& toolchain() const { return toolchain_; }

  /// A top-level field's value, or null.
  [[nodiscard]] const Value* find(std::string_view name) const;
  [[nodiscard]] const std::vector<Value::Entry>& fields() const { return root_.items; }

  /// The key. `target` is the resolved target (unresolved: TLC_E_UNCACHEABLE); `toolchain` is what
  /// the backend identified, if it can. Without it the request's own toolchain or its flag must be
  /// there, else TLC_E_UNCACHEABLE. An empty target or engine is none.
  [[nodiscard]] Result<Key> make_key(std::string_view target, std::string_view engine,
                                     std::optional<std::span<const std::uint8_t>> toolchain = {},
                                     std::optional<std::string_view> host = {}) const;

 private:
  Result<Value*> add(std::string_view name, Type type, Flags flags);
  Result<void> begin(std::string_view name, Type type, Flags flags);
  Result<void> add_string(std::string_view name, Type type, std::string_view bytes, Flags flags);
  Error keep(Error error);
  [[nodiscard]] Value& open_container();

  Origin origin_;
  std::optional<Error> error_;
  Value root_;
  std::size_t depth_ = 0;  // the innermost open container is the last item of the last item ..., this deep
  std::string namespace_;
  std::string target_;
  std::string engine_;
  std::string label_;
  std::vector<std::string> members_;
  std::optional<std::vector<std::uint8_t>> toolchain_;
  bool no_toolchain_ = false;
};

}  // namespace tlc::key
