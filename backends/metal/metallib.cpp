// SPDX-License-Identifier: MIT
//   header       "MTLB", u16 platform (0x8001 macOS, 1 iOS), u16 x 2 version of the format, u8 type, u8 system,
//                u16 x 2 version of the system, u64 size of the file, then u64 offset and u64 size of each: list of
//                functions, public metadata, private metadata, code. 88 bytes
//   list         u32 functions, then (the size counts from here) a group of tags for each
//   group        u32 size of the group with this number, the tags
//   tag          4 letters, u16 size, that many bytes; or ENDT, which ends the group and has no size
//   of a function: NAME text and NUL; TYPE u8; HASH SHA-256 of its code; OFFT u64 x 3 offsets in public metadata,
//   private
//                metadata and code; VERS u16 x 4 versions of AIR and of the language; MDSZ u64 size of its code (not in
//                old files: up to the next one's). Others are passed over
//   extension    tags up to ENDT between the list and the public metadata, where there is room. UUID 16 bytes; HDYN,
//                VLST, ILST, HSRD, HSRC, RLST u64 offset, u64 size
//   metadata     of each function a group of tags
//   code         LLVM bitcode, of each function: plain, or in the wrapper of Apple's
//
// Numbers are little-endian. Apple has not published the format: this is what YuAo's MetalLibraryArchive (its README)
// and JuliaGPU's Metal.jl (src/compiler/library.jl) say of it, and was compared with the metallib of 17,248 functions
// in Apple's MLX 0.32: list, offsets and the hash of each function are as written here.
#include "metal/metallib.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "metal/sha256.hpp"

namespace tlcb::metal {
namespace {

constexpr std::string_view kMagic = "MTLB";
constexpr std::string_view kEnd = "ENDT";
constexpr std::size_t kHeaderSize = 88;
constexpr std::size_t kPlatformAt = 4;
constexpr std::size_t kFormatAt = 6;
constexpr std::size_t kTypeAt = 10;
constexpr std::size_t kSystemAt = 11;
constexpr std::size_t kSystemVersionAt = 12;
constexpr std::size_t kSizeAt = 16;
constexpr std::size_t kSectionsAt = 24;

constexpr unsigned kMacPlatform = 0x8001;
constexpr unsigned kIosPlatform = 1;

constexpr std::array<const char*, 4> kTypes = {"executable", "core image", "dynamic", "symbol companion"};
constexpr std::array<const char*, 7> kKinds = {"vertex",  "fragment", "kernel",      "unqualified",
                                               "visible", "extern",   "intersection"};
constexpr unsigned kFirstSystem = 0x81;
constexpr std::array<const char*, 9> kSystems = {
    "macos", "ios", "tvos", "watchos", "bridgeos", "maccatalyst", "iossimulator", "tvossimulator", "watchossimulator"};

/// Bitcode begins with one of these: the wrapper's, its own.
constexpr std::string_view kWrapper("\xde\xc0\x17\x0b", 4);
constexpr std::string_view kBitcode("BC\xc0\xde", 4);

const char* const kCut = "it is cut or damaged";

/// Little-endian, whatever the machine; the bytes are there.
template <typename T>
T number(std::string_view bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | static_cast<T>(static_cast<unsigned char>(bytes[at + i])) << (8 * i));
  }
  return value;
}

struct Section {
  std::uint64_t offset = 0;
  std::string_view bytes;
};

struct Tag {
  std::string_view name;
  std::string_view content;
};

/// Takes tags from the front of bytes.
class Tags {
 public:
  explicit Tags(std::string_view bytes) : rest_(bytes) {}

  /// nullopt at ENDT, and where there is no whole tag any more: then it is damaged.
  std::optional<Tag> next() {
    constexpr std::size_t kNameSize = 4;
    constexpr std::size_t kHeadSize = 6;
    if (rest_.starts_with(kEnd)) {
      rest_.remove_prefix(kEnd.size());
      ended_ = true;
      return std::nullopt;
    }
    if (rest_.size() < kHeadSize) return std::nullopt;
    const auto size = number<std::uint16_t>(rest_, kNameSize);
    if (size > rest_.size() - kHeadSize) return std::nullopt;
    const Tag tag{rest_.substr(0, kNameSize), rest_.substr(kHeadSize, size)};
    rest_.remove_prefix(kHeadSize + size);
    return tag;
  }

  /// Whether ENDT has been seen.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool ended_ = false;
};

/// A function as its tags say, before it is judged.
struct Entry {
  Function function;
  std::uint64_t public_at = 0;
  std::uint64_t private_at = 0;
  std::uint64_t code_at = 0;
  std::optional<std::uint64_t> code_size;
  std::optional<std::string_view> hash;
  bool has_type = false;
  bool has_offsets = false;
};

class Reader {
 public:
  Reader(std::string_view bytes, Depth depth) : bytes_(bytes), depth_(depth) {}

