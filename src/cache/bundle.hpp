// SPDX-License-Identifier: MIT
// Bundle: what a compile makes and a publish stores.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "key/key.hpp"
#include "key/link.hpp"
#include "port/result.hpp"
#include "store/artifact.hpp"
#include "store/record.hpp"

namespace tlc::cache {

class Bundle {
 public:
  /// Copies the bytes unless `borrow`. TLC_E_INVALID for a name that is no file's, or a second member of that name.
  Result<void> add(std::string_view name, std::uint32_t type, std::span<const std::uint8_t> data, bool borrow);
  /// digest empty: the library reads the file at publish.
  Result<void> add_guard(std::string_view path, std::optional<trust::Digest> digest);
  Result<void> add_absent(std::string_view path);
  void add_requirement(const trust::Digest& key) { requirements_.push_back(key); }
  Result<void> set_label(std::string_view label);
  void set_compile_us(std::uint64_t microseconds) { compile_us_ = microseconds; }

  struct Guard {
    key::Guard guard;
    bool unread = false;  ///< its digest is still to be read
  };
  [[nodiscard]] const std::vector<Guard>& guards() const { return guards_; }
  [[nodiscard]] std::uint64_t compile_us() const { return compile_us_; }
  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] bool empty() const { return members_.empty(); }

  /// The members as a record's content; borrowed from the bundle.
  [[nodiscard]] std::vector<store::MemberView> members() const;
  [[nodiscard]] const std::vector<trust::Digest>& requirements() const { return requirements_; }

 private:
  struct Member {
    std::string name;
    std::uint32_t type = 0;
    std::span<const std::uint8_t> data;
    std::unique_ptr<std::uint8_t[]> owned;
  };
  std::vector<Member> members_;
  std::vector<Guard> guards_;
  std::vector<trust::Digest> requirements_;
  std::string label_;
  std::uint64_t compile_us_ = 0;
};

/// An artifact in memory, of the same layout as a stored one.
[[nodiscard]] Result<std::unique_ptr<store::Artifact>> make_memory_artifact(const store::RecordContent& content);

}  // namespace tlc::cache
