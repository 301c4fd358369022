// SPDX-License-Identifier: MIT
// FileMemo: digests of files outside the store (headers, compilers), remembered by what stat says of them.
//
//   memo: 4096 places of 128 bytes; a file's place is one of 8 from (hash of its identity) mod 4096 on
//     0   8  what: 1 content digest, 2 identity (build id, else content); 0: free
//     8  48  device, inode, size, mtime ns, ctime ns, when it was noted (wall clock ns); 8 bytes each
//    56  32  digest
//    88  32  0
//   120   8  XXH3-64 of the 120 bytes before it
//
// Shared between processes without a lock: a place that two writers tore, or that is damaged, fails its checksum and is
// free. A file whose stamps are younger than two seconds is not noted: it could change again within a tick of its file
// system.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "port/mapping.hpp"
#include "port/result.hpp"
#include "trust/digest.hpp"

namespace tlc::store {

enum class FileFact : std::uint64_t { content = 1, identity = 2 };

class FileMemo {
 public:
  /// Without a store (format_dir < 0) it remembers for this process only. The descriptor outlives the memo.
  FileMemo(int format_dir, bool writable);

  /// BLAKE2b-256 of the file's bytes, or its identity: the digest of its build id if it has one, else of its bytes.
  Result<trust::Digest> digest_of(const char* path, FileFact fact);

 private:
  struct Key {
    std::uint64_t what, device, inode, size, mtime_ns, ctime_ns;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Place {
    Key key;
    std::uint64_t noted_ns;
    trust::Digest digest;
    std::uint8_t reserved[32];
    std::uint64_t check;
  };
  static_assert(sizeof(Place) == 128);

  static Key key_of(const struct stat& st, FileFact fact);
  bool recall(const Key& key, trust::Digest& digest);
  void note(const Key& key, const trust::Digest& digest);

  /// The file is opened when something is first asked: most processes never do.
  const port::Mapping& mapping();

  int dir_;
  bool writable_;
  std::once_flag mapped_;
  port::Mapping mapping_;
  std::mutex mutex_;
  std::unordered_map<Key, trust::Digest, KeyHash> known_;
};

}  // namespace tlc::store
