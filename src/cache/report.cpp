// SPDX-License-Identifier: MIT
// Stats, maintenance and facts, as JSON for the tools.
#include <nlohmann/json.hpp>

#include <utility>

#include "cache/cache.hpp"
#include "store/format.hpp"
#include "store/opening_mark.hpp"
#include "store/versions.hpp"
#include "trust/hash.hpp"

namespace tlc::cache {
namespace {

using Json = nlohmann::ordered_json;
using store::Counter;

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

bool internal(std::string_view name_space) {
  return name_space.starts_with("tlc.");
}

std::uint64_t value(const store::CounterValues& values, Counter counter) {
  return values[static_cast<std::size_t>(counter)];
}

void add(tlc_stats& stats, const store::CounterValues& values) {
  stats.hits += value(values, Counter::hits);
  stats.misses += value(values, Counter::misses);
  stats.rejections += value(values, Counter::rejections);
  stats.puts += value(values, Counter::puts);
  stats.not_stored += value(values, Counter::not_stored);
  stats.compiles += value(values, Counter::compiles);
  stats.compile_us += value(values, Counter::compile_us);
  stats.saved_us += value(values, Counter::saved_us);
  stats.evictions += value(values, Counter::evictions);
  stats.remote_gets += value(values, Counter::remote_gets);
  stats.remote_hits += value(values, Counter::remote_hits);
  stats.remote_puts += value(values, Counter::remote_puts);
  stats.remote_errors += value(values, Counter::remote_errors);
  const std::uint64_t youngest = value(values, Counter::youngest_evicted_s);
  if (youngest != 0 && (stats.youngest_evicted_s == 0 || youngest < stats.youngest_evicted_s))
    stats.youngest_evicted_s = youngest;
}

Json counters_json(const tlc_stats& stats) {
  return {{"hits", stats.hits},
          {"misses", stats.misses},
          {"rejections", stats.rejections},
          {"puts", stats.puts},
          {"not_stored", stats.not_stored},
          {"compiles", stats.compiles},
          {"compile_us", stats.compile_us},
          {"saved_us", stats.saved_us},
          {"evictions", stats.evictions},
          {"youngest_evicted_s", stats.youngest_evicted_s},
          {"remote_gets", stats.remote_gets},
          {"remote_hits", stats.remote_hits},
          {"remote_puts", stats.remote_puts},
          {"remote_errors", stats.remote_errors}};
}

void add_sizes(Json& json, const tlc_stats& stats) {
  json["entries"] = stats.entries;
  json["disk_bytes"] = stats.disk_bytes;
  json["limit_bytes"] = stats.limit_bytes;
  json["mapped_bytes"] = stats.mapped_bytes;
  json["unlinked_bytes"] = stats.unlinked_bytes;
  json["memory_bytes"] = stats.memory_bytes;
}

tlc_stats sizes_of(const store::StoreStats& from, std::uint64_t memory_bytes) {
  tlc_stats stats{};
  stats.struct_size = TLC_SIZEOF(tlc_stats, remote_errors);
  stats.entries = from.entries;
  stats.disk_bytes = from.disk_bytes;
  stats.limit_bytes = from.limit;
  stats.mapped_bytes = from.mapped;
  stats.unlinked_bytes = from.unlinked;
  stats.memory_bytes = memory_bytes;
  return stats;
}

}  // namespace

Result<tlc_stats> Cache::stats(const std::string& name_space) {
  Local& under = local();
  store::StoreStats from;
  if (under.store() != nullptr) from = under.store()->stats();
  tlc_stats stats = sizes_of(from, under.memory().memory_bytes());
  bool known = name_space.empty();
  for (const store::NamespaceCounters& one : from.namespaces) {
    if (name_space.empty() ? internal(one.name_space) : one.name_space != name_space) continue;
    add(stats, one.values);
    known = true;
  }
  if (!known) return make_error(TLC_E_NOT_FOUND, "nothing was counted for the namespace " + name_space);
  if (!name_space.empty()) stats.entries = 0;
  return stats;
}

std::string Cache::stats_json() {
  Local& under = local();
  store::StoreStats from;
  if (under.store() != nullptr) from = under.store()->stats();
  tlc_stats total = sizes_of(from, under.memory().memory_bytes());
  Json namespaces = Json::array();
  for (const store::NamespaceCounters& one : from.namespaces) {
    if (internal(one.name_space)) continue;
    add(total, one.values);
    tlc_stats own{};
    add(own, one.values);
    Json json = {{"namespace", one.name_space}};
    json.update(counters_json(own));
    namespaces.push_back(std::move(json));
  }
  Json all = counters_json(total);
  add_sizes(all, total);
  return dump({{"total", std::move(all)}, {"namespaces", std::move(namespaces)}});
}

namespace {

Json remotes_json(tier::Client* remotes, Json& warnings) {
  Json list = Json::array();
  if (remotes == nullptr) return list;
  for (const tier::RemoteReport& one : remotes->report(true)) {
    list.push_back({{"url", one.url},
                    {"origin", one.origin},
                    {"kind", one.name},
                    {"state", one.state},
                    {"reason", one.reason.empty() ? Json(nullptr) : Json(one.reason)},
                    {"writable", one.writable},
                    {"queued", one.queued},
                    {"retry_ms", one.retry_ms},
                    {"gets", one.gets},
                    {"hits", one.hits},
                    {"puts", one.puts},
                    {"errors", one.errors},
                    {"skipped", one.skipped}});
    if (!one.reason.empty()) warnings.push_back("the remote " + one.url + " (" + one.state + "): " + one.reason);
  }
  return list;
}

}  // namespace

std::string Cache::describe() {
  Local& under = local();
  store::Store* store = under.store();
  Json warnings = under.location().warnings;
  {
    const std::lock_guard lock(problems_mutex_);
    if (not_stored_ != 0)
      warnings.push_back(std::to_string(not_stored_) +
                         " artifacts were not stored by this process; the last: " + last_not_stored_);
  }
  Json settings = Json::array();
  if (!under.location().origin.empty())
    settings.push_back({{"name", "directory"}, {"value", under.location().root}, {"origin", under.location().origin}});
  for (const Setting& one : settings_.listed)
    settings.push_back({{"name", one.name}, {"value", one.value}, {"origin", one.origin}});
  Json json = {{"version", TLC_VERSION_STRING},
               {"directory", under.location().root},
               {"asked_directory", under.location().asked},
               {"format_directory", store == nullptr ? "" : store->path()},
               {"state", store == nullptr     ? "memory"
                         : store->read_only() ? "read-only"
                                              : "store"},
               {"reason", under.reason().empty() ? Json(nullptr) : Json(under.reason())}};
  if (store != nullptr) {
    for (const std::string& name : store::stores_aside(under.location().root))
      warnings.push_back("processes died of opening an earlier store, which was set aside as " + under.location().root +
                         "/" + name + "; remove it, or let gc do so after a week");
    const store::StoreStats stats = store->stats();
    json["limit_bytes"] = stats.limit;
    json["disk_bytes"] = stats.disk_bytes;
    json["entries"] = stats.entries;
    json["index"] = {{"generation", stats.index_generation},
                     {"entries", stats.entries},
                     {"bytes", stats.index_bytes},
                     {"rebuilding", stats.rebuilding}};
    json["segments"] = {{"count", stats.segments}, {"bytes", stats.segment_bytes}};
  }
  json["remotes"] = remotes_json(under.remotes(), warnings);
  json["settings"] = std::move(settings);
  json["warnings"] = std::move(warnings);
  json["libraries"] = {
      {"lmdb", store::lmdb_version()}, {"libsodium", trust::sodium_version()}, {"xxhash", trust::xxhash_version()}};
  return dump(json);
}

std::string Cache::backends() {
  tlc_call call{this, {}, nullptr};
  return backend::listing_json(registry(), &call);
}

Result<std::string> Cache::verify(bool repair, const store::Progress& progress) {
  if (local().store() == nullptr)
    return make_error(TLC_E_UNSUPPORTED, "there is no store to verify: " + local().reason());
  Result<store::VerifyReport> report = with_store([&](store::Store& store) { return store.verify(repair, progress); });
  if (!report) return std::move(report).error();
  Json damaged = Json::array();
  for (const store::Damage& one : report->damaged)
    damaged.push_back(
        {{"digest", trust::to_hex(one.key)}, {"label", one.label}, {"reason", one.reason}, {"repaired", one.repaired}});
  const bool whole = report->index_fault.empty();
  return dump({{"entries", report->entries},
               {"bytes", report->bytes},
               {"damaged", std::move(damaged)},
               {"index",
                {{"state", whole    ? "whole"
                           : repair ? "rebuilt"
                                    : "damaged"},
                 {"detail", whole ? Json(nullptr) : Json(report->index_fault)}}},
               {"config",
                {{"state", report->config_fault.empty() ? "whole"
                           : repair                     ? "rebuilt"
                                                        : "damaged"},
                 {"detail", report->config_fault.empty() ? Json(nullptr) : Json(report->config_fault)}}},
               {"leftovers", report->leftovers}});
}

Result<std::string> Cache::collect(std::uint64_t max_bytes, const store::Progress& progress) {
  if (local().store() == nullptr)
    return make_error(TLC_E_UNSUPPORTED, "there is no store to collect: " + local().reason());
  Result<store::GcReport> report = with_store([&](store::Store& store) { return store.collect(max_bytes, progress); });
  if (!report) return std::move(report).error();
  const store::StoreStats stats = local().store()->stats();
  return dump({{"freed_bytes", report->freed_bytes},
               {"evicted_entries", report->evicted_entries},
               {"removed_files", report->removed_files},
               {"disk_bytes", stats.disk_bytes},
               {"limit_bytes", stats.limit}});
}

Result<std::vector<trust::Digest>> Cache::keys_with(std::string_view hex_prefix) {
  std::vector<trust::Digest> keys;
  store::Store* store = local().store();
  if (store == nullptr) return keys;
  Result<void> done = store->for_each_key([&](const trust::Digest& key, const store::IndexRecord& record) {
    if (record.kind == static_cast<std::uint8_t>(store::Kind::artifact) && trust::to_hex(key).starts_with(hex_prefix))
      keys.push_back(key);
    return keys.size() < 2;
  });
  if (!done) return std::move(done).error();
  return keys;
}

Result<void> Cache::configure(std::string_view name, std::string_view text) {
  if (local().store() == nullptr)
    return make_error(TLC_E_UNSUPPORTED, "there is no store to configure: " + local().reason());
  if (name != "limit") return make_error(TLC_E_INVALID, "unknown property " + std::string(name) + "; there is: limit");
  const auto size = parse_size(text);
  if (!size) return make_error(TLC_E_INVALID, "no size such as 10G: " + std::string(text));
  return with_store([&](store::Store& store) { return store.set_limit(*size); });
}

}  // namespace tlc::cache
