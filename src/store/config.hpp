// SPDX-License-Identifier: MIT
// The store's config file: what the store is, written at creation and by `tlcache config`, and what was cleared.
//
//   tlcache-store 1
//   id <64 hex digits>            random; the key of the record MACs, so that no store takes another's records
//   limit <bytes>
//   segment <bytes>               size at which a segment is full
//   clear <sequence> <namespace>  records of the namespace ("*": all) up to this sequence are gone; any number
//   check <16 hex digits>         XXH3-64 of all lines before this one
//
// Replaced as a whole by rename, under the write lock. Id and limit are repeated in the control file: if this file is
// damaged it is written anew from there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "port/result.hpp"
#include "trust/hash.hpp"

namespace tlc::store {

struct Config {
  trust::MacKey id;
  std::uint64_t limit = 0;
  std::uint64_t segment_size = 0;
  std::map<std::string, std::uint64_t> clears;  // namespace or "*" -> highest sequence that is gone

  [[nodiscard]] std::string encode() const;
  /// Nothing if the text is damaged or of another version.
  [[nodiscard]] static std::optional<Config> decode(const std::string& text);
};

/// The config in a store's folder: an Error if it cannot be read, nothing if it is absent or damaged.
Result<std::optional<Config>> read_config(int format_dir);
Result<void> write_config(int format_dir, const Config& config, bool durable);

}  // namespace tlc::store
