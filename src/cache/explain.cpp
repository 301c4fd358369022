// SPDX-License-Identifier: MIT
// Why a key hits or misses.
//
//   {"digest", "outcome": hit | evicted | removed | guard | rejected | never, "reason", "when_s", "guards": [{path,
//   kind}],
//    "nearest": {"digest", "label", "created_ns", "differences": [{path, kind, was, now}]} | null, "scanned"}
#include <nlohmann/json.hpp>

#include <optional>
#include <utility>

#include "cache/cache.hpp"
#include "key/diff.hpp"
#include "key/reader.hpp"
#include "port/clock.hpp"

namespace tlc::cache {
namespace {

using Json = nlohmann::ordered_json;

/// Artifacts that a link leads to have the link's fields and one more: the link stands for them.
bool behind_a_link(std::span<const std::uint8_t> encoding) {
  key::Items fields(encoding, true);
  key::Item item;
  while (fields.next(item) == key::Walk::item)
    if (item.name == key::kFieldGuards) return true;
  return false;
}

struct Nearest {
  std::size_t distance = SIZE_MAX;
  trust::Digest digest;
  std::string label;
  std::uint64_t created_ns = 0;
  std::vector<std::uint8_t> encoding;
};

const char* change_name(key::Change change) {
  switch (change) {
    case key::Change::added:
      return "added";
    case key::Change::removed:
      return "removed";
    case key::Change::changed:
      break;
  }
  return "changed";
}

Json differences(std::span<const std::uint8_t> was, std::span<const std::uint8_t> now) {
  Json list = Json::array();
  Result<std::vector<key::Difference>> found = key::diff(was, now);
  if (!found) return list;
  for (const key::Difference& one : *found)
    list.push_back({{"path", one.path}, {"kind", change_name(one.kind)}, {"was", one.was}, {"now", one.now}});
  return list;
}

const char* removal_name(store::RemovalReason reason) {
  switch (reason) {
    case store::RemovalReason::evicted:
      return "it was evicted to stay under the store's limit";
    case store::RemovalReason::removed:
      return "it was removed";
    case store::RemovalReason::invalidated:
      return "it was found unusable and taken out";
    case store::RemovalReason::cleared:
      break;
  }
  return "it was cleared";
}

/// The guards that fail, of the variant of which the fewest do.
Json broken_guards(const key::Link& link, store::FileMemo& files) {
  std::optional<Json> best;
  for (const key::Variant& variant : link.variants) {
    Json list = Json::array();
    for (const key::Guard& guard : variant.guards)
      if (const auto why = broken(guard, files)) list.push_back({{"path", guard.path}, {"kind", *why}});
    if (!best || list.size() < best->size()) best = std::move(list);
  }
  return best.value_or(Json::array());
}

/// The stored key that is most like this one, beside what is found under it, and what differs.
Result<void> add_nearest(store::Store& store, const key::Key& key, const trust::Digest& found, Json& answer) {
  Nearest nearest;
  std::uint64_t scanned = 0;
  Result<void> done = store.for_each(key.name_space(), [&](const store::Store::Entry& entry) {
    ++scanned;
    const auto encoding = entry.meta->key_encoding;
    if (entry.key == key.digest() || entry.key == found || behind_a_link(encoding)) return true;
    const std::size_t distance = key::distance(encoding, key.encoding());
    if (distance > nearest.distance || (distance == nearest.distance && entry.record.created_ns < nearest.created_ns))
      return true;
    nearest = {distance, entry.key, std::string(entry.meta->label), entry.record.created_ns,
               std::vector<std::uint8_t>(encoding.begin(), encoding.end())};
    return true;
  });
  if (!done) return done;
  answer["scanned"] = scanned;
  if (nearest.distance != SIZE_MAX)
    answer["nearest"] = {{"digest", trust::to_hex(nearest.digest)},
                         {"label", nearest.label},
                         {"created_ns", nearest.created_ns},
                         {"differences", differences(nearest.encoding, key.encoding())}};
  return {};
}

}  // namespace

Result<std::string> Cache::explain(const key::Key& key) {
  Json answer = {{"digest", trust::to_hex(key.digest())},
                 {"outcome", "never"},
                 {"reason", nullptr},
                 {"when_s", nullptr},
                 {"guards", Json::array()},
                 {"nearest", nullptr},
                 {"scanned", 0}};
  Local& under = local();
  Look direct = look(key.digest(), true);
  const Look followed = get_quietly(key);
  if (followed.outcome == store::Outcome::hit) {
    answer["outcome"] = "hit";
    // A framework's own key is a hash; what set the kernel apart from the others is known once it is compiled.
    if (under.store() != nullptr)
      if (Result<void> done = add_nearest(*under.store(), key, followed.artifact->key(), answer); !done)
        return std::move(done).error();
    return answer.dump(2, ' ', false, Json::error_handler_t::replace);
  }
  if (direct.outcome == store::Outcome::rejected || followed.outcome == store::Outcome::rejected) {
    answer["outcome"] = "rejected";
    answer["reason"] = direct.outcome == store::Outcome::rejected ? direct.reason : followed.reason;
    return answer.dump(2);
  }
  if (direct.outcome == store::Outcome::hit && direct.artifact->kind() == store::Kind::failure)
    answer["reason"] = "it failed to compile before, and that was remembered";
  if (direct.outcome == store::Outcome::hit && direct.artifact->kind() == store::Kind::link) {
    const store::MemberView* member = direct.artifact->find("link");
    if (member != nullptr)
      if (Result<key::Link> link = key::Link::decode(member->data); link)
        answer["guards"] = broken_guards(*link, under.files());
    answer["outcome"] = answer["guards"].empty() ? "evicted" : "guard";
    answer["reason"] = answer["guards"].empty() ? "its sources are unchanged, but the artifact is gone"
                                                : "a file that the compile read is no longer the same";
    return answer.dump(2);
  }
  store::Store* store = under.store();
  if (store == nullptr) {
    answer["reason"] = under.reason().empty() ? "the cache works from memory" : under.reason();
    return answer.dump(2);
  }
  if (const auto removal = store->removal_of(key.digest())) {
    answer["outcome"] = removal->reason == store::RemovalReason::evicted ? "evicted" : "removed";
    answer["reason"] = removal_name(removal->reason);
    answer["when_s"] = std::uint64_t{removal->minute} * 60;
  }
  if (Result<void> done = add_nearest(*store, key, key.digest(), answer); !done) return std::move(done).error();
  return answer.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tlc::cache
