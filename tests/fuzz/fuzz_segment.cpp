// SPDX-License-Identifier: MIT
// Any bytes as a segment file: opened, read through, each record read, and the index rebuilt from it.
//
// The first byte says what the rest is. Even: the whole file. Odd: changes to a sound segment of a store made at start,
// 6 bytes each: what (1), offset (3), value (2). What: mod 4: 0 writes the value; 1 makes the MAC of the record at the
// place right, whatever is in it; 2 cuts the file there; 3 copies the record of the number `value` there. Bit 1 lets a
// store be opened on the file whose index is gone, so that a rebuild reads it.
//
// Nothing may crash or hang. Records are visited in order, inside the file, and do not overlap. Whoever makes no MAC
// right finds nothing but what was put: whole entries, or none.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "port/file.hpp"
#include "scratch.hpp"
#include "store/segment.hpp"
#include "store/store.hpp"
#include "trust/hash.hpp"

namespace {

using namespace tlc::store;  // NOLINT
using tlc::trust::Digest;

constexpr std::uint64_t kEntries = 12;
constexpr std::uint64_t kLimit = std::uint64_t{8} << 20;

void require(bool holds) {
  if (!holds) std::abort();
}

Digest key_of(std::uint64_t number) {
  return tlc::trust::blake2b(&number, sizeof number);
}

std::vector<std::uint8_t> content_of(std::uint64_t number) {
  return std::vector<std::uint8_t>(100 + 40 * number, static_cast<std::uint8_t>(number + 1));
}

std::shared_ptr<Store> open_store(const std::string& root) {
  StoreOptions options;
  options.root = root;
  options.limit = kLimit;
  tlc::Result<std::shared_ptr<Store>> opened = Store::open(options);
  require(opened.ok());
  return std::move(*opened);
}

/// A store with one segment, and its bytes.
struct Sound {
  tlc::test::Scratch scratch;
  std::string segments;
  std::uint64_t id = 0;
  tlc::trust::MacKey key;
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint64_t> records;  // their offsets
  std::map<Digest, std::uint64_t> numbers;

