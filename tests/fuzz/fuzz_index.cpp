// SPDX-License-Identifier: MIT
// Fuzzes the index reader and the validator with images of data.mdb.
//
// The first byte says what the rest is. Even: the image itself. Odd: changes to a sound index made
// at start, 5 bytes each: page (1), offset in the page (2), value (2), so that the fuzzer need not
// find out how a B+tree is made. Bit 1 chooses pread, bit 2 whether there is a control word, bits 3
// and 4 the page size (4096, 16384, 32768, 4096), bits 5 to 7 an image's control word.
// Nothing may crash, and what the reader hands out as intact under odd inputs was put.
#include <sys/mman.h>

#include <algorithm>

#include "../unit/store/index_support.hpp"

namespace {

using namespace tlc::test;

constexpr std::uint64_t kKeys = 400;
constexpr std::size_t kFuzzMap = std::size_t{16} << 20;

constexpr std::size_t kPageSizes[] = {4096, 16384, 32768};

struct Sound {
  std::size_t page_size = 0;
  std::vector<std::uint8_t> bytes;
  std::uint64_t txnid = 0;
};

Sound make_sound(std::size_t page_size) {
  Index index(kFuzzMap);
  index.start_with_pages(page_size);
  for (std::uint64_t from = 0; from < kKeys; from += 20) index.put(from, from + 20, 1);
  for (std::uint64_t from = 0; from < kKeys; from += 50) index.remove(from, from + 5);
  const tlc::port::Fd file = index.data();
  const auto report = need(tlc::store::validate(file.get(), kFuzzMap, index.control.get(), true, page_size));
  if (!report.valid) give_up(std::string("no sound index: ") + report.error);
  Sound image{page_size, read_all(file.get()), index.control->txnid};
  const auto reader = need(IndexReader::open(index.data(), index.control.get(), kFuzzMap, false, page_size));
  image.bytes.resize(std::min<std::size_t>(image.bytes.size(), reader.used_bytes()));
  return image;
}

const Sound& sound(unsigned which) {
  static const Sound made[] = {make_sound(kPageSizes[0]), make_sound(kPageSizes[1]), make_sound(kPageSizes[2])};
  return made[which % 3];
}

std::vector<std::uint8_t> changed(const Sound& from, const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes = from.bytes;
  const std::size_t page_size = from.page_size;
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

void read_it(const tlc::port::Fd& file, const IndexControl* control, bool use_pread, bool any, std::size_t page_size) {
  auto reader = IndexReader::open(tlc::port::Fd(dup(file.get())), control, kFuzzMap, use_pread, page_size);
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
  const Sound& base = sound(mode >> 3 & 3);
  const std::vector<std::uint8_t> bytes =
      is_image ? std::vector<std::uint8_t>(data + 1, data + size) : changed(base, data + 1, size - 1);
  const tlc::port::Fd file(memfd_create("data.mdb", MFD_CLOEXEC));
  if (!file || !tlc::port::pwrite_full(file.get(), bytes.data(), bytes.size(), 0).ok()) return 0;
  IndexControl control{};
  control.txnid = is_image ? mode >> 5 : base.txnid;
  const IndexControl* given = (mode & 4) != 0 ? &control : nullptr;
  read_it(file, given, (mode & 2) != 0, is_image, base.page_size);
  (void)tlc::store::validate(file.get(), kFuzzMap, given, (mode & 2) != 0, base.page_size);
  return 0;
}
