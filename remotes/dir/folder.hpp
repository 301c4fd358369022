// SPDX-License-Identifier: MIT
// Folder: the packs in one folder, as one process sees them.
//
//   <folder>/                     this user's, writable by no other
//     tlcdir1/                    0700; 1: version of the layout
//       <host>-<stamp>-<random>.pack   0600, immutable (pack.hpp)
//       .tmp-<host>-<random>           being written
//
// Nobody locks anything. A pack appears by a rename, whole, under a name that nobody else makes, and is never changed;
// it goes by unlink. Who finds one gone lists the folder again. The folder is looked at before each look-up, and listed
// when its time changed, or may have changed within the clock's grain.
//
//   folder.cpp  open, look, get        write.cpp  put, merge, bounds
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "dir/files.hpp"
#include "dir/pack.hpp"

namespace tlc::dir {

struct Options {
  std::string path;
  std::string host;                                 ///< [A-Za-z0-9_.], at most 40
  std::uint64_t limit = std::uint64_t{4} << 30;     ///< bytes of all packs, of all hosts
  void (*warn)(const std::string& text) = nullptr;  ///< one line
};

/// What is to be done for a digest.
struct Change {
  Digest digest{};
  std::span<const std::uint8_t> data;  ///< empty: remove
  bool replace = false;
};

class Folder {
 public:
  explicit Folder(Options options) : options_(std::move(options)) {}

  /// Makes the folder (not its parents) and checks it. TLC_E_DENIED by the owner rule.
  [[nodiscard]] Failure open();
  /// The newest blob of the digest. TLC_MISS; TLC_TIMEOUT at the deadline (monotonic_ms).
  [[nodiscard]] Failure get(const Digest& digest, std::uint64_t deadline_ms, std::vector<std::uint8_t>& blob);
  /// One new pack of what is not there yet; then merges and bounds, as far as there is time.
  [[nodiscard]] Failure put(std::span<const Change> changes, std::uint64_t deadline_ms);

 private:
  struct Pack {
    PackName name;
    std::uint64_t size = 0, inode = 0;
    std::int64_t written_s = 0;  ///< by the clock of the file system
    std::vector<Entry> index;
  };
  using Packs = std::map<std::string, Pack, std::less<>>;
  struct Found {
    Packs::iterator pack;
    const Entry* entry;
  };

  // folder.cpp
  Failure open_folder();
  Failure refresh(bool reopened = false);
  void take_in(const std::vector<std::string>& names);
  bool read_pack(const std::string& file_name, Pack& pack);
  File open_pack(const std::string& file_name, struct stat& st);
  void warn_once(const std::string& file_name, const std::string& text);
  std::vector<Found> find(const Digest& digest);
  enum class Read : std::uint8_t { good, gone, damaged };
  Read read_blob(const Found& found, std::vector<std::uint8_t>& blob);
  void forget_damaged(const Found& found);

  // write.cpp
  class Writer;
  void maintain(std::uint64_t deadline_ms);
  bool merge(std::uint64_t deadline_ms);
  std::vector<Packs::iterator> to_merge();
  bool has_whole(const Digest& digest);
  void drop(Packs::iterator pack);
  void keep_bounds();
  void remove_leftovers();

  const Options options_;
  std::string path_;  // of tlcdir1
  File dir_;
  Packs packs_;
  std::set<std::string, std::less<>> refused_;  // names that are no packs to be used
  std::set<std::string, std::less<>> warned_;
  bool listed_ = false;
  std::int64_t seen_s_ = 0, seen_ns_ = 0;  // the folder's time when it was listed,
  bool seen_settled_ = false;              // and whether a later change must have another
};

}  // namespace tlc::dir
