// SPDX-License-Identifier: MIT
// A folder of one's own for intermediate files: mode 0700, gone with its owner.
#pragma once

#include <string>

namespace tlcb {

class TempDir {
 public:
  TempDir() = default;
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&& other) noexcept;
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  /// Makes one below $TMPDIR (where it may be believed and is a folder) or /tmp. When that fails
  /// the object is false and `error` holds errno.
  [[nodiscard]] static TempDir create(int& error);

  [[nodiscard]] const std::string& path() const { return path_; }
  explicit operator bool() const { return !path_.empty(); }

 private:
  void remove() noexcept;

  std::string path_;
};

}  // namespace tlcb
