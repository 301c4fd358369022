// SPDX-License-Identifier: MIT
// BLAKE2b by libsodium, which only this file includes; XXH3 by xxh3.hpp.
#include "trust/hash.hpp"

#include <sodium.h>

#include <mutex>
#include <new>
#include <string>

#include "trust/xxh3.hpp"

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
  std::uint64_t words[2];
  xxh3_code().hash128(data, len, words);
  return Hash128{words[0], words[1]};
}

std::uint64_t xxh3_64(const void* data, std::size_t len, std::uint64_t seed) {
  return xxh3_code().hash64(data, len, seed);
}

Xxh128::Xxh128() : state_(xxh3_code().create()) {
  if (!state_) throw std::bad_alloc();
}

void Xxh128::update(const void* data, std::size_t len) {
  if (len != 0) xxh3_code().update(state_.get(), data, len);
}

Hash128 Xxh128::finish() {
  std::uint64_t words[2];
  xxh3_code().finish(state_.get(), words);
  return Hash128{words[0], words[1]};
}

void Xxh128::Free::operator()(void* state) const noexcept {
  xxh3_code().destroy(state);
}

const char* sodium_version() {
  return ::sodium_version_string();
}

const char* xxhash_version() {
  static const std::string text = [] {
    const unsigned version = xxh3_code().version();
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
  }();
  return text.c_str();
}

}  // namespace tlc::trust