  Metallib run() {
    if (read_header() && read_sections() && read_list() && read_extension()) check_functions();
    return std::move(out_);
  }

 private:
  bool wrong(std::string problem) {
    out_.problem = std::move(problem);
    return false;
  }
  bool damaged(const std::string& what) { return wrong(what + ": " + kCut); }

  bool read_header() {
    if (bytes_.empty()) return wrong("it is empty");
    if (!is_metallib(bytes_)) return wrong("it is no metallib");
    if (bytes_.size() < kHeaderSize) return damaged("it is shorter than a metallib's header");
    const auto size = number<std::uint64_t>(bytes_, kSizeAt);
    if (size != bytes_.size())
      return damaged("its header says " + std::to_string(size) + " bytes, and there are " +
                     std::to_string(bytes_.size()));
    const auto platform = number<std::uint16_t>(bytes_, kPlatformAt);
    if (platform != kMacPlatform && platform != kIosPlatform)
      return wrong("its platform " + std::to_string(platform) + " is not known");
    out_.format = version_at(bytes_, kFormatAt);
    const auto type = number<std::uint8_t>(bytes_, kTypeAt);
    if (type >= kTypes.size()) return wrong("its type " + std::to_string(type) + " is not known");
    out_.type = kTypes[type];
    const auto system = number<std::uint8_t>(bytes_, kSystemAt);
    if (system == 0) return true;  // of before there were several
    if (system < kFirstSystem || system - kFirstSystem >= kSystems.size())
      return wrong("it is for a system of number " + std::to_string(system) + ", which is not known");
    out_.os = kSystems[system - kFirstSystem];
    out_.os_version = version_at(bytes_, kSystemVersionAt);
    return true;
  }

  static Version version_at(std::string_view bytes, std::size_t at) {
    return {number<std::uint16_t>(bytes, at), number<std::uint16_t>(bytes, at + 2)};
  }

  bool read_sections() {
    constexpr std::array kNames = {"list of functions", "public metadata", "private metadata", "code"};
    const std::array<Section*, 4> into = {&list_, &public_, &private_, &code_};
    for (std::size_t i = 0; i < into.size(); ++i) {
      const auto offset = number<std::uint64_t>(bytes_, kSectionsAt + 16 * i);
      const auto size = number<std::uint64_t>(bytes_, kSectionsAt + 16 * i + 8);
      // The list's size leaves the number of functions out, which comes before.
      const std::uint64_t before = i == 0 ? sizeof(std::uint32_t) : 0;
      if (!inside(offset, size, before)) return damaged(std::string("its ") + kNames[i] + " reaches beyond its end");
      *into[i] = {offset, bytes_.substr(offset, size + before)};
    }
    return true;
  }

  [[nodiscard]] bool inside(std::uint64_t offset, std::uint64_t size, std::uint64_t before) const {
    if (size == 0 && before == 0) return offset <= bytes_.size();
    return offset >= kHeaderSize && offset <= bytes_.size() && before <= bytes_.size() - offset &&
           size <= bytes_.size() - offset - before;
  }

