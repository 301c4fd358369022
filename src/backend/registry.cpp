// SPDX-License-Identifier: MIT
// Registering, taking out, and finding backends.
#include "backend/registry.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "backend/builtin.hpp"

namespace tlc::backend {

/// What is registered at one moment. Small, and read by scanning.
struct Registry::Table {
  struct Pair {
    std::string kind;
    std::string engine;
    std::vector<std::shared_ptr<Entry>> stack;  ///< the last one serves; never empty
  };
  struct Default {
    std::string kind;
    std::string engine;
  };

  std::vector<std::shared_ptr<Entry>> entries;  ///< in the order of registration
  std::vector<Pair> pairs;                      ///< likewise
  std::vector<Default> chosen;                  ///< by TLC_REGISTER_DEFAULT

  [[nodiscard]] const Pair* pair(std::string_view kind, std::string_view engine) const {
    auto at = std::find_if(pairs.begin(), pairs.end(),
                           [&](const Pair& pair) { return pair.kind == kind && pair.engine == engine; });
    return at == pairs.end() ? nullptr : &*at;
  }
  [[nodiscard]] Pair* pair(std::string_view kind, std::string_view engine) {
    return const_cast<Pair*>(std::as_const(*this).pair(kind, engine));
  }
  [[nodiscard]] const std::string* chosen_engine(std::string_view kind) const {
    for (const Default& choice : chosen) {
      if (choice.kind == kind) return &choice.engine;
    }
    return nullptr;
  }
  [[nodiscard]] const std::string* first_engine(std::string_view kind) const {
    for (const Pair& pair : pairs) {
      if (pair.kind == kind) return &pair.engine;
    }
    return nullptr;
  }
  [[nodiscard]] std::shared_ptr<Entry> entry(const tlc_backend_ops* table, const void* state) const {
    for (const auto& entry : entries) {
      if (entry->registered_as(table, state)) return entry;
    }
    return nullptr;
  }

  void insert(const std::shared_ptr<Entry>& entry, bool make_default) {
    const std::string& engine = entry->ops().engine();
    entries.push_back(entry);
    for (const std::string& kind : entry->ops().kinds()) {
      if (Pair* taken = pair(kind, engine)) {
        taken->stack.push_back(entry);
      } else {
        pairs.push_back({kind, engine, {entry}});
      }
      if (!make_default) continue;
      std::erase_if(chosen, [&](const Default& choice) { return choice.kind == kind; });
      chosen.push_back({kind, engine});
    }
  }

