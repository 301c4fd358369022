// SPDX-License-Identifier: MIT
// What the store's tests share: an open store in a folder of its own, entries made of a seed, and their check.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scratch.hpp"
#include "store/store.hpp"
#include "tlc_test.hpp"
#include "trust/hash.hpp"

namespace tlc::test {

inline trust::Digest key_of(std::uint64_t seed) {
  return trust::blake2b(&seed, sizeof seed);
}

/// Bytes that only this seed and size give.
inline std::vector<std::uint8_t> bytes_of(std::uint64_t seed, std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + size + 1;
  for (std::uint8_t& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::uint8_t>(state >> 56);
  }
  return bytes;
}

class StoreFixture {
 public:
  explicit StoreFixture(std::uint64_t limit = std::uint64_t{64} << 20) : limit_(limit) { open(); }

  void open(bool read_only = false) {
    store_.reset();
    store::StoreOptions options;
    options.root = scratch_.path("store");
    options.limit = limit_;
    options.read_only = read_only;
    options.user_key = user_key;
    Result<std::shared_ptr<store::Store>> made = store::Store::open(options);
    assert_true_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
    store_ = std::move(*made);
  }
  void close() { store_.reset(); }

  store::Store& operator*() { return *store_; }
  store::Store* operator->() { return store_.get(); }
  [[nodiscard]] std::string path(const std::string& name) { return store_->path() + "/" + name; }
  [[nodiscard]] std::string root() const { return scratch_.path("store"); }

  store::PutResult put(std::uint64_t seed, std::size_t size, store::PutMode mode = {}, const char* ns = "test",
                       std::uint64_t content_seed = 0) {
    const std::vector<std::uint8_t> data = bytes_of(content_seed == 0 ? seed : content_seed, size);
    const store::MemberView member{"code", 2, data};
    store::RecordContent content;
    content.key = key_of(seed);
    content.name_space = ns;
    content.label = "a label";
    content.members = {&member, 1};
    content.compile_us = compile_us;
    return store_->put(content, mode);
  }

  /// True if the seed's entry is there with the bytes of `content_seed`; fails on any other bytes.
  bool has(std::uint64_t seed, std::size_t size, std::uint64_t content_seed = 0) {
    const store::Found found = store_->get(key_of(seed));
    if (found.outcome != store::Outcome::hit) return false;
    const std::vector<std::uint8_t> wanted = bytes_of(content_seed == 0 ? seed : content_seed, size);
    const auto& members = found.artifact->members();
    assert_int_equal(members.size(), 1);
    assert_int_equal(members[0].data.size(), size);
    assert_memory_equal(members[0].data.data(), wanted.data(), size);
    return true;
  }

  std::uint64_t compile_us = 1000;        ///< of what is put from now on
  std::optional<trust::MacKey> user_key;  ///< of what is opened from now on

 private:
  Scratch scratch_;
  std::uint64_t limit_;
  std::shared_ptr<store::Store> store_;
};

}  // namespace tlc::test
