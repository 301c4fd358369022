// SPDX-License-Identifier: MIT
// Links: a request's key that leads to an artifact's while the files it read are the same.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cache/cache.hpp"

namespace tlc::cache {
namespace {

constexpr std::string_view kMember = "link";
constexpr int kTries = 4;

Result<key::Link> decode(const store::Artifact& artifact) {
  const store::MemberView* member = artifact.find(kMember);
  if (member == nullptr) return make_error(TLC_E_CORRUPT, "a link record without a link");
  return key::Link::decode(member->data);
}

}  // namespace

std::optional<std::string> broken(const key::Guard& guard, store::FileMemo& files) {
  if (guard.kind == key::GuardKind::absent) {
    struct stat st {};
    if (::stat(guard.path.c_str(), &st) == 0) return "appeared";
    return std::nullopt;
  }
  const Result<trust::Digest> now = files.digest_of(guard.path.c_str(), store::FileFact::content);
  if (!now) return "missing";
  if (*now != guard.digest) return "changed";
  return std::nullopt;
}

Look Cache::follow(const store::Artifact& artifact, bool quiet) {
  return follow(artifact, [this, quiet](const trust::Digest& digest) {
    Look found = look(digest, quiet);
    if (found.outcome == store::Outcome::hit && found.artifact->kind() != store::Kind::artifact) found = {};
    return found;
  });
}

Look Cache::follow(const store::Artifact& artifact, const std::function<Look(const trust::Digest&)>& look_at) {
  Look result;
  Result<key::Link> link = decode(artifact);
  if (!link) {
    result.outcome = store::Outcome::rejected;
    result.reason = link.error().message;
    return result;
  }
  for (const key::Variant& variant : link->variants) {
    const bool whole = std::none_of(variant.guards.begin(), variant.guards.end(),
                                    [this](const key::Guard& guard) { return broken(guard, local().files()); });
    if (!whole) continue;
    Look found = look_at(variant.artifact);
    if (found.outcome == store::Outcome::hit) return found;
    if (found.outcome == store::Outcome::rejected) result = std::move(found);
  }
  return result;
}

Result<std::vector<key::Guard>> Cache::read_guards(const Bundle& bundle) {
  std::vector<key::Guard> guards;
  guards.reserve(bundle.guards().size());
  for (const Bundle::Guard& one : bundle.guards()) {
    guards.push_back(one.guard);
    if (!one.unread) continue;
    Result<trust::Digest> digest = local().files().digest_of(one.guard.path.c_str(), store::FileFact::content);
    if (!digest) return std::move(digest).error();
    guards.back().digest = *digest;
  }
  return guards;
}

// Another process may add a variant at the same time: then its is read and ours added to it.
Result<void> Cache::add_variant(const key::Key& from, const key::Variant& variant, std::string_view label, bool share) {
  for (int i = 0; i < kTries; ++i) {
    const Look now = look(from.digest(), true);
    key::Link link;
    PublishMode mode;
    if (now.outcome == store::Outcome::hit) {
      mode.replace = true;
      mode.expected = now.artifact->header().sequence;
      if (now.artifact->kind() == store::Kind::link)
        if (Result<key::Link> old = decode(*now.artifact)) link = std::move(*old);
    }
    link.add(variant);
    Result<std::vector<std::uint8_t>> payload = link.encode();
    if (!payload) return std::move(payload).error();
    const store::MemberView member{kMember, TLC_MEMBER_OPAQUE, *payload};
    store::RecordContent content;
    content.kind = store::Kind::link;
    content.key = from.digest();
    content.name_space = from.name_space();
    content.label = label;
    content.key_encoding = from.encoding();
    content.members = {&member, 1};
    mode.want_artifact = false;
    mode.share = share;
    Published done = publish_content(content, mode);
    if (done.status == TLC_OK) return {};
    if (done.status != TLC_CONFLICT && done.status != TLC_EXISTED) return make_error(done.status, done.reason);
  }
  return make_error(TLC_NOT_STORED, "other processes kept changing the link");
}

Result<void> Cache::link(const key::Key& from, const key::Key& to) {
  if (from == to) return make_error(TLC_E_INVALID, "a key cannot lead to itself");
  return add_variant(from, key::Variant{{}, to.digest()}, {});
}

}  // namespace tlc::cache
