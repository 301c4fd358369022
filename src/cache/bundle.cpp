// SPDX-License-Identifier: MIT
#include "cache/bundle.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "key/value.hpp"
#include "port/clock.hpp"

namespace tlc::cache {
namespace {

Result<void> check_member_name(std::string_view name) {
  const auto bad = [&](const char* why) {
    return make_error(TLC_E_INVALID, "a member cannot be named \"" + std::string(name) + "\": " + why);
  };
  if (name.empty() || name.size() > store::kMaxMemberName) return bad("a name has 1 to 255 bytes");
  if (name == "." || name == "..") return bad("it names a folder");
  if (name.find('/') != std::string_view::npos) return bad("it contains a slash");
  if (name.find('\0') != std::string_view::npos) return bad("it contains a NUL");
  if (!key::is_utf8(name)) return bad("it is not UTF-8");
  return {};
}

Result<void> check_guard_path(std::string_view path) {
  if (path.empty() || path[0] != '/' || path.size() > key::kMaxGuardPath || path.find('\0') != std::string_view::npos)
    return make_error(TLC_E_INVALID, "a guard needs an absolute path of at most 4096 bytes: " + std::string(path));
  return {};
}

}  // namespace

Result<void> Bundle::add(std::string_view name, std::uint32_t type, std::span<const std::uint8_t> data, bool borrow) {
  if (Result<void> good = check_member_name(name); !good) return good;
  if (has(name)) return make_error(TLC_E_INVALID, "the bundle already has a member named " + std::string(name));
  if (members_.size() == store::kMaxMembers) return make_error(TLC_E_INVALID, "a bundle has at most 4096 members");
  Member& member = members_.emplace_back();
  member.name = name;
  member.type = type;
  member.data = data;
  if (borrow || data.empty()) return {};
  member.owned = std::make_unique<std::uint8_t[]>(data.size());
  std::memcpy(member.owned.get(), data.data(), data.size());
  member.data = {member.owned.get(), data.size()};
  return {};
}

bool Bundle::has(std::string_view name) const {
  return std::any_of(members_.begin(), members_.end(), [&](const Member& member) { return member.name == name; });
}

Result<void> Bundle::add_guard(std::string_view path, std::optional<trust::Digest> digest) {
  if (Result<void> good = check_guard_path(path); !good) return good;
  if (guards_.size() == key::kMaxGuards) return make_error(TLC_E_INVALID, "a bundle has at most 65536 guards");
  guards_.push_back({{key::GuardKind::present, std::string(path), digest.value_or(trust::Digest{})}, !digest});
  return {};
}

Result<void> Bundle::add_absent(std::string_view path) {
  if (Result<void> good = check_guard_path(path); !good) return good;
  if (guards_.size() == key::kMaxGuards) return make_error(TLC_E_INVALID, "a bundle has at most 65536 guards");
  guards_.push_back({{key::GuardKind::absent, std::string(path), {}}, false});
  return {};
}

Result<void> Bundle::set_label(std::string_view label) {
  if (label.size() > store::kMaxLabel || !key::is_utf8(label))
    return make_error(TLC_E_INVALID, "a label is UTF-8 of at most 4096 bytes");
  label_ = label;
  return {};
}

std::vector<store::MemberView> Bundle::members() const {
  std::vector<store::MemberView> views;
  views.reserve(members_.size());
  for (const Member& member : members_) views.push_back({member.name, member.type, member.data});
  return views;
}

Result<std::unique_ptr<store::Artifact>> make_memory_artifact(const store::RecordContent& content) {
  static std::atomic<std::uint64_t> last{0};
  Result<store::RecordImage> image = store::RecordImage::make(content, last.fetch_add(1) + 1, port::wall_ns(), nullptr);
  if (!image) return std::move(image).error();
  const store::RecordHeader& header = image->header();
  store::Body body = store::make_body(header.record_length);
  std::size_t at = 0;
  const auto pieces = image->pieces();
  for (std::size_t i = 1; i < pieces.size(); ++i) {  // all but the header
    if (!pieces[i].empty()) std::memcpy(body.get() + at, pieces[i].data(), pieces[i].size());
    at += pieces[i].size();
  }
  const std::span<const std::uint8_t> bytes(body.get(), header.body_length);
  Result<store::RecordMeta> meta = store::parse_meta(header, bytes);
  if (!meta) return std::move(meta).error();
  return std::make_unique<store::Artifact>(header, std::move(*meta), bytes, std::move(body), store::Tier::memory,
                                           nullptr);
}

}  // namespace tlc::cache
