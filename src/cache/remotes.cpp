// SPDX-License-Identifier: MIT
// What remotes have, and what they get.
//
// They are asked by who holds the compile lock of a key, once for all processes of the host, and what they answer is
// checked whole before it is used and kept in the store. They get what is published here, links too: a link's variants
// are those of all hosts, and each host follows the ones whose files it has.
#include "cache/remotes.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "cache/cache.hpp"
#include "cache/log.hpp"
#include "tier/blob.hpp"

namespace tlc::cache {
namespace {

constexpr std::uint64_t kHeadRoom = std::uint64_t{4} << 20;  // of a blob over the artifact's size in the store
constexpr std::uint64_t kMostInMemory = std::uint64_t{256} << 20;
constexpr std::string_view kLinkMember = "link";

bool internal(std::string_view name_space) {
  return name_space.starts_with("tlc.");
}

tier::BlobContent content_of(const store::Artifact& artifact, bool names) {
  tier::BlobContent content;
  const store::RecordMeta& meta = artifact.meta();
  content.kind = artifact.kind() == store::Kind::link ? tier::BlobKind::link : tier::BlobKind::artifact;
  content.key = artifact.key();
  content.key_encoding = meta.key_encoding;
  if (names) content.label = meta.label;
  content.requirements.resize(meta.requirements.size() / sizeof(trust::Digest));
  if (!meta.requirements.empty())
    std::memcpy(content.requirements.data(), meta.requirements.data(), meta.requirements.size());
  for (const store::MemberView& member : artifact.members())
    content.members.push_back({member.name, member.type, member.data});
  content.created_ns = artifact.header().created_ns;
  content.compile_us = artifact.header().compile_us;
  return content;
}

bool same(const key::Variant& a, const key::Variant& b) {
  return a.artifact == b.artifact && a.guards == b.guards;
}

Result<key::Link> link_of(const tier::BlobContent& blob) {
  if (blob.kind != tier::BlobKind::link || blob.members.size() != 1 || blob.members[0].name != kLinkMember)
    return make_error(TLC_E_CORRUPT, "what a remote answered is damaged: a link without a link");
  return key::Link::decode(blob.members[0].data);
}

/// The store, as the queue's thread reads it.
class StoreSource : public tier::Source {
 public:
  StoreSource(std::shared_ptr<store::Store> store, std::optional<trust::MacKey> user_key)
      : store_(std::move(store)), user_key_(user_key) {}

  std::optional<Loaded> load(const trust::Digest& key, bool names) override {
    const store::Found found = store_->get(key, true);
    if (found.outcome != store::Outcome::hit) return std::nullopt;
    const store::Artifact& artifact = *found.artifact;
    const bool link = artifact.kind() == store::Kind::link;
    if ((!link && artifact.kind() != store::Kind::artifact) || (link && !names)) return std::nullopt;
    return Loaded{tier::encode_blob(content_of(artifact, names), user_key()), std::string(artifact.meta().name_space),
                  link};
  }

  std::vector<std::uint8_t> merge_link(const trust::Digest& key, std::span<const std::uint8_t> theirs) override {
    const store::Found found = store_->get(key, true);
    if (found.outcome != store::Outcome::hit || found.artifact->kind() != store::Kind::link) return {};
    tier::BlobContent content = content_of(*found.artifact, true);
    Result<key::Link> own = link_of(content);
    if (!own) return {};
    const Result<tier::BlobContent> blob = tier::decode_blob(theirs, key, user_key());
    const Result<key::Link> other = blob ? link_of(*blob) : Result<key::Link>(blob.error());
    if (!other) return tier::encode_blob(content, user_key());
    const auto known = [](const key::Link& link, const key::Variant& variant) {
      return std::any_of(link.variants.begin(), link.variants.end(),
                         [&](const auto& one) { return same(one, variant); });
    };
    if (std::all_of(own->variants.begin(), own->variants.end(), [&](const auto& one) { return known(*other, one); }))
      return {};
    for (const key::Variant& variant : other->variants)
      if (own->variants.size() < key::kMaxVariants && !known(*own, variant)) own->variants.push_back(variant);
    const Result<std::vector<std::uint8_t>> payload = own->encode();
    if (!payload) return {};
    content.members[0].data = *payload;
    return tier::encode_blob(content, user_key());
  }

  void count(std::string_view name_space, tier::Count what, std::uint64_t amount) override {
    const auto first = static_cast<unsigned>(store::Counter::remote_gets);
    store_->count(name_space, static_cast<store::Counter>(first + static_cast<unsigned>(what)), amount);
  }

 private:
  [[nodiscard]] const trust::MacKey* user_key() const { return user_key_ ? &*user_key_ : nullptr; }
  const std::shared_ptr<store::Store> store_;
  const std::optional<trust::MacKey> user_key_;
};

/// The folder that was asked for, without symbolic links: a `dir` remote follows none.
std::optional<tier::RemoteUrl> network_folder(const store::Location& location) {
  if (location.asked.empty()) return std::nullopt;
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(location.asked.c_str(), nullptr), ::free);
  if (real == nullptr) return std::nullopt;
  tier::RemoteUrl url;
  url.scheme = "dir";
  url.url = "dir:" + tier::escape_path(real.get());
  url.origin = "network folder";
  return url;
}

}  // namespace

