// SPDX-License-Identifier: MIT
// Fuzzes the index reader and the validator with images of data.mdb.
//
// The first byte says what the rest is. Even: the image itself. Odd: changes to a sound index made
// at start, 5 bytes each: page (1), offset in the page (2), value (2), so that the fuzzer need not
// find out how a B+tree is made. Bit 1 chooses pread, bit 2 whether there is a control word.
// Nothing may crash, and what the reader hands out as intact under odd inputs was put.
#include <sys/mman.h>

#include <algorithm>

#include "../unit/store/index_support.hpp"
#include "store/index/page_source.hpp"

namespace {

using namespace tlc::test;

constexpr std::uint64_t kKeys = 400;
constexpr std::size_t kFuzzMap = std::size_t{16} << 20;

struct Sound {
  std::vector<std::uint8_t> bytes;
  std::uint64_t txnid = 0;
};

const Sound& sound() {
  static const Sound made = [] {
    Index index(kFuzzMap);
    for (std::uint64_t from = 0; from < kKeys; from += 20) index.put(from, from + 20, 1);
    for (std::uint64_t from = 0; from < kKeys; from += 50) index.remove(from, from + 5);
    Sound image{read_all(index.data().get()), index.control->txnid};
    const std::uint64_t used = index.reader().used_bytes();
    image.bytes.resize(std::min<std::size_t>(image.bytes.size(), used));
    return image;
  }();
  return made;
}

std::vector<std::uint8_t> changed(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes = sound().bytes;
  const std::size_t page_size = tlc::store::native_index_page_size();
  const std::size_t pages = bytes.size() / page_size;
  for (; size >= 5; data += 5, size -= 5) {
    std::uint16_t offset = 0;
    std::memcpy(&offset, data + 1, 2);
    std::uint8_t* page = bytes.data() + data[0] % pages * page_size;
    std::memcpy(page + offset % (page_size - 1), data + 3, 2);
  }
  return bytes;
}

void check(const Digest& key, const IndexRecord& record, bool may_hold_anything) {
  if (may_hold_anything || !tlc::store::intact(record, key)) return;
  const IndexRecord expected = make_record(key, 1);
  if (std::memcmp(&expected, &record, sizeof record) != 0) std::abort();
}

void read_it(const tlc::port::Fd& file, const IndexControl* control, bool use_pread, bool any) {
  auto reader = IndexReader::open(tlc::port::Fd(dup(file.get())), control, kFuzzMap, use_pread);
  if (!reader.ok()) return;
  for (std::uint64_t number = 0; number < 24; ++number) {
    const Digest key = make_key(number * 17 % kKeys);
    IndexRecord record;
    if (reader->get(key, record) == Lookup::hit) check(key, record, any);
  }
  (void)reader->for_each([any](const Digest& key, const IndexRecord& record) {
    check(key, record, any);
    return true;
  });
  (void)reader->entries();
  (void)reader->used_bytes();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned mode = data[0];
  const bool is_image = (mode & 1) == 0;
  const std::vector<std::uint8_t> bytes =
      is_image ? std::vector<std::uint8_t>(data + 1, data + size) : changed(data + 1, size - 1);
  const tlc::port::Fd file(memfd_create("data.mdb", MFD_CLOEXEC));
  if (!file || !tlc::port::pwrite_full(file.get(), bytes.data(), bytes.size(), 0).ok()) return 0;
  IndexControl control{};
  control.txnid = is_image ? mode >> 3 : sound().txnid;
  const IndexControl* given = (mode & 4) != 0 ? &control : nullptr;
  read_it(file, given, (mode & 2) != 0, is_image);
  (void)tlc::store::validate(file.get(), kFuzzMap, given, (mode & 2) != 0);
  return 0;
}
