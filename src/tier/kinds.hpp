// SPDX-License-Identifier: MIT
// Kinds of remotes: their tables of slots as this library understands them, and a checked call for each.
//
// A table is copied (min of theirs and ours, zeroes for the rest) when it is registered and never read again. Each call
// checks the slot for NULL, catches what the slot throws and turns its tlc_error into an Error. Which kinds there are
// is a fact of the process, as which backends: the list is kept beside them for its whole life.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "port/result.hpp"
#include "tlcache/remote.h"
#include "trust/digest.hpp"

namespace tlc::tier {

/// What is to be stored under a digest, or removed.
struct Item {
  trust::Digest digest;
  std::vector<std::uint8_t> bytes;  ///< empty: remove
  bool replace = false;
};

class Kind {
 public:
  /// TLC_E_INVALID: no name or scheme. TLC_E_ABI: sizes or versions do not fit.
  [[nodiscard]] static Result<Kind> negotiate(const tlc_remote_ops* theirs);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& scheme() const { return scheme_; }
  [[nodiscard]] bool is_private() const { return (table_.caps & TLC_REMOTE_PRIVATE) != 0; }
  [[nodiscard]] bool writable() const {
    return (table_.caps & TLC_REMOTE_READ_ONLY) == 0 && (table_.put != nullptr || table_.put_many != nullptr);
  }
  [[nodiscard]] bool same_as(const Kind& other) const;

  /// NULL slot: a state of NULL.
  [[nodiscard]] Result<void*> open(std::string_view url) const;
  /// TLC_MISS, TLC_TIMEOUT, TLC_TOO_LARGE (over `cap` bytes) or what the slot says. A NULL slot has nothing.
  [[nodiscard]] Result<std::vector<std::uint8_t>> get(void* state, const trust::Digest& digest, std::uint64_t cap,
                                                      std::int64_t timeout_ms) const;
  /// All items, by put_many or one by one.
  [[nodiscard]] Result<void> put(void* state, std::span<const Item> items, std::int64_t timeout_ms) const;
  void close(void* state) const;

 private:
  Kind() = default;
  [[nodiscard]] Result<void> put_one(void* state, const Item& item, std::int64_t timeout_ms) const;

  tlc_remote_ops table_{};  ///< the copy; its strings are not used after negotiate()
  std::string name_;
  std::string scheme_;
};

class Kinds {
 public:
  /// The table of the same slots again is nothing new; another of the same scheme is TLC_E_EXISTS.
  [[nodiscard]] Result<void> add(const tlc_remote_ops* ops);
  /// TLC_E_NOT_FOUND lists what there is.
  [[nodiscard]] Result<std::shared_ptr<const Kind>> find(std::string_view scheme);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Kind>> kinds_;
};

/// Of this process. The first call registers what is built in and hands it `host`.
[[nodiscard]] Kinds& process_kinds(const tlc_host_api* host);

struct Builtin {
  const char* name;
  tlc_remote_init_fn init;
};
/// Written by CMake.
[[nodiscard]] std::span<const Builtin> builtin_remotes();

}  // namespace tlc::tier
