// SPDX-License-Identifier: MIT
// Hashing a file in pieces.
#include "trust/file_digest.hpp"

#include <sys/types.h>

#include <vector>

#include "port/file.hpp"
#include "trust/hash.hpp"

namespace tlc::trust {

namespace {
constexpr std::size_t kPiece = std::size_t{256} * 1024;
}

Result<Digest> digest_of_file(int fd) {
  Blake2b hash;
  std::vector<std::uint8_t> piece(kPiece);
  for (off_t at = 0;; at += static_cast<off_t>(kPiece)) {
    auto got = port::pread_full(fd, piece.data(), piece.size(), at);
    if (!got) return std::move(got).error();
    hash.update(piece.data(), *got);
    if (*got < kPiece) return hash.finish();
  }
}

}  // namespace tlc::trust