  bool read_list() {
    constexpr std::uint32_t kSmallestGroup = 8;
    const auto count = number<std::uint32_t>(list_.bytes, 0);
    std::string_view rest = list_.bytes.substr(sizeof count);
    if (count > rest.size() / kSmallestGroup)
      return damaged("its list has no room for its " + std::to_string(count) + " functions");
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string_view group = take_group(rest);
      if (group.empty()) return damaged("a function of its list reaches beyond the list");
      if (!read_function(group)) return false;
    }
    return rest.empty() || damaged("its list has bytes after its last function");
  }

  /// The tags of the group at the front; empty where it is not whole.
  static std::string_view take_group(std::string_view& from) {
    std::uint32_t size = 0;
    if (from.size() < sizeof size) return {};
    size = number<std::uint32_t>(from, 0);
    if (size < sizeof size || size > from.size()) return {};
    const std::string_view group = from.substr(sizeof size, size - sizeof size);
    from.remove_prefix(size);
    return group;
  }

  bool read_function(std::string_view group) {
    Entry entry;
    Tags tags(group);
    while (const std::optional<Tag> tag = tags.next()) {
      if (!read_tag(*tag, entry))
        return damaged("tag " + std::string(tag->name) + " of a function is not as it must be");
    }
    if (!tags.ended() || !tags.rest().empty()) return damaged("the tags of a function do not end where they should");
    if (entry.function.name.empty() || !entry.has_type || !entry.has_offsets)
      return damaged("a function of its list has no name, no type or no code");
    entries_.push_back(std::move(entry));
    return true;
  }

  static bool read_tag(const Tag& tag, Entry& entry) {
    const std::string_view content = tag.content;
    if (tag.name == "NAME") {
      entry.function.name = content.substr(0, content.find('\0'));
      return !entry.function.name.empty() && entry.function.name.size() + 1 == content.size();
    }
    if (tag.name == "TYPE") {
      entry.has_type = content.size() == sizeof(std::uint8_t);
      if (entry.has_type) entry.function.kind = kind_name(number<std::uint8_t>(content, 0));
      return entry.has_type;
    }
    if (tag.name == "HASH") {
      entry.hash = content;
      return content.size() == Sha256().size();
    }
    if (tag.name == "OFFT") {
      entry.has_offsets = content.size() == 3 * sizeof(std::uint64_t);
      if (!entry.has_offsets) return false;
      entry.public_at = number<std::uint64_t>(content, 0);
      entry.private_at = number<std::uint64_t>(content, 8);
      entry.code_at = number<std::uint64_t>(content, 16);
      return true;
    }
    if (tag.name == "VERS") {
      if (content.size() != 4 * sizeof(std::uint16_t)) return false;
      entry.function.air = version_at(content, 0);
      entry.function.language = version_at(content, 4);
    } else if (tag.name == "MDSZ") {
      if (content.size() != sizeof(std::uint64_t)) return false;
      entry.code_size = number<std::uint64_t>(content, 0);
    }
    return true;
  }

  static std::string kind_name(unsigned kind) {
    return kind < kKinds.size() ? kKinds[kind] : "type " + std::to_string(kind);
  }

  /// Between the list and the public metadata.
  bool read_extension() {
    const std::uint64_t from = list_.offset + list_.bytes.size();
    if (public_.bytes.empty() || from >= public_.offset) return true;
    Tags tags(bytes_.substr(from, public_.offset - from));
    while (const std::optional<Tag> tag = tags.next()) {
      if (!extension_fits(*tag))
        return damaged("tag " + std::string(tag->name) + " of its header reaches beyond its end");
    }
    return tags.ended() || damaged("the tags of its header do not end where they should");
  }

  [[nodiscard]] bool extension_fits(const Tag& tag) const {
    constexpr std::array<std::string_view, 6> kPlaces = {"HDYN", "VLST", "ILST", "HSRD", "HSRC", "RLST"};
    if (std::find(kPlaces.begin(), kPlaces.end(), tag.name) == kPlaces.end()) return true;
    if (tag.content.size() != 2 * sizeof(std::uint64_t)) return false;
    return inside(number<std::uint64_t>(tag.content, 0), number<std::uint64_t>(tag.content, 8), 0);
  }

  void check_functions() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const std::uint64_t next = i + 1 < entries_.size() ? entries_[i + 1].code_at : code_.bytes.size();
      if (!check_function(entries_[i], next)) return;
      out_.functions.push_back(std::move(entries_[i].function));
    }
  }

  bool check_function(Entry& entry, std::uint64_t next) {
    const std::string of = " of function '" + entry.function.name + "'";
    if (!group_at(public_, entry.public_at) || !group_at(private_, entry.private_at))
      return damaged("the metadata" + of + " reaches beyond its section");
    const std::uint64_t size = entry.code_size.value_or(next < entry.code_at ? 0 : next - entry.code_at);
    if (entry.code_at > code_.bytes.size() || size > code_.bytes.size() - entry.code_at)
      return damaged("the code" + of + " reaches beyond its section");
    entry.function.code_bytes = size;
    const std::string_view code = code_.bytes.substr(entry.code_at, size);
    if (!is_bitcode(code)) return damaged("the code" + of + " is no bitcode");
    if (depth_ == Depth::bounds || !entry.hash) return true;
    const Sha256 hash = sha256(code);
    return std::memcmp(hash.data(), entry.hash->data(), hash.size()) == 0 ||
           wrong("the code" + of + " is not what its hash says: it is damaged");
  }

  static bool group_at(const Section& section, std::uint64_t offset) {
    if (offset > section.bytes.size()) return false;
    std::string_view from = section.bytes.substr(offset);
    return !take_group(from).empty();
  }

  /// A wrapper says where in it the bitcode is.
  static bool is_bitcode(std::string_view code) {
    constexpr std::size_t kWrapperSize = 20;
    if (code.starts_with(kBitcode)) return true;
    if (!code.starts_with(kWrapper) || code.size() < kWrapperSize) return false;
    const auto offset = number<std::uint32_t>(code, 8);
    const auto size = number<std::uint32_t>(code, 12);
    return offset >= kWrapperSize && offset <= code.size() && size <= code.size() - offset;
  }

  std::string_view bytes_;
  Depth depth_;
  Metallib out_;
  Section list_;
  Section public_;
  Section private_;
  Section code_;
  std::vector<Entry> entries_;
};

}  // namespace

bool is_metallib(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

Metallib check_metallib(std::string_view bytes, Depth depth) {
  return Reader(bytes, depth).run();
}

}  // namespace tlcb::metal
