// SPDX-License-Identifier: MIT
// OpeningMark: tells the next opener that this one died of the index.
//
// Checks see damage; they do not see what makes liblmdb abort, or a disk that answers a page fault with SIGBUS. So an
// opener leaves a mark in the control file before it touches the index for writing, and takes it away when its first
// transaction has ended. Both under the write lock: whoever finds a mark there knows that its owner is dead. One death
// may be chance (kill -9); two in a row are the index's fault, two more with a new index the store's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "port/result.hpp"
#include "store/control.hpp"

namespace tlc::store {

/// Hash of this boot's id; 0 if the system has none.
[[nodiscard]] std::uint64_t boot_hash();

/// What earlier openers died of.
enum class Suspect : std::uint8_t { none, index, store };

/// The mark, from here to the end of the scope.
class OpeningMark {
 public:
  explicit OpeningMark(const Control& control);
  OpeningMark(const OpeningMark&) = delete;
  OpeningMark& operator=(const OpeningMark&) = delete;
  ~OpeningMark();

  [[nodiscard]] Suspect suspect() const { return suspect_; }

 private:
  const Control& control_;
  Suspect suspect_ = Suspect::none;
};

/// Write lock held: renames the format folder, so that the next who opens makes a store anew. Those who have it open
/// are told by kReplaced at their next use.
[[nodiscard]] Result<void> set_store_aside(int format_dir, const std::string& format_path);

/// Names, in the folder of all formats, of the stores of this format that were set aside.
[[nodiscard]] std::vector<std::string> stores_aside(const std::string& root);
[[nodiscard]] bool is_aside_name(const std::string& name);

}  // namespace tlc::store
