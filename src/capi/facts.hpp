// SPDX-License-Identifier: MIT
// What a record says of itself, as the C API shows it.
#pragma once

#include "cache/values.hpp"
#include "store/artifact.hpp"
#include "store/record.hpp"

namespace tlc::capi {

/// Borrowed from the header and the meta.
inline tlc_artifact_info facts_of(const store::RecordHeader& header, const store::RecordMeta& meta, store::Tier tier) {
  tlc_artifact_info facts{};
  facts.struct_size = TLC_SIZEOF(tlc_artifact_info, tier);
  facts.name_space = cache::str_of(meta.name_space);
  facts.label = cache::str_of(meta.label);
  facts.digest = header.key.bytes.data();
  facts.generation = header.sequence;
  facts.created_ns = header.created_ns;
  facts.compile_us = header.compile_us;
  for (const store::MemberView& member : meta.members) facts.size += member.data.size();
  facts.member_count = static_cast<uint32_t>(meta.members.size());
  facts.tier = static_cast<uint32_t>(tier);
  return facts;
}

}  // namespace tlc::capi
