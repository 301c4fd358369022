// SPDX-License-Identifier: MIT
// The validator passes what liblmdb writes, and names each kind of damage.
#include "tlc_test.hpp"

#include <functional>

#include "index_image.hpp"

namespace {

using namespace tlc::test;
using tlc::store::kNodeHeaderSize;
using tlc::store::kPageHeaderSize;
using tlc::store::Meta;

/// What is removed from the image. A list of free pages leaves its leaf when it takes half a page, and larger pages
/// hold more of the list and more of the keys: so the keys that make such a list grow with the square of the page size.
std::uint64_t removed_keys() {
  const std::uint64_t ratio = Image::page_size() / 4096;
  return 5000 * ratio * ratio;
}

/// An index with branches, leaves, free pages, and free lists in a leaf and in overflow pages.
std::vector<std::uint8_t> make_image() {
  const std::uint64_t keys = removed_keys() + 20000;
  Index index;
  index.put(0, keys, 1);
  index.remove(0, removed_keys());
  Random random{1};
  for (unsigned round = 0; round < 50; ++round) {
    const std::uint64_t from = random.below(keys);
    index.put(from, from + random.below(8), 2 + round);
  }
  index.writer.reset();
  auto bytes = read_all(index.data().get());
  Image image(bytes);
  bytes.resize((image.meta(image.newest()).last_page + 1) * Image::page_size());  // not the room ahead
  return bytes;
}

const Image& image() {
  static const Image made(make_image());
  return made;
}

/// An overflow page with a list of free pages.
std::uint64_t list_page(Image& copy) {
  const auto overflow = copy.tree(false).overflow;
  if (overflow.empty()) give_up("no free list of the image is in an overflow page");
  return overflow.front();
}

/// The validator's word on the image after `damage`.
tlc::store::ValidationReport judge(const std::function<void(Image&)>& damage, bool records = false,
                                   const IndexControl* control = nullptr) {
  Image copy = image();
  damage(copy);
  const ScratchFolder folder;
  const auto file = write_all(folder.file("data.mdb"), copy.bytes);
  return need(tlc::store::validate(file.get(), kMapSize, control, records));
}

void expect(const char* error, const std::function<void(Image&)>& damage, bool records = false) {
  const auto report = judge(damage, records);
  assert_false(report.valid);
  assert_string_equal(report.error, error);
}

void change_newest_meta(Image& copy, const std::function<void(Meta&)>& change) {
  Meta meta = copy.meta(copy.newest());
  change(meta);
  copy.set_meta(copy.newest(), meta);
}

void sound_file_passes(void**) {
  Image copy = image();
  assert_true(!copy.tree(false).overflow.empty());  // else the overflow cases test nothing
  assert_true(copy.tree(true).branches.size() > 1);
  const auto report = judge([](Image&) {}, true);
  assert_true_msg(report.valid, "%s", report.error);
  assert_true(report.entries > 10000 && report.free_pages > 100);
}

void bad_metas(void**) {
  expect("meta page wrong", [](Image& copy) { copy.page(0)[kPageHeaderSize] ^= 1; });
  expect("meta page wrong", [](Image& copy) { copy.page(1)[10] ^= 4; });
  expect("meta page wrong", [](Image& copy) {  // an id in the page of the other parity
    change_newest_meta(copy, [](Meta& meta) { meta.txnid += 1; });
  });
  expect("the two metas are not neighbours",
         [](Image& copy) { change_newest_meta(copy, [](Meta& meta) { meta.txnid += 2; }); });
  expect("map size wrong", [](Image& copy) { change_newest_meta(copy, [](Meta& meta) { meta.map_size *= 2; }); });
  expect("meta page wrong", [](Image& copy) {
    change_newest_meta(copy, [](Meta& meta) { meta.last_page = kMapSize / Image::page_size(); });
  });
  expect("meta page wrong",
         [](Image& copy) { change_newest_meta(copy, [](Meta& meta) { meta.free_list.pad = 512; }); });
}

void control_word_must_match(void**) {
  Image copy = image();
  const std::uint64_t newest = copy.meta(copy.newest()).txnid;
  const auto with = [](std::uint64_t word) {
    SharedControl control;
    control->txnid = word;
    return judge([](Image&) {}, false, control.get()).valid;
  };
  assert_true(with(newest));
  assert_true(with(newest - 1));
  assert_false(with(newest + 1));
  assert_false(with(newest - 2));
}

void page_used_twice(void**) {
  expect("page used twice", [](Image& copy) {
    const std::uint64_t branch = copy.tree(true).branches.back();
    std::memcpy(copy.node(branch, false, 1), copy.node(branch, false, 0), 6);  // the child
  });
  expect("page used twice", [](Image& copy) {  // a page of the tree that is on a free list too
    const std::uint64_t first = list_page(copy);
    const auto count = tlc::store::load<std::uint64_t>(copy.page(first) + kPageHeaderSize);
    const auto lowest = copy.page(first) + kPageHeaderSize + 8 * count;
    store_word<std::uint64_t>(lowest, 2);
    std::uint64_t leaf = ~std::uint64_t{0};
    for (const std::uint64_t page : copy.tree(true).leaves) leaf = std::min(leaf, page);
    const auto before = tlc::store::load<std::uint64_t>(lowest - 8);
    if (leaf < before) store_word<std::uint64_t>(lowest, leaf);
  });
}

void page_leaked(void**) {
  expect("page leaked: in no tree and no free list", [](Image& copy) {
    for (const unsigned slot : {0U, 1U}) {
      Meta meta = copy.meta(slot);
      ++meta.last_page;
      copy.set_meta(slot, meta);
    }
  });
}

void wrong_counters(void**) {
  const auto changed = [](const std::function<void(Meta&)>& change) {
    expect("tree counters wrong", [&](Image& copy) { change_newest_meta(copy, change); });
  };
  changed([](Meta& meta) { ++meta.main.entries; });
  changed([](Meta& meta) { --meta.main.leaf_pages; });
  changed([](Meta& meta) { ++meta.main.branch_pages; });
  changed([](Meta& meta) { ++meta.free_list.entries; });
  changed([](Meta& meta) { --meta.free_list.overflow_pages; });
  expect("tree depth impossible",
         [](Image& copy) { change_newest_meta(copy, [](Meta& meta) { meta.main.depth = 0; }); });
  expect("tree depth impossible",
         [](Image& copy) { change_newest_meta(copy, [](Meta& meta) { meta.main.depth = 40; }); });
  expect("page header wrong", [](Image& copy) { change_newest_meta(copy, [](Meta& meta) { ++meta.main.depth; }); });
}

void wrong_order(void**) {
  expect("keys out of order", [](Image& copy) {
    std::uint8_t* table = copy.page(copy.tree(true).leaves[3]) + kPageHeaderSize;
    std::swap(table[0], table[2]);
    std::swap(table[1], table[3]);
  });
  expect("key outside the bounds of its branch", [](Image& copy) {
    std::uint8_t* node = copy.node(copy.tree(true).leaves[3], true, 0);
    std::memset(node + kNodeHeaderSize, 0, 32);
  });
  expect("key outside the bounds of its branch", [](Image& copy) {
    const std::uint64_t leaf = copy.tree(true).leaves[3];
    std::uint8_t* node = copy.node(leaf, true, copy.open(leaf, true).nodes - 1);
    std::memset(node + kNodeHeaderSize, 0xff, 32);
  });
}

void wrong_nodes(void**) {
  expect("nodes overlap or leave a gap", [](Image& copy) {
    std::uint8_t* table = copy.page(copy.tree(true).leaves[0]) + kPageHeaderSize;
    std::memcpy(table, table + 2, 2);
  });
  expect("node outside its page", [](Image& copy) {
    store_word<std::uint16_t>(copy.page(copy.tree(true).leaves[0]) + kPageHeaderSize,
                              static_cast<std::uint16_t>(Image::page_size() - 4));
  });
  expect("page header wrong", [](Image& copy) { copy.page(copy.tree(true).leaves[0])[12] = 4; });
  expect("page header wrong", [](Image& copy) { ++copy.page(copy.tree(true).leaves[0])[0]; });
  expect("key size wrong", [](Image& copy) {  // key and data keep their common size
    std::uint8_t* node = copy.node(copy.tree(true).leaves[0], true, 0);
    store_word<std::uint16_t>(node + 6, 30);
    store_word<std::uint16_t>(node, 130);
  });
  expect("record size wrong", [](Image& copy) { copy.node(copy.tree(true).leaves[0], true, 0)[4] = 2; });
  expect("page number out of range", [](Image& copy) {
    const std::uint64_t branch = copy.tree(true).branches[0];
    store_word<std::uint32_t>(copy.node(branch, false, 0), 0x7fffffff);
  });
}

void record_checksums_are_optional(void**) {
  const auto flip = [](Image& copy) { copy.node(copy.tree(true).leaves[0], true, 0)[kNodeHeaderSize + 32 + 20] ^= 1; };
  assert_true(judge(flip).valid);
  expect("record checksum wrong", flip, true);
}

void wrong_free_lists(void**) {
  expect("free list of an unknown transaction", [](Image& copy) {
    const std::uint64_t leaf = copy.tree(false).leaves.back();
    std::uint8_t* node = copy.node(leaf, true, copy.open(leaf, true).nodes - 1);
    store_word<std::uint64_t>(node + kNodeHeaderSize, std::uint64_t{1} << 40);
  });
  expect("free list out of order", [](Image& copy) {
    std::uint8_t* list = copy.page(list_page(copy)) + kPageHeaderSize;
    std::memcpy(list + 16, list + 8, 8);
  });
  expect("free list count wrong", [](Image& copy) {
    std::uint8_t* list = copy.page(list_page(copy)) + kPageHeaderSize;
    store_word<std::uint64_t>(list, std::uint64_t{1} << 50);
  });
  expect("overflow page header wrong",
         [](Image& copy) { store_word<std::uint32_t>(copy.page(list_page(copy)) + 12, 0); });
}

void truncated_file(void**) {
  for (const std::size_t eighths : {1U, 3U, 5U}) {
    const auto report = judge([&](Image& copy) {
      const Meta meta = copy.meta(copy.newest());
      copy.bytes.resize((meta.last_page + 1) * Image::page_size() * eighths / 8);
    });
    assert_false(report.valid);
    assert_non_null(strstr(report.error, "outside the file"));
  }
  expect("meta page wrong", [](Image& copy) { copy.bytes.resize(Image::page_size()); });
  expect("meta page wrong", [](Image& copy) { copy.bytes.clear(); });
}

}  // namespace

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sound_file_passes),
      cmocka_unit_test(bad_metas),
      cmocka_unit_test(control_word_must_match),
      cmocka_unit_test(page_used_twice),
      cmocka_unit_test(page_leaked),
      cmocka_unit_test(wrong_counters),
      cmocka_unit_test(wrong_order),
      cmocka_unit_test(wrong_nodes),
      cmocka_unit_test(record_checksums_are_optional),
      cmocka_unit_test(wrong_free_lists),
      cmocka_unit_test(truncated_file),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
