// SPDX-License-Identifier: MIT
// Local: what a cache has under its feet in this process: a store, or only memory, and what hangs on it.
//
// A forked child, and a process whose store was deleted, gets a new one; the old one stays for those who still hold
// something of it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cache/flight.hpp"
#include "cache/modules.hpp"
#include "cache/settings.hpp"
#include "store/artifact.hpp"
#include "store/file_memo.hpp"
#include "store/location.hpp"
#include "store/store.hpp"
#include "tier/client.hpp"

namespace tlc::cache {

class Local {
 public:
  /// Never fails but in strict opening: without a usable store it works from memory and keeps the reason.
  static Result<std::unique_ptr<Local>> open(const Settings& settings);
  ~Local();

  [[nodiscard]] store::Store* store() const { return store_.get(); }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  [[nodiscard]] const store::Location& location() const { return location_; }
  /// Why there is no store; empty if there is one, or none is wanted.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  /// Keeps an artifact in memory, to be found by memory_get. Over 256 MiB, what nobody holds goes.
  store::Artifact* remember(std::unique_ptr<store::Artifact> artifact);
  [[nodiscard]] store::Artifact* memory_get(const trust::Digest& key) { return memory_->find(key, 0); }
  [[nodiscard]] store::ArtifactTable& memory() { return *memory_; }

  /// Where requests are noted; nullptr: nowhere.
  [[nodiscard]] store::Trace* trace() const { return trace_.get(); }
  [[nodiscard]] store::FileMemo& files() { return *files_; }
  [[nodiscard]] Flights& flights() { return *flights_; }
  [[nodiscard]] Modules& modules() { return modules_; }
  /// nullptr: there are none.
  [[nodiscard]] tier::Client* remotes() { return remotes_.get(); }
  /// The key that strict records and blobs are authenticated with; nullptr: nothing is.
  [[nodiscard]] const trust::MacKey* user_key() const { return user_key_ ? &*user_key_ : nullptr; }

  std::unique_ptr<Local> previous;  ///< the one this replaced in the same process
  std::mutex reopen;                ///< held while it is replaced

 private:
  Local();

  std::uint64_t epoch_;
  store::Location location_;
  std::string reason_;
  std::shared_ptr<store::Trace> trace_;
  std::shared_ptr<store::Store> store_;
  std::shared_ptr<store::ArtifactTable> memory_;
  std::unique_ptr<store::FileMemo> files_;
  std::shared_ptr<Flights> flights_;  // of all caches on the same store
  Modules modules_;
  std::optional<trust::MacKey> user_key_;
  std::unique_ptr<tier::Client> remotes_;
};

}  // namespace tlc::cache
