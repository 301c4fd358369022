// SPDX-License-Identifier: MIT
// Modules: artifacts loaded on devices, each once per place (device or context) in this process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "backend/registry.hpp"
#include "port/result.hpp"
#include "store/artifact.hpp"

namespace tlc::cache {

class Modules;

/// A loaded artifact. Unloaded when the last reference goes.
class Module {
 public:
  Module(std::shared_ptr<backend::Entry> backend, store::ArtifactRef artifact, void* loaded);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  [[nodiscard]] Result<void*> symbol(std::string_view name) const;
  [[nodiscard]] void* native() const;
  /// False in a forked child whose backend's modules do not live on there.
  [[nodiscard]] bool usable() const;

 private:
  std::shared_ptr<backend::Entry> backend_;
  store::ArtifactRef artifact_;
  void* loaded_;
  std::uint64_t fork_epoch_;
};

class Modules {
 public:
  struct Id {
    trust::Digest key;
    std::uint64_t generation = 0;
    std::uint32_t tier = 0;
    std::uint64_t place = 0;
    std::string member;
    const backend::Entry* backend = nullptr;
    bool operator<(const Id& other) const {
      return std::tie(key, generation, tier, place, member, backend) <
             std::tie(other.key, other.generation, other.tier, other.place, other.member, other.backend);
    }
  };

  /// The module of this id: one that is alive, or what `load` makes. Threads that want the same one wait for one load.
  template <typename Load>
  Result<std::shared_ptr<Module>> get(const Id& id, const Load& load) {
    std::shared_ptr<Slot> slot;
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(slots_,
                    [](const auto& entry) { return entry.second.use_count() == 1 && entry.second->module.expired(); });
      std::shared_ptr<Slot>& place = slots_[id];
      if (place == nullptr) place = std::make_shared<Slot>();
      slot = place;
    }
    const std::lock_guard lock(slot->mutex);
    if (std::shared_ptr<Module> module = slot->module.lock()) return module;
    Result<std::shared_ptr<Module>> made = load();
    if (made) slot->module = *made;
    return made;
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::weak_ptr<Module> module;
  };
  std::mutex mutex_;
  std::map<Id, std::shared_ptr<Slot>> slots_;
};

}  // namespace tlc::cache
