// SPDX-License-Identifier: MIT
// The hashes: BLAKE2b-256 to name and authenticate content, XXH3 to catch accidents.
//
// The hashing libraries are named in hash.cpp only; states are kept here as plain storage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "trust/digest.hpp"

namespace tlc::trust {

/// Unkeyed BLAKE2b with 32 bytes of output, fed in pieces.
class Blake2b {
 public:
  Blake2b();

  void update(const void* data, std::size_t len);
  void update(std::span<const std::uint8_t> data) { update(data.data(), data.size()); }
  void update(std::span<const std::byte> data) { update(data.data(), data.size()); }

  /// The digest of all that was fed. The object starts over: what comes next is a new message.
  [[nodiscard]] Digest finish();

 private:
  alignas(64) std::array<std::byte, 384> state_;
};

[[nodiscard]] Digest blake2b(const void* data, std::size_t len);

struct MacKey {
  std::array<std::uint8_t, 32> bytes{};
};

/// Keyed BLAKE2b-256.
[[nodiscard]] Digest mac(const MacKey& key, const void* data, std::size_t len);

[[nodiscard]] bool equal_constant_time(const void* a, const void* b, std::size_t len);

/// Overwrites with zeros in a way no compiler removes.
void wipe(void* data, std::size_t len);

struct Hash128 {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;

  friend bool operator==(const Hash128&, const Hash128&) = default;
};

[[nodiscard]] Hash128 xxh3_128(const void* data, std::size_t len);
[[nodiscard]] std::uint64_t xxh3_64(const void* data, std::size_t len, std::uint64_t seed = 0);

/// XXH3-128 fed in pieces.
class Xxh128 {
 public:
  Xxh128();

  void update(const void* data, std::size_t len);
  void update(std::span<const std::uint8_t> data) { update(data.data(), data.size()); }

  /// The hash of all that was fed. The object starts over.
  [[nodiscard]] Hash128 finish();

 private:
  struct Free {
    void operator()(void* state) const noexcept;
  };
  std::unique_ptr<void, Free> state_;
};

/// Version of the libsodium that is really loaded; of the xxHash whose header was compiled in, "0.8.1".
[[nodiscard]] const char* sodium_version();
[[nodiscard]] const char* xxhash_version();

}  // namespace tlc::trust
