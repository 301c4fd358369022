// SPDX-License-Identifier: MIT
// Records and segments: what is written is what is read, and nothing else is.
#include "store/record.hpp"

#include <cstring>
#include <vector>

#include "store/config.hpp"
#include "store/segment.hpp"
#include "store_support.hpp"
#include "tlc_test.hpp"

using namespace tlc;         // NOLINT
using namespace tlc::store;  // NOLINT
using test::bytes_of;

namespace {

const trust::MacKey kStoreKey{{1, 2, 3}};
const trust::MacKey kUserKey{{9, 9, 9}};

struct Written {
  std::vector<std::uint8_t> a = bytes_of(1, 100);
  std::vector<std::uint8_t> empty;
  std::vector<std::uint8_t> c = bytes_of(2, 4096);
  std::vector<MemberView> members{{"a", 1, a}, {"empty", 0, empty}, {"c.bin", 2, c}};
  std::vector<trust::Digest> requirements{test::key_of(7), test::key_of(8)};
  std::vector<std::uint8_t> encoding = bytes_of(3, 50);

  std::vector<std::uint8_t> record(const trust::MacKey* user) {
    RecordContent content;
    content.key = test::key_of(1);
    content.name_space = "unit/test";
    content.label = "matmul 128x128";
    content.key_encoding = encoding;
    content.requirements = requirements;
    content.members = members;
    content.compile_us = 12345;
    Result<RecordImage> image = RecordImage::make(content, 77, 88, user);
    assert_true(image.ok());
    image->seal(5, 640, kStoreKey);
    std::vector<std::uint8_t> bytes;
    for (const auto& piece : image->pieces()) bytes.insert(bytes.end(), piece.begin(), piece.end());
    assert_u64(bytes.size(), image->length());
    return bytes;
  }
};

/// The parts of a record, or why it is none.
std::string read(const std::vector<std::uint8_t>& bytes, const trust::MacKey* user, RecordMeta* out = nullptr) {
  RecordHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (auto fault = check_header(header, 5, 640, kStoreKey)) return *fault;
  if (header.record_length != bytes.size()) return "length";
  const std::span<const std::uint8_t> body(bytes.data() + kHeaderSize, header.body_length);
  Result<RecordMeta> meta = parse_meta(header, body);
  if (!meta) return meta.error().message;
  if (auto fault = check_members(header, *meta, body, user)) return *fault;
  if (out != nullptr) *out = *meta;
  return "";
}

void test_round_trip(void**) {
  Written written;
  for (const trust::MacKey* user : {static_cast<const trust::MacKey*>(nullptr), &kUserKey}) {
    const std::vector<std::uint8_t> bytes = written.record(user);
    RecordMeta meta;
    assert_string_equal(read(bytes, user, &meta).c_str(), "");
    assert_true(meta.name_space == "unit/test");
    assert_true(meta.label == "matmul 128x128");
    assert_u64(meta.key_encoding.size(), 50);
    assert_u64(meta.requirements.size(), 64);
    assert_u64(meta.members.size(), 3);
    assert_true(meta.members[2].name == "c.bin");
    assert_u64(meta.members[2].data.size(), 4096);
    assert_memory_equal(meta.members[2].data.data(), written.c.data(), 4096);
    assert_u64((meta.members[2].data.data() - bytes.data()) % 64, 0);
    assert_u64(meta.members[1].data.size(), 0);
  }
}

void test_every_byte_is_guarded(void**) {
  Written written;
  const std::vector<std::uint8_t> whole = written.record(&kUserKey);
  std::size_t unnoticed = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::uint8_t> bytes = whole;
    bytes[at] ^= 0x10;
    RecordMeta meta;
    if (!read(bytes, &kUserKey, &meta).empty()) continue;
    ++unnoticed;  // padding between members only: what is read is right all the same
    assert_memory_equal(meta.members[0].data.data(), written.a.data(), written.a.size());
    assert_memory_equal(meta.members[2].data.data(), written.c.data(), written.c.size());
  }
  assert_true_msg(unnoticed < 64, "%zu", unnoticed);
}

void test_strict_needs_the_users_key(void**) {
  Written written;
  assert_string_not_equal(read(written.record(nullptr), &kUserKey).c_str(), "");
  const trust::MacKey other{{8}};
  assert_string_not_equal(read(written.record(&kUserKey), &other).c_str(), "");
  assert_string_equal(read(written.record(&kUserKey), nullptr).c_str(), "");
}

void test_a_record_belongs_to_its_place(void**) {
  Written written;
  const std::vector<std::uint8_t> bytes = written.record(nullptr);
  RecordHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  assert_true(check_header(header, 6, 640, kStoreKey).has_value());
  assert_true(check_header(header, 5, 704, kStoreKey).has_value());
  const trust::MacKey other_store{{1, 2, 4}};
  assert_true(check_header(header, 5, 640, other_store).has_value());
}

void test_segment_blocks(void**) {
  const SegmentHeader header = make_segment_header(9, 1 << 20);
  assert_true(is_segment_header(header, 9));
  assert_false(is_segment_header(header, 8));
  const SegmentFooter footer = make_segment_footer(9, 4096);
  assert_true(is_segment_footer(footer, 9, 4096));
  assert_false(is_segment_footer(footer, 9, 4160));
  assert_u64(segment_id(segment_name(0xabcdef)), 0xabcdef);
  for (const char* name : {"x.seg", "000000000000000g.seg", "0000000000000001.seg.tmp-1", "0000000000000001"})
    assert_u64(segment_id(name), 0);
}

void test_config_text(void**) {
  Config config;
  config.id.bytes[0] = 0xab;
  config.limit = 1 << 26;
  config.segment_size = 1 << 20;
  config.clears = {{"*", 5}, {"a/b", 9}};
  const std::string text = config.encode();
  const auto read_back = Config::decode(text);
  assert_true(read_back.has_value());
  assert_true(read_back->clears == config.clears);
  assert_true(read_back->id.bytes == config.id.bytes);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string bad = text;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    assert_false(Config::decode(bad).has_value());
    assert_false(Config::decode(text.substr(0, at)).has_value());
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_every_byte_is_guarded),
      cmocka_unit_test(test_strict_needs_the_users_key),
      cmocka_unit_test(test_a_record_belongs_to_its_place),
      cmocka_unit_test(test_segment_blocks),
      cmocka_unit_test(test_config_text),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