  Sound() {
    const std::shared_ptr<Store> store = open_store(scratch.path("store"));
    for (std::uint64_t number = 0; number < kEntries; ++number) {
      const std::vector<std::uint8_t> data = content_of(number);
      const MemberView member{"code", 2, data, {}};
      RecordContent content;
      content.key = key_of(number);
      content.name_space = number % 2 == 0 ? "even" : "odd";
      content.members = {&member, 1};
      require(store->put(content, {}).status == TLC_OK);
      numbers[content.key] = number;
    }
    segments = store->path() + "/segments";
    key = store->control().id();
    const tlc::port::Fd dir(::open(segments.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto ids = list_segments(dir.get());
    require(ids.ok() && ids->size() == 1);
    id = ids->front();
    const auto text = tlc::port::read_file_at(dir.get(), segment_name(id).c_str(), kLimit);
    require(text.ok());
    bytes.assign(text->begin(), text->end());
    const auto segment = Segment::open(dir.get(), id);
    require(segment.ok());
    (*segment)->for_each(0, key, [this](const RecordHeader& header) {
      records.push_back(header.offset);
      return true;
    });
    require(records.size() == kEntries);
  }

  [[nodiscard]] std::string file() const { return segments + "/" + segment_name(id); }
};

Sound& sound() {
  static Sound made;
  return made;
}

void make_mac_right(std::span<std::uint8_t> file, std::uint64_t at) {
  RecordHeader header{};
  if (at % kAlignment != 0 || at + sizeof header > file.size()) return;
  std::memcpy(&header, file.data() + at, sizeof header);
  header.magic = kRecordMagic;
  header.version = 1;
  header.segment = sound().id;
  header.offset = at;
  header.mac = tlc::trust::mac(sound().key, &header, offsetof(RecordHeader, mac));
  std::memcpy(file.data() + at, &header, sizeof header);
}

void copy_record(std::span<std::uint8_t> file, std::uint64_t at, std::size_t number) {
  const std::vector<std::uint8_t>& from = sound().bytes;
  const std::uint64_t start = sound().records[number % kEntries];
  const std::uint64_t end = number % kEntries + 1 < kEntries ? sound().records[number % kEntries + 1] : from.size();
  if (at >= file.size()) return;
  std::memcpy(file.data() + at, from.data() + start, std::min<std::uint64_t>(end - start, file.size() - at));
}

/// The changed file, and whether a MAC was made right.
std::vector<std::uint8_t> changed(const std::uint8_t* data, std::size_t size, bool& forged) {
  std::vector<std::uint8_t> bytes = sound().bytes;
  for (; size >= 6 && !bytes.empty(); data += 6, size -= 6) {
    const std::uint64_t at = (data[1] | data[2] << 8 | data[3] << 16) % bytes.size();
    std::uint16_t value = 0;
    std::memcpy(&value, data + 4, 2);
    if (data[0] % 4 == 0) {
      std::memcpy(bytes.data() + at, &value, std::min<std::size_t>(2, bytes.size() - at));
    } else if (data[0] % 4 == 1) {
      make_mac_right(bytes, at);
      forged = true;
    } else if (data[0] % 4 == 2) {
      bytes.resize(at);
    } else {
      copy_record(bytes, at, value);
    }
  }
  return bytes;
}

void check_content(const RecordMeta& meta, const Digest& key, bool forged) {
  if (forged) return;
  const auto number = sound().numbers.find(key);
  require(number != sound().numbers.end() && meta.members.size() == 1);
  require(std::ranges::equal(meta.members[0].data, content_of(number->second)));
}

void read_through(bool forged) {
  const tlc::port::Fd dir(::open(sound().segments.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto segment = Segment::open(dir.get(), sound().id);
  if (!segment) return;
  std::uint64_t end = 0;
  (*segment)->for_each(0, sound().key, [&](const RecordHeader& header) {
    require(header.offset >= end && header.record_length <= (*segment)->size() - header.offset);
    end = header.offset + header.record_length;
    const auto body = (*segment)->view(header.offset + kHeaderSize, header.body_length);
    std::vector<std::uint8_t> copy(header.body_length);
    require((*segment)->read(header.offset + kHeaderSize, copy.data(), copy.size()));
    require(body.size() == copy.size() && std::ranges::equal(body, copy));
    const tlc::Result<RecordMeta> meta = parse_meta(header, copy);
    if (meta && !check_members(header, *meta, copy, nullptr)) check_content(*meta, header.key, forged);
    return true;
  });
}

void rebuild(bool forged) {
  for (const auto& entry : std::filesystem::directory_iterator(sound().segments + "/.."))
    if (entry.path().filename().string().starts_with("index-")) std::filesystem::remove_all(entry.path());
  const std::shared_ptr<Store> store = open_store(sound().scratch.path("store"));
  const tlc::Result<VerifyReport> report = store->verify(true, {});
  require(report.ok());
  for (std::uint64_t number = 0; number < kEntries; ++number) {
    const Found found = store->get(key_of(number));
    if (found.outcome == Outcome::hit) check_content(found.artifact->meta(), key_of(number), forged);
  }
  // What a repair left is whole.
  require(forged || store->verify(false, {})->damaged.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned mode = data[0];
  bool forged = false;
  (void)sound();
  const std::vector<std::uint8_t> bytes =
      (mode & 1) == 0 ? std::vector<std::uint8_t>(data + 1, data + size) : changed(data + 1, size - 1, forged);
  {
    ::unlink(sound().file().c_str());  // a file of its own each time: none is cut that may be mapped
    const tlc::port::Fd file(::open(sound().file().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file || !tlc::port::pwrite_full(file.get(), bytes.data(), bytes.size(), 0).ok()) return 0;
  }
  read_through(forged);
  if ((mode & 2) != 0) rebuild(forged);
  return 0;
}
