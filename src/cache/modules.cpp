// SPDX-License-Identifier: MIT
#include "cache/modules.hpp"

#include <utility>

#include "port/fork.hpp"

namespace tlc::cache {

Module::Module(std::shared_ptr<backend::Entry> backend, store::ArtifactRef artifact, void* loaded)
    : backend_(std::move(backend)), artifact_(std::move(artifact)), loaded_(loaded), fork_epoch_(port::fork_epoch()) {}

// What belongs to the parent's device is not ended by a child.
Module::~Module() {
  if (!usable()) return;
  backend_->ops().unload(loaded_);
  backend_->remove_module();
}

bool Module::usable() const {
  return fork_epoch_ == port::fork_epoch() || backend_->ops().survives_fork();
}

Result<void*> Module::symbol(std::string_view name) const {
  if (!usable()) return make_error(TLC_E_FORKED, "the module was loaded by the parent process; load it again here");
  return backend_->ops().symbol(loaded_, name);
}

void* Module::native() const {
  return usable() ? backend_->ops().native(loaded_) : nullptr;
}

}  // namespace tlc::cache
