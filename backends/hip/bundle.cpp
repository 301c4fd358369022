// SPDX-License-Identifier: MIT
//   bundle:      24 bytes "__CLANG_OFFLOAD_BUNDLE__", u64 entries, the entries, their bytes
//   entry:       u64 offset, u64 size, u64 length of the id, the id
//   id:          kind "-" triple "-" [target id]; kind host, hip (code objects up to version 3) or hipv4
//   compressed:  4 bytes "CCOB", u16 version, u16 method, [u32 size of all (version 2) | u64 (version 3)], ...
//
// Numbers are little-endian. A bundle for HIP has an entry for the host, which is empty.
#include "hip/bundle.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tlcb::hip {
namespace {

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressed = "CCOB";
constexpr std::string_view kHostId = "host-x86_64-unknown-linux--";
constexpr std::string_view kGpuId = "hipv4-amdgcn-amd-amdhsa--";
constexpr std::uint64_t kAlignment = 4096;  ///< of code objects, as clang lays them out
constexpr std::uint64_t kMostEntries = 256;
constexpr std::uint64_t kLongestId = 256;

const char* const kCut = "its table of entries reaches beyond its end: it is cut or damaged";

template <typename T>
bool take(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}

void put(std::string& out, std::uint64_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// What an id says; false for one that no bundle of HIP's has.
bool read_id(BundleEntry& entry) {
  std::string_view id = entry.id;
  if (id.starts_with("host-")) return true;
  for (const std::string_view kind : {"hipv4-amdgcn-amd-amdhsa-", "hip-amdgcn-amd-amdhsa-"}) {
    if (!id.starts_with(kind)) continue;
    id.remove_prefix(kind.size());
    // The environment of the triple is empty: another dash, which older compilers leave out.
    if (id.starts_with('-')) id.remove_prefix(1);
    entry.for_gpu = true;
    return parse_target_id(id, entry.target);
  }
  return false;
}

bool read_entry(std::string_view whole, std::string_view& table, BundleEntry& entry, std::string& problem) {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t length = 0;
  if (!take(table, offset) || !take(table, size) || !take(table, length) || length > kLongestId ||
      length > table.size()) {
    problem = kCut;
    return false;
  }
  entry.id = table.substr(0, length);
  table.remove_prefix(length);
  if (offset > whole.size() || size > whole.size() - offset) {
    problem = "its entry " + entry.id + " reaches beyond its end: it is cut or damaged";
  } else if (!read_id(entry)) {
    problem = "its entry " + entry.id + " is neither for an AMD GPU nor for the host";
  } else if (!entry.for_gpu && size != 0) {
    problem = "its entry " + entry.id + " holds code for the host";
  }
  if (!problem.empty()) return false;
  entry.bytes = whole.substr(offset, size);
  return true;
}

}  // namespace

bool is_bundle(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

bool is_compressed_bundle(std::string_view bytes) {
  return bytes.starts_with(kCompressed);
}

std::vector<BundleEntry> read_bundle(std::string_view bytes, std::string& problem) {
  std::vector<BundleEntry> out;
  problem.clear();
  std::string_view table = bytes.substr(std::min(kMagic.size(), bytes.size()));
  std::uint64_t count = 0;
  if (!take(table, count)) {
    problem = kCut;
    return out;
  }
  if (count == 0 || count > kMostEntries) {
    problem = "it says that it has " + std::to_string(count) + " entries: it is damaged";
    return out;
  }
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!read_entry(bytes, table, out.emplace_back(), problem)) return out;
    const BundleEntry& entry = out.back();
    const auto same = [&](const BundleEntry& other) { return &other != &entry && other.id == entry.id; };
    if (std::any_of(out.begin(), out.end(), same)) {
      problem = "it has two entries " + entry.id;
      return out;
    }
    end = std::max(end, static_cast<std::uint64_t>(entry.bytes.data() - bytes.data()) + entry.bytes.size());
  }
  if (end + kAlignment <= bytes.size()) problem = "it has bytes after its end: it is damaged";
  if (std::none_of(out.begin(), out.end(), [](const BundleEntry& entry) { return entry.for_gpu; }))
    problem = "it has no code for a GPU";
  return out;
}

std::string compressed_bundle_problem(std::string_view bytes) {
  const std::size_t size = bytes.size();
  bytes.remove_prefix(std::min(kCompressed.size(), bytes.size()));
  std::uint16_t version = 0;
  std::uint16_t method = 0;
  if (!take(bytes, version) || !take(bytes, method)) return "it is too short for a compressed bundle";
  constexpr std::uint16_t kMethods = 2;  // zlib, zstd
  if (version == 0 || version > 3 || method >= kMethods) {
    return "it is compressed in a way that is not known (version " + std::to_string(version) + ", method " +
           std::to_string(method) + ")";
  }
  std::uint32_t all32 = 0;
  std::uint64_t all = size;
  const bool read = version == 1 || (version == 2 ? take(bytes, all32) : take(bytes, all));
  if (version == 2) all = all32;
  constexpr std::size_t kSmallestRest = 8;
  return read && all == size && bytes.size() > kSmallestRest
             ? ""
             : "its size is not what its header says: it is cut or damaged";
}

std::string write_bundle(const std::vector<std::pair<TargetId, std::string>>& code_objects) {
  struct Row {
    std::string id;
    std::string_view bytes;
  };
  std::vector<Row> rows = {{std::string(kHostId), {}}};
  for (const auto& [target, bytes] : code_objects) rows.push_back({std::string(kGpuId) + target.text(), bytes});
  std::uint64_t at = kMagic.size() + 8;
  for (const Row& row : rows) at += 24 + row.id.size();
  const auto aligned = [](std::uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; };
  std::string out(kMagic);
  put(out, rows.size());
  for (const Row& row : rows) {
    at = aligned(at);
    put(out, at);
    put(out, row.bytes.size());
    put(out, row.id.size());
    out += row.id;
    at += row.bytes.size();
  }
  for (const Row& row : rows) {
    out.resize(aligned(out.size()), '\0');
    out += row.bytes;
  }
  return out;
}

}  // namespace tlcb::hip