  void erase(const Entry& gone) {
    auto is_it = [&](const std::shared_ptr<Entry>& entry) { return entry.get() == &gone; };
    std::erase_if(entries, is_it);
    for (Pair& pair : pairs) std::erase_if(pair.stack, is_it);
    std::erase_if(pairs, [](const Pair& pair) { return pair.stack.empty(); });
    std::erase_if(chosen, [&](const Default& choice) { return pair(choice.kind, choice.engine) == nullptr; });
  }
};

Registry::Registry(const Registry* parent) : parent_(parent), current_(nullptr) {
  publish(std::make_unique<const Table>());
}

Registry::~Registry() = default;

void Registry::publish(std::unique_ptr<const Table> next) {
  current_.store(next.get(), std::memory_order_release);
  tables_.push_back(std::move(next));
}

Result<void> Registry::add(const tlc_backend_ops* ops, void* state, std::uint32_t flags, std::string_view origin) {
  constexpr std::uint32_t kKnown = TLC_REGISTER_OVERRIDE | TLC_REGISTER_DEFAULT;
  if ((flags & ~kKnown) != 0) {
    return make_error(TLC_E_INVALID,
                      "flags of a registration are TLC_REGISTER_OVERRIDE and "
                      "TLC_REGISTER_DEFAULT only");
  }
  auto negotiated = Ops::negotiate(ops, state, origin);
  if (!negotiated) return std::move(negotiated).error();

  const std::lock_guard lock(mutex_);
  const auto same = table().entry(ops, state);
  if (same && same->ops().same_as(*negotiated)) return {};
  if ((flags & TLC_REGISTER_OVERRIDE) == 0) {
    for (const std::string& kind : negotiated->kinds()) {
      const Table::Pair* taken = table().pair(kind, negotiated->engine());
      if (taken == nullptr) continue;
      const Entry& owner = *taken->stack.back();
      return make_error(TLC_E_EXISTS, "target kind '" + kind + "' with engine '" + negotiated->engine() +
                                          "' already has the backend '" + owner.ops().name() + "' from " +
                                          owner.origin() + "; register '" + negotiated->name() +
                                          "' with TLC_REGISTER_OVERRIDE to take its place");
    }
  }
  auto next = std::make_unique<Table>(table());
  next->insert(std::make_shared<Entry>(*std::move(negotiated), ops, state, std::string(origin)),
               (flags & TLC_REGISTER_DEFAULT) != 0);
  publish(std::move(next));
  return {};
}

void Registry::drop(const Entry& entry) {
  const std::lock_guard lock(mutex_);
  auto next = std::make_unique<Table>(table());
  next->erase(entry);
  publish(std::move(next));
}

Result<void> Registry::remove(const tlc_backend_ops* ops, void* state) {
  const auto entry = table().entry(ops, state);
  if (!entry) {
    return make_error(TLC_E_NOT_FOUND, "this table and state are not registered here");
  }
  const std::string who = "backend '" + entry->ops().name() + "' ";
  const auto modules_alive = [&] {
    return make_error(TLC_E_BUSY, who + "cannot be taken out while " + std::to_string(entry->modules()) +
                                      " of its modules are alive; release them first");
  };
  if (entry->running_on_this_thread() != nullptr) {
    return make_error(TLC_E_BUSY, who + "cannot be taken out from one of its own calls");
  }
  if (entry->modules() != 0) return modules_alive();
  if (!entry->start_closing()) {
    return make_error(TLC_E_BUSY, who + "is being taken out by another thread");
  }
  entry->wait_for_calls();
  if (entry->modules() != 0) {  // the last call was a load
    entry->stop_closing();
    return modules_alive();
  }
  drop(*entry);
  entry->ops().close();
  return {};
}

void Registry::retire_all() {
  const std::vector<std::shared_ptr<Entry>> entries = table().entries;
  for (const auto& entry : entries) {
    drop(*entry);
    entry->retire();
  }
}

std::string Registry::default_engine(std::string_view kind) const {
  if (const std::string* engine = table().chosen_engine(kind)) return *engine;
  if (parent_ != nullptr) {
    if (std::string engine = parent_->default_engine(kind); !engine.empty()) return engine;
  }
  const std::string* engine = table().first_engine(kind);
  return engine != nullptr ? *engine : std::string();
}

Result<std::shared_ptr<Entry>> Registry::find(std::string_view kind, std::string_view engine) const {
  const std::string wanted = engine.empty() ? default_engine(kind) : std::string(engine);
  for (const Registry* registry = this; registry != nullptr; registry = registry->parent_) {
    if (const Table::Pair* pair = registry->table().pair(kind, wanted)) return pair->stack.back();
  }
  return not_found(kind, engine);
}

Error Registry::not_found(std::string_view kind, std::string_view engine) const {
  std::string message = "no backend for target kind '" + std::string(kind) + "'";
  if (!engine.empty()) message += " and engine '" + std::string(engine) + "'";
  std::vector<std::string> names;
  for (const Registry* registry = this; registry != nullptr; registry = registry->parent_) {
    for (const Table::Pair& pair : registry->table().pairs) {
      std::string name = pair.kind + " (" + pair.engine + ")";
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
  }
  message += "; registered: ";
  if (names.empty()) message += "none";
  for (std::size_t i = 0; i < names.size(); ++i) message += (i == 0 ? "" : ", ") + names[i];
  const std::size_t refused = refusals().size();
  if (refused != 0) {
    message += "; " + std::to_string(refused) + (refused == 1 ? " plugin was refused" : " plugins were refused") +
               ", `tlcache doctor` says why";
  }
  return make_error(TLC_E_NOT_FOUND, std::move(message));
}

std::vector<Listed> Registry::list(tlc_call* call) const {
  std::vector<Listed> all;
  for (const Registry* registry = this; registry != nullptr; registry = registry->parent_) {
    for (const auto& entry : registry->table().entries) {
      const Ops& ops = entry->ops();
      Listed listed;
      listed.name = ops.name();
      listed.engine = ops.engine();
      listed.kinds = ops.kinds();
      listed.origin = entry->origin();
      listed.caps = ops.caps();
      for (const std::string& kind : ops.kinds()) {
        const auto serving = find(kind, {});
        if (serving && serving->get() == entry.get()) listed.default_of.push_back(kind);
      }
      const Entry::Call running(*entry);
      auto probe = running ? running->probe(call) : Result<std::string>(running.refused());
      if (probe) {
        listed.probe = *std::move(probe);
      } else {
        listed.available = false;
        listed.probe = "{}";
        listed.reason = std::move(probe).error().message;
      }
      all.push_back(std::move(listed));
    }
  }
  return all;
}

void Registry::note_refusal(std::string_view origin, const Error& error) {
  const std::lock_guard lock(mutex_);
  std::erase_if(refusals_, [&](const Refusal& refusal) { return refusal.origin == origin; });
  refusals_.push_back({std::string(origin), error.status, error.message});
}

std::vector<Refusal> Registry::refusals() const {
  std::vector<Refusal> all;
  for (const Registry* registry = this; registry != nullptr; registry = registry->parent_) {
    const std::lock_guard lock(registry->mutex_);
    all.insert(all.end(), registry->refusals_.begin(), registry->refusals_.end());
  }
  return all;
}

Result<void> Registry::load_once(const std::string& real_path, const std::function<Result<void>()>& load) {
  const std::lock_guard lock(plugin_mutex_);
  if (const auto known = loaded_.find(real_path); known != loaded_.end()) {
    if (known->second) return *known->second;
    return {};
  }
  auto done = load();
  loaded_[real_path] = done ? std::nullopt : std::optional<Error>(done.error());
  return done;
}

Registry& process_registry(const tlc_host_api* host) {
  // Never destroyed: threads may still release modules while the process ends.
  alignas(Registry) static std::byte place[sizeof(Registry)];
  static Registry& registry = *new (place) Registry();
  static std::once_flag once;
  std::call_once(once, [&] { register_builtins(registry, host, builtin_table()); });
  return registry;
}

}  // namespace tlc::backend