std::unique_ptr<tier::Client> open_remotes(const Settings& settings, store::Location& location,
                                           const std::shared_ptr<store::Store>& store,
                                           const std::optional<trust::MacKey>& user_key) {
  tier::ClientOptions options;
  if (settings.no_remotes) return nullptr;
  options.remotes = settings.remotes;
  if (std::optional<tier::RemoteUrl> own = network_folder(location)) {
    location.warnings.back() += "; " + location.asked + " is a remote of it";
    const bool named = std::any_of(options.remotes.begin(), options.remotes.end(),
                                   [&](const tier::RemoteUrl& one) { return one.url == own->url; });
    if (!named) options.remotes.insert(options.remotes.begin(), std::move(*own));
  }
  if (options.remotes.empty()) return nullptr;
  if (store != nullptr && !store->read_only()) {
    options.store_dir = store->dir();
    options.source = std::make_shared<StoreSource>(store, user_key);
  }
  options.host = host_api();
  options.log = log;
  auto client = std::make_unique<tier::Client>(std::move(options));
  client->resume();
  return client;
}

// ---- what they get

void Cache::share(const store::RecordContent& content, const PublishMode& mode) {
  if (!mode.share || local().remotes() == nullptr || internal(content.name_space)) return;
  if (content.kind != store::Kind::artifact && content.kind != store::Kind::link) return;
  local().remotes()->queue(content.key, mode.replace ? tier::Outbox::Op::replace : tier::Outbox::Op::put);
}

void Cache::unshare(const trust::Digest& key) {
  if (tier::Client* remotes = local().remotes()) remotes->queue(key, tier::Outbox::Op::remove);
}

// ---- what they have

/// What a remote answered, checked; the content borrows the bytes.
struct Cache::Answer {
  std::vector<std::uint8_t> bytes;
  tier::BlobContent blob;
};

std::optional<Cache::Answer> Cache::ask(std::size_t remote, const trust::Digest& digest, std::string_view name_space) {
  Local& under = local();
  const std::uint64_t cap = under.store() == nullptr ? kMostInMemory : under.store()->limit() / 8 + kHeadRoom;
  bool asked = false;
  Result<std::vector<std::uint8_t>> bytes = under.remotes()->get(remote, digest, cap, asked);
  if (asked) count(name_space, store::Counter::remote_gets);
  if (!bytes) {
    const tlc_status status = bytes.error().status;
    if (asked && status != TLC_MISS && status != TLC_TOO_LARGE) count(name_space, store::Counter::remote_errors);
    return std::nullopt;
  }
  Answer answer{std::move(*bytes), {}};
  Result<tier::BlobContent> blob = tier::decode_blob(answer.bytes, digest, under.user_key());
  if (!blob) {
    under.remotes()->note_hit(remote, digest, false, blob.error().message);
    count(name_space, store::Counter::remote_errors);
    return std::nullopt;
  }
  answer.blob = std::move(*blob);
  return answer;
}

Look Cache::keep_fetched(std::size_t remote, const tier::BlobContent& blob) {
  const Result<key::Key> key = key::Key::decode(blob.key_encoding);
  if (!key) return {};  // it was decoded before
  std::vector<store::MemberView> members;
  for (const tier::BlobMember& member : blob.members) members.push_back({member.name, member.type, member.data});
  store::RecordContent content;
  content.key = blob.key;
  content.name_space = key->name_space();
  content.label = blob.label;
  content.key_encoding = blob.key_encoding;
  content.requirements = blob.requirements;
  content.members = members;
  content.compile_us = blob.compile_us;
  PublishMode mode;
  mode.share = false;
  Published kept = publish_plain(*key, content, mode);
  if (!kept.artifact || kept.artifact->kind() != store::Kind::artifact) return {};
  local().remotes()->note_hit(remote, blob.key, true, {});
  count(content.name_space, store::Counter::remote_hits);
  count(content.name_space, store::Counter::saved_us, content.compile_us);
  return {store::Outcome::hit, std::move(kept.artifact), {}};
}

Look Cache::fetch_artifact(std::size_t remote, const trust::Digest& digest, std::string_view name_space) {
  if (local().remotes()->shunned(digest)) return {};
  const std::optional<Answer> answer = ask(remote, digest, name_space);
  if (!answer || answer->blob.kind != tier::BlobKind::artifact) return {};
  return keep_fetched(remote, answer->blob);
}

Look Cache::fetch_by_link(std::size_t remote, const key::Key& key, const tier::BlobContent& blob) {
  const Result<key::Link> link = link_of(blob);
  if (!link) return {};
  for (const key::Variant& variant : link->variants) {
    store::FileMemo& files = local().files();
    if (std::any_of(variant.guards.begin(), variant.guards.end(),
                    [&](const key::Guard& guard) { return broken(guard, files).has_value(); }))
      continue;
    Look found = look(variant.artifact, true);
    if (found.outcome != store::Outcome::hit || found.artifact->kind() != store::Kind::artifact)
      found = fetch_artifact(remote, variant.artifact, key.name_space());
    if (found.outcome != store::Outcome::hit) continue;
    (void)add_variant(key, variant, blob.label, false);
    return found;
  }
  return {};
}

Look Cache::fetch_from(std::size_t remote, const key::Key& key) {
  const std::optional<Answer> answer = ask(remote, key.digest(), key.name_space());
  if (!answer) return {};
  return answer->blob.kind == tier::BlobKind::artifact ? keep_fetched(remote, answer->blob)
                                                       : fetch_by_link(remote, key, answer->blob);
}

Look Cache::fetch(const key::Key& key) {
  tier::Client* remotes = local().remotes();
  if (remotes == nullptr || internal(key.name_space())) return {};
  try {
    if (remotes->shunned(key.digest())) return {};
    for (std::size_t remote = 0; remote < remotes->size(); ++remote)
      if (Look found = fetch_from(remote, key); found.outcome == store::Outcome::hit) return found;
  } catch (const std::bad_alloc&) {
    log(TLC_LOG_WARN, "remote", "out of memory: compiling instead");
  }
  return {};
}

}  // namespace tlc::cache
