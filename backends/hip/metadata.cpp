// SPDX-License-Identifier: MIT
// A map, of which these keys are read:
//
//   amdhsa.target    text
//   amdhsa.kernels   array of maps: .name, .vgpr_count, .agpr_count, .sgpr_count, .group_segment_fixed_size,
//                    .private_segment_fixed_size, .kernarg_segment_size, .max_flat_workgroup_size, .wavefront_size
#include "hip/metadata.hpp"

#include "hip/msgpack.hpp"

namespace tlcb::hip {
namespace {

using Kind = MsgPack::Kind;

std::uint64_t* number_of(KernelFacts& kernel, std::string_view key) {
  if (key == ".vgpr_count") return &kernel.vgprs;
  if (key == ".agpr_count") return &kernel.agprs;
  if (key == ".sgpr_count") return &kernel.sgprs;
  if (key == ".group_segment_fixed_size") return &kernel.shared_bytes;
  if (key == ".private_segment_fixed_size") return &kernel.private_bytes;
  if (key == ".kernarg_segment_size") return &kernel.argument_bytes;
  if (key == ".max_flat_workgroup_size") return &kernel.max_threads;
  if (key == ".wavefront_size") return &kernel.wave;
  return nullptr;
}

bool read_text(MsgPack& from, std::string& into) {
  const MsgPack::Item item = from.next();
  into = item.text;
  return item.kind == Kind::text;
}

bool read_number(MsgPack& from, std::uint64_t& into) {
  const MsgPack::Item item = from.next();
  into = item.number;
  return item.kind == Kind::number;
}

/// Reads a map whose keys are text: `each` takes the value.
template <typename Each>
bool read_map(MsgPack& from, Each&& each) {
  const MsgPack::Item head = from.next();
  if (head.kind != Kind::map) return false;
  for (std::uint64_t i = 0; i < head.count; ++i) {
    const MsgPack::Item key = from.next();
    if (key.kind != Kind::text || !each(key.text)) return false;
  }
  return true;
}

bool read_kernel(MsgPack& from, KernelFacts& kernel) {
  return read_map(from, [&](std::string_view key) {
    if (key == ".name") return read_text(from, kernel.name);
    if (std::uint64_t* const number = number_of(kernel, key)) return read_number(from, *number);
    return from.pass_over();
  });
}

bool read_kernels(MsgPack& from, std::vector<KernelFacts>& into) {
  const MsgPack::Item head = from.next();
  if (head.kind != Kind::array) return false;
  for (std::uint64_t i = 0; i < head.count; ++i) {
    if (!read_kernel(from, into.emplace_back())) return false;
  }
  return true;
}

}  // namespace

std::optional<Metadata> parse_metadata(std::string_view bytes) {
  MsgPack from(bytes);
  Metadata out;
  const bool whole = read_map(from, [&](std::string_view key) {
    if (key == "amdhsa.target") return read_text(from, out.target);
    if (key == "amdhsa.kernels") return read_kernels(from, out.kernels);
    return from.pass_over();
  });
  if (!whole) return std::nullopt;
  return out;
}

}  // namespace tlcb::hip
