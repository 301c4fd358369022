// SPDX-License-Identifier: MIT
// Entries of the store, copied out of tlc_cache_list.
#include "entries.hpp"

#include <exception>

namespace tlc::tool {
namespace {

struct Collector {
  std::vector<Entry> entries;
  std::exception_ptr failed;
};

// Called by C code: nothing may be thrown through it.
tlc_status collect(const tlc_entry* entry, void* user_data) {
  auto& collector = *static_cast<Collector*>(user_data);
  try {
    Entry copy;
    copy.digest = hex(entry->digest);
    if (entry->key_encoding != nullptr) {
      copy.encoding.assign(entry->key_encoding, entry->key_encoding + entry->key_length);
    }
    copy.name_space = view(entry->name_space);
    copy.label = view(entry->label);
    copy.kind = view(entry->kind);
    copy.size = entry->size;
    copy.created_ns = entry->created_ns;
    copy.last_used_s = entry->last_used_s;
    copy.compile_us = entry->compile_us;
    copy.generation = entry->generation;
    collector.entries.push_back(std::move(copy));
    return TLC_OK;
  } catch (...) {
    collector.failed = std::current_exception();
    return TLC_E_CALLBACK;
  }
}

}  // namespace

std::vector<Entry> list_entries(tlc_cache* cache, std::string_view name_space) {
  Collector collector;
  Error error;
  const tlc_status status = tlc_cache_list(cache, str(name_space), collect, &collector, &error);
  if (collector.failed) std::rethrow_exception(collector.failed);
  check(status, error, "cannot list the store");
  return std::move(collector.entries);
}

bool is_plain(const Entry& entry) {
  return entry.kind == "artifact" && !entry.name_space.starts_with("tlc.");
}

Json to_json(const Entry& entry) {
  return {{"digest", entry.digest},
          {"namespace", entry.name_space},
          {"label", entry.label},
          {"kind", entry.kind},
          {"size", entry.size},
          {"created_ns", entry.created_ns},
          {"last_used_s", entry.last_used_s},
          {"compile_us", entry.compile_us},
          {"generation", entry.generation}};
}

}  // namespace tlc::tool
