// SPDX-License-Identifier: MIT
// Blobs: what is encoded is decoded; anything else than that is refused.
#include <algorithm>
#include <string>
#include <vector>

#include "key/encode.hpp"
#include "tier/blob.hpp"
#include "tier/url.hpp"
#include "tlc_test.hpp"

using namespace tlc;        // NOLINT
using namespace tlc::tier;  // NOLINT

namespace {

using Bytes = std::vector<std::uint8_t>;

key::Key make_key(const char* name) {
  key::Builder builder;
  builder.set_namespace("test");
  builder.set_no_toolchain();
  builder.add_text("name", name);
  return *builder.finish();
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

struct Sample {
  key::Key key = make_key("a");
  BlobContent content;
  Sample() {
    content.key = key.digest();
    content.key_encoding = key.encoding();
    content.label = "a label";
    content.requirements = {make_key("b").digest(), make_key("c").digest()};
    content.members = {{"kernel.so", 1, bytes_of("machine code")}, {"empty", 0, {}}, {"meta.json", 5, bytes_of("{}")}};
    content.created_ns = 1234567;
    content.compile_us = 89;
  }
  [[nodiscard]] Bytes encode(const trust::MacKey* user_key = nullptr) const { return encode_blob(content, user_key); }
};

bool refused(const Bytes& bytes, const trust::Digest& key, const trust::MacKey* user_key = nullptr) {
  return !decode_blob(bytes, key, user_key).ok();
}

void test_round_trip(void**) {
  const Sample sample;
  const Bytes bytes = sample.encode();
  assert_true(bytes == sample.encode());
  const auto decoded = decode_blob(bytes, sample.key.digest(), nullptr);
  assert_true(decoded.ok());
  assert_true(decoded->kind == BlobKind::artifact && decoded->label == "a label");
  assert_true(decoded->requirements == sample.content.requirements);
  assert_u64(decoded->created_ns, 1234567U);
  assert_u64(decoded->compile_us, 89U);
  assert_u64(decoded->members.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const BlobMember& is = decoded->members[i];
    const BlobMember& was = sample.content.members[i];
    assert_true(is.name == was.name && is.type == was.type &&
                std::equal(is.data.begin(), is.data.end(), was.data.begin(), was.data.end()));
  }
  assert_true(refused(bytes, make_key("b").digest()));
}

void test_every_bit_counts(void**) {
  const Sample sample;
  const Bytes bytes = sample.encode();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes other = bytes;
      other[i] ^= static_cast<std::uint8_t>(1U << bit);
      assert_true_msg(refused(other, sample.key.digest()), "byte %zu, bit %u", i, bit);
    }
}

void test_every_length_counts(void**) {
  const Sample sample;
  const Bytes bytes = sample.encode();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    assert_true(refused(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)), sample.key.digest()));
  Bytes longer = bytes;
  longer.push_back(0);
  assert_true(refused(longer, sample.key.digest()));
}

// Made by somebody who computes every hash: what the hashes cannot tell is checked by itself.
void test_what_no_writer_makes(void**) {
  const auto refused_with = [](auto change) {
    Sample sample;
    change(sample.content);
    return refused(sample.encode(), sample.content.key);
  };
  assert_false(refused_with([](BlobContent&) {}));
  assert_true(refused_with([](BlobContent& content) { content.members.clear(); }));
  for (const std::string_view name : {"", ".", "..", "a/b", "\xff", "empty"})
    assert_true(refused_with([&](BlobContent& content) { content.members[0].name = name; }));
  const std::string long_name(256, 'n');
  assert_true(refused_with([&](BlobContent& content) { content.members[0].name = long_name; }));
  assert_true(refused_with([](BlobContent& content) { content.label = "\xff"; }));
  const std::string long_label(4097, 'l');
  assert_true(refused_with([&](BlobContent& content) { content.label = long_label; }));
  assert_true(refused_with([](BlobContent& content) { content.kind = static_cast<BlobKind>(3); }));
  assert_true(refused_with([](BlobContent& content) { content.key_encoding = content.key_encoding.subspan(1); }));
  const key::Key other = make_key("other");
  assert_true(refused_with([&](BlobContent& content) { content.key_encoding = other.encoding(); }));
}

void test_authenticated(void**) {
  const Sample sample;
  trust::MacKey mine;
  trust::MacKey yours;
  mine.bytes.fill(1);
  yours.bytes.fill(2);
  const trust::Digest& key = sample.key.digest();
  assert_false(refused(sample.encode(&mine), key, &mine));
  assert_false(refused(sample.encode(&mine), key));
  for (const Bytes& bytes : {sample.encode(&yours), sample.encode()}) {
    const auto decoded = decode_blob(bytes, key, &mine);
    assert_true(!decoded && decoded.error().status == TLC_E_DENIED);
  }
}

void test_urls(void**) {
  bool none = false;
  const auto good =
      parse_remotes(" dir:/a?limit=1G&timeout_ms=50&host=x \n redis://me:secret@host/0?names=yes", "test", none);
  assert_true(good.ok() && good->size() == 2 && !none);
  const RemoteUrl& first = (*good)[0];
  assert_true(first.scheme == "dir" && first.url == "dir:/a?limit=1G&host=x" && first.timeout_ms == 50 && !first.names);
  const RemoteUrl& second = (*good)[1];
  assert_true(second.url == "redis://me:secret@host/0" && second.names && second.timeout_ms == 2000);
  assert_string_equal(second.shown().c_str(), "redis://...@host/0");
  assert_true(first.id() != second.id() && first.id().size() == 16);
  const auto nothing = parse_remotes("none", "test", none);
  assert_true(nothing.ok() && nothing->empty() && none);
  for (const char* bad : {"/a", ":x", "dir:/a?timeout_ms=", "dir:/a?readonly=x", "dir:/a?timeout_ms=60001"})
    assert_false(parse_remotes(bad, "test", none).ok());
  assert_string_equal(escape_path("/a b%?\n").c_str(), "/a%20b%25%3f%0a");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),          cmocka_unit_test(test_every_bit_counts),
      cmocka_unit_test(test_every_length_counts), cmocka_unit_test(test_what_no_writer_makes),
      cmocka_unit_test(test_authenticated),       cmocka_unit_test(test_urls),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
