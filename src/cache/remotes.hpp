// SPDX-License-Identifier: MIT
// Opening the remotes of a cache: those it was given and, where the store's place is on a network file system, that
// place.
#pragma once

#include <memory>
#include <optional>

#include "cache/settings.hpp"
#include "store/location.hpp"
#include "store/store.hpp"
#include "tier/client.hpp"
#include "trust/hash.hpp"

namespace tlc::cache {

/// nullptr: there are none. The location's warnings say what became of a network folder.
[[nodiscard]] std::unique_ptr<tier::Client> open_remotes(const Settings& settings, store::Location& location,
                                                         const std::shared_ptr<store::Store>& store,
                                                         const std::optional<trust::MacKey>& user_key);

}  // namespace tlc::cache
