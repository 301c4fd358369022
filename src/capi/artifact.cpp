// SPDX-License-Identifier: MIT
// Artifacts and modules.
#include "capi/call.hpp"
#include "capi/facts.hpp"

using namespace tlc;        // NOLINT: the definitions of the C API only call the core
using namespace tlc::capi;  // NOLINT

tlc_artifact* tlc_artifact_retain(tlc_artifact* artifact) {
  if (artifact != nullptr) to_core(artifact)->retain();
  return artifact;
}

void tlc_artifact_release(tlc_artifact* artifact) {
  if (artifact != nullptr) to_core(artifact)->release();
}

tlc_status tlc_artifact_get_info(const tlc_artifact* artifact, tlc_artifact_info* info, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(artifact);
    TLC_REQUIRE(info);
    const store::Artifact& core = *to_core(artifact);
    const tlc_artifact_info facts = facts_of(core.header(), core.meta(), core.tier());
    return status_of(give_struct(facts, info, TLC_SIZEOF(tlc_artifact_info, tier), "tlc_artifact_info"));
  });
}

size_t tlc_artifact_member_count(const tlc_artifact* artifact) {
  return cache::member_count(artifact);
}

tlc_status tlc_artifact_member_at(const tlc_artifact* artifact, size_t index, tlc_member* member, tlc_error* error) {
  return cache::member_at(artifact, index, member, error);
}

tlc_status tlc_artifact_find(const tlc_artifact* artifact, tlc_str name, tlc_member* member, tlc_error* error) {
  return cache::find_member(artifact, name, member, error);
}

const void* tlc_artifact_data(const tlc_artifact* artifact, size_t index, size_t* size) {
  if (size != nullptr) *size = 0;
  if (artifact == nullptr || index >= to_core(artifact)->members().size()) return nullptr;
  const auto& data = to_core(artifact)->members()[index].data;
  if (size != nullptr) *size = data.size();
  return data.data();
}

tlc_status tlc_artifact_read(const tlc_artifact* artifact, size_t index, void* buffer, size_t capacity,
                             tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(artifact);
    return status_of(to_core(artifact)->read(index, buffer, capacity));
  });
}

const uint8_t* tlc_artifact_key_encoding(const tlc_artifact* artifact, size_t* len) {
  if (len != nullptr) *len = 0;
  if (artifact == nullptr || to_core(artifact)->meta().key_encoding.empty()) return nullptr;
  const auto& encoding = to_core(artifact)->meta().key_encoding;
  if (len != nullptr) *len = encoding.size();
  return encoding.data();
}

tlc_status tlc_artifact_folder(tlc_artifact* artifact, tlc_blob** path, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(path);
    *path = nullptr;
    TLC_REQUIRE(artifact);
    Result<std::string> folder = to_core(artifact)->folder();
    if (!folder) return std::move(folder).error();
    return give(path, std::move(*folder));
  });
}

void tlc_load_options_init(tlc_load_options* options) {
  if (options == nullptr) return;
  *options = tlc_load_options{};
  options->struct_size = TLC_SIZEOF(tlc_load_options, member);
}

tlc_status tlc_cache_load(tlc_cache* cache, tlc_artifact* artifact, const tlc_load_options* options,
                          tlc_module** module, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(module);
    *module = nullptr;
    TLC_REQUIRE(cache);
    TLC_REQUIRE(artifact);
    tlc_load_options known;
    tlc_load_options_init(&known);
    if (Result<void> read = read_options(options, known, "tlc_load_options"); !read) return std::move(read).error();
    Result<std::shared_ptr<cache::Module>> loaded = cache->cache->load(*to_core(artifact), known);
    if (!loaded) return std::move(loaded).error();
    auto made = std::make_unique<tlc_module>();
    made->module = std::move(*loaded);
    *module = made.release();
    return tlc_status{TLC_OK};
  });
}

tlc_status tlc_artifact_describe(const tlc_artifact* artifact, tlc_cache* cache, tlc_blob** json, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(json);
    *json = nullptr;
    TLC_REQUIRE(artifact);
    TLC_REQUIRE(cache);
    Result<std::string> described = cache->cache->describe(*to_core(artifact));
    if (!described) return std::move(described).error();
    return give(json, std::move(*described));
  });
}

tlc_status tlc_module_symbol(tlc_module* module, tlc_str name, void** address, tlc_error* error) {
  return call(error, [&]() -> Result<tlc_status> {
    TLC_REQUIRE(address);
    *address = nullptr;
    TLC_REQUIRE(module);
    Result<void*> found = module->module->symbol(view_of(name));
    if (!found) return std::move(found).error();
    *address = *found;
    return tlc_status{TLC_OK};
  });
}

void* tlc_module_native(tlc_module* module) {
  return module == nullptr ? nullptr : module->module->native();
}

tlc_module* tlc_module_retain(tlc_module* module) {
  if (module != nullptr) module->references.fetch_add(1, std::memory_order_relaxed);
  return module;
}

void tlc_module_release(tlc_module* module) {
  if (module != nullptr && module->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    std::default_delete<tlc_module>()(module);
}
