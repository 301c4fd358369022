// SPDX-License-Identifier: MIT
// Fatbins: a container of images. Its layout is in no documentation; this is what CUDA 13's fatbinary writes, and what
// is known of older ones.
//
//   container:  u32 magic, u16 version, u16 size of this header, u64 size of what follows
//   image:      u16 kind (1 PTX, 2 ELF), u16 version, u32 size of this header, u64 size of what follows,
//               ..., at 28: u32 SM number, at 40: u64 flags (bits 12 to 15: how it is compressed)
#include <cstdint>
#include <cstring>

#include "cuda/binary_check.hpp"
#include "cuda/ptx.hpp"

namespace tlcb::cuda {
namespace {

constexpr std::size_t kContainerHeader = 16;
constexpr std::size_t kImageHeader = 64;
constexpr std::uint16_t kKindPtx = 1;
constexpr std::uint16_t kKindElf = 2;
constexpr std::uint64_t kCompressed = 0xf000;

template <typename T>
T at(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// What is not compressed can be looked into.
void check_image(const Image& image, Binary& out) {
  if (image.format == Format::cubin) {
    const Binary cubin = check_cubin(image.bytes, true);
    if (!cubin.ok()) {
      out.problem = "of its image for " + image.arch.text() + ": " + cubin.problem;
    } else if (cubin.images.front().arch.number != image.arch.number) {
      out.problem = "its image for " + image.arch.text() + " holds code for " + cubin.images.front().arch.text();
    }
  } else if (image.format == Format::ptx && read_ptx(image.bytes).version.empty()) {
    out.problem = "its PTX for " + image.arch.text() + " has no .version: it is damaged";
  }
}

/// One image at the start of `bytes`; gives its size, or 0 and a problem.
std::size_t read_image(std::string_view bytes, Binary& out) {
  if (bytes.size() < kImageHeader) {
    out.problem = "an image of it reaches beyond its end: it is cut or damaged";
    return 0;
  }
  const auto kind = at<std::uint16_t>(bytes, 0);
  const auto header = at<std::uint32_t>(bytes, 4);
  const auto size = at<std::uint64_t>(bytes, 8);
  if (header < kImageHeader || header > bytes.size() || size > bytes.size() - header) {
    out.problem = "an image of it reaches beyond its end: it is cut or damaged";
    return 0;
  }
  Image image;
  image.arch.number = static_cast<int>(at<std::uint32_t>(bytes, 28) & 0xffff);
  image.arch.is_virtual = kind == kKindPtx;
  image.format = kind == kKindPtx ? Format::ptx : kind == kKindElf ? Format::cubin : Format::unknown;
  const bool packed = (at<std::uint64_t>(bytes, 40) & kCompressed) != 0;
  if (!packed) {
    image.bytes = bytes.substr(header, static_cast<std::size_t>(size));
    check_image(image, out);
  }
  out.images.push_back(image);
  return header + static_cast<std::size_t>(size);
}

}  // namespace

Binary check_fatbin(std::string_view bytes) {
  Binary out;
  out.format = Format::fatbin;
  if (bytes.size() < kContainerHeader) {
    out.problem = "it is too short for a fatbin";
    return out;
  }
  const auto header = at<std::uint16_t>(bytes, 6);
  const auto size = at<std::uint64_t>(bytes, 8);
  if (header < kContainerHeader || header > bytes.size() || size != bytes.size() - header) {
    out.problem = "its size is not what its header says: it is cut or damaged";
    return out;
  }
  std::string_view rest = bytes.substr(header);
  while (!rest.empty()) {
    const std::size_t used = read_image(rest, out);
    if (!out.ok()) return out;
    rest.remove_prefix(used);
  }
  bool code = false;
  for (const Image& image : out.images) code = code || image.format != Format::unknown;
  if (!code) out.problem = "it has no image for a GPU";
  return out;
}

}  // namespace tlcb::cuda
