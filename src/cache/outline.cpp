// SPDX-License-Identifier: MIT
// What is stored for a key, without reading it: for a caller that has the bytes elsewhere, and wants to know whether
// they are still those.
#include "cache/cache.hpp"

namespace tlc::cache {
namespace {

Look seen() {
  Look result;
  result.outcome = store::Outcome::hit;
  return result;
}

}  // namespace

Look Cache::outline(const key::Key& key, const OutlineFn& fn) {
  if (settings_.disabled) return {};
  Local& under = local();
  Look result;
  if (store::Store* store = under.store()) result = outline(*store, key.digest(), fn, true);
  if (result.outcome == store::Outcome::hit) return result;
  const store::ArtifactRef kept(under.memory_get(key.digest()));
  if (!kept || kept->kind() != store::Kind::artifact) return result;
  if (fn(kept->header(), kept->meta(), kept->tier())) count(kept->meta().name_space, store::Counter::hits);
  return seen();
}

// A link is read whole, and kept by the process: it is small, and says no more than where to look.
Look Cache::outline(store::Store& store, const trust::Digest& digest, const OutlineFn& fn, bool follows) {
  store::Outline found = store.outline(digest);
  if (found.outcome != store::Outcome::hit) {
    Look result;
    result.outcome = found.outcome;
    result.reason = std::move(found.reason);
    return result;
  }
  const auto kind = static_cast<store::Kind>(found.header.kind);
  if (kind == store::Kind::link && follows) {
    const Look link = look(digest, true);
    if (link.outcome != store::Outcome::hit || link.artifact->kind() != store::Kind::link) return {};
    return follow(*link.artifact, [&](const trust::Digest& target) { return outline(store, target, fn, false); });
  }
  if (kind != store::Kind::artifact) return {};
  if (fn(found.header, found.meta, store::Tier::store)) store.used(found);
  return seen();
}

}  // namespace tlc::cache
