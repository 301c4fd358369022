// SPDX-License-Identifier: MIT
// BLAKE2b by libsodium, XXH3 by xxHash. The only file that includes either.
#include "trust/hash.hpp"

#include <sodium.h>
#include <xxhash.h>

#include <mutex>
#include <new>
#include <string>

namespace tlc::trust {

namespace {

/// sodium_init picks the BLAKE2b code for this CPU; before it, hashing is right but slow. Should it
/// fail, hashing is still right, so its answer does not matter.
void ready() {
  static std::once_flag once;
  std::call_once(once, [] { [[maybe_unused]] const int status = ::sodium_init(); });
}

crypto_generichash_state* blake_state(std::array<std::byte, 384>& storage) {
  static_assert(sizeof(crypto_generichash_state) <= sizeof storage);
  static_assert(alignof(crypto_generichash_state) <= alignof(Blake2b));
  return reinterpret_cast<crypto_generichash_state*>(storage.data());
}

Digest hash_at_once(const void* data, std::size_t len, const std::uint8_t* key, std::size_t key_len) {
  ready();
  Digest digest;
  ::crypto_generichash(digest.bytes.data(), digest.bytes.size(), static_cast<const unsigned char*>(data), len, key,
                       key_len);
  return digest;
}

Hash128 from_library(XXH128_hash_t hash) {
  return Hash128{hash.low64, hash.high64};
}

XXH3_state_t* xxh_state(void* state) {
  return static_cast<XXH3_state_t*>(state);
}

}  // namespace

Blake2b::Blake2b() {
  ready();
  ::crypto_generichash_init(blake_state(state_), nullptr, 0, sizeof(Digest::bytes));
}

void Blake2b::update(const void* data, std::size_t len) {
  if (len == 0) return;  // data may be null then
  ::crypto_generichash_update(blake_state(state_), static_cast<const unsigned char*>(data), len);
}

Digest Blake2b::finish() {
  Digest digest;
  ::crypto_generichash_final(blake_state(state_), digest.bytes.data(), digest.bytes.size());
  ::crypto_generichash_init(blake_state(state_), nullptr, 0, digest.bytes.size());
  return digest;
}

Digest blake2b(const void* data, std::size_t len) {
  return hash_at_once(data, len, nullptr, 0);
}

Digest mac(const MacKey& key, const void* data, std::size_t len) {
  return hash_at_once(data, len, key.bytes.data(), key.bytes.size());
}

bool equal_constant_time(const void* a, const void* b, std::size_t len) {
  return ::sodium_memcmp(a, b, len) == 0;
}

void wipe(void* data, std::size_t len) {
  ::sodium_memzero(data, len);
}

Hash128 xxh3_128(const void* data, std::size_t len) {
  return from_library(::XXH3_128bits(data, len));
}

std::uint64_t xxh3_64(const void* data, std::size_t len, std::uint64_t seed) {
  return ::XXH3_64bits_withSeed(data, len, seed);
}

Xxh128::Xxh128() : state_(::XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  ::XXH3_128bits_reset(xxh_state(state_.get()));
}

void Xxh128::update(const void* data, std::size_t len) {
  if (len == 0) return;
  ::XXH3_128bits_update(xxh_state(state_.get()), data, len);
}

Hash128 Xxh128::finish() {
  const Hash128 hash = from_library(::XXH3_128bits_digest(xxh_state(state_.get())));
  ::XXH3_128bits_reset(xxh_state(state_.get()));
  return hash;
}

void Xxh128::Free::operator()(void* state) const noexcept {
  ::XXH3_freeState(xxh_state(state));
}

const char* sodium_version() {
  return ::sodium_version_string();
}

const char* xxhash_version() {
  static const std::string text = std::to_string(XXH_VERSION_MAJOR) + "." + std::to_string(XXH_VERSION_MINOR) + "." +
                                  std::to_string(XXH_VERSION_RELEASE);
  return text.c_str();
}

}  // namespace tlc::trust
