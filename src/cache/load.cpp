// SPDX-License-Identifier: MIT
// From an artifact to a module, by the backend of its target and engine.
#include <utility>

#include "backend/json.hpp"
#include "cache/cache.hpp"
#include "cache/log.hpp"
#include "cache/values.hpp"
#include "key/key.hpp"

namespace tlc::cache {
namespace {

struct Pair {
  std::string kind;
  std::string engine;
};

/// The pair an artifact was keyed for.
Result<Pair> pair_of(const store::Artifact& artifact) {
  const std::string_view target = key_text(artifact, key::kFieldTarget);
  if (target.empty())
    return make_error(TLC_E_UNSUPPORTED, "the artifact was stored for no target, so no backend can load it");
  return Pair{std::string(target.substr(0, target.find(':'))), std::string(key_text(artifact, key::kFieldEngine))};
}

}  // namespace

Result<std::shared_ptr<Module>> Cache::load(store::Artifact& given, const tlc_load_options& options) {
  store::ArtifactRef again;
  if (given.inherited()) {  // its folder is the parent's; the same artifact is in the store
    again = std::move(look(given.key()).artifact);
    if (!again) return make_error(TLC_E_FORKED, "the artifact was found by the parent process and is not stored");
  }
  store::Artifact& artifact = again ? *again : given;
  Result<Pair> pair = pair_of(artifact);
  if (!pair) return std::move(pair).error();
  Result<std::shared_ptr<backend::Entry>> found = registry().find(pair->kind, pair->engine);
  if (!found) return std::move(found).error();
  const backend::Entry::Call backend(**found);
  if (!backend) return backend.refused();
  tlc_call call{this, backend->name(), nullptr};
  const std::string_view member = view_of(options.member);
  if (!member.empty() && artifact.find(member) == nullptr)
    return make_error(TLC_E_NOT_FOUND, "the artifact has no member named " + std::string(member));
  Result<std::uint64_t> place = backend->place(&call, &options);
  if (!place) return std::move(place).error();
  const Modules::Id id{artifact.key(), artifact.header().sequence, static_cast<std::uint32_t>(artifact.tier()),
                       *place,         std::string(member),        found->get()};
  return local().modules().get(id, [&]() -> Result<std::shared_ptr<Module>> {
    if (Result<void> fits = backend->validate(&call, to_public(&artifact), &options); !fits)
      return std::move(fits).error();
    Result<void*> loaded = backend->load(&call, to_public(&artifact), &options);
    if (!loaded) {
      // Once: the next compile makes another generation, which is judged by itself.
      if (loaded.error().status == TLC_E_LOAD) {
        log(TLC_LOG_WARN, "load", "taken out of the cache, since it could not be loaded: " + loaded.error().message);
        (void)invalidate(artifact);
      }
      return std::move(loaded).error();
    }
    (*found)->add_module();
    artifact.retain();
    return std::make_shared<Module>(*found, store::ArtifactRef(&artifact), *loaded);
  });
}

Result<std::string> Cache::describe(const store::Artifact& artifact) {
  Result<Pair> pair = pair_of(artifact);
  if (!pair) return std::move(pair).error();
  Result<std::shared_ptr<backend::Entry>> found = registry().find(pair->kind, pair->engine);
  if (!found) return std::move(found).error();
  const backend::Entry::Call backend(**found);
  if (!backend) return backend.refused();
  tlc_call call{this, backend->name(), nullptr};
  Result<std::string> json = backend->describe(&call, to_public(&artifact));
  if (json && !backend::is_json_object(*json))
    return make_error(TLC_E_CALLBACK, "backend '" + backend->name() + "': describe returned what is no JSON object");
  return json;
}

}  // namespace tlc::cache
