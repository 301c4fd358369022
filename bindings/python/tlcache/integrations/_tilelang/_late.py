# SPDX-License-Identifier: MIT
"""Engines that write one more file after the first launch: CuTeDSL, whose cubin is made then.

Such an engine is told where its entry lies. It loads from a folder of this process's own, not the
store's, which nobody may write to; what is new there after the launch is added to the entry.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..._api import ConflictError, Key
from . import _keys, _store
from ._seams import Seams, guarded, log

_HOOK = "_set_adapter_cache_path"
_METHOD = "_save_cubin_to_cache_if_needed"
_seams: Seams | None = None


def is_late(cache: Any) -> bool:
    """Whether the engine is told where its entry lies; the base class does nothing there."""
    mine = getattr(type(cache), _HOOK, None)
    base = next((one for one in type(cache).__mro__ if one.__name__ == "KernelCache"), None)
    return mine is not None and mine is not getattr(base, _HOOK, None)


def watch(kernel: Any, key: str, folder: Path | None) -> None:
    """Adds to the entry what the kernel's adapter writes; folder: what it was loaded from."""
    adapter = getattr(kernel, "adapter", None)
    if adapter is None or _seams is None:
        return
    for owner in type(adapter).__mro__:
        if _METHOD in owner.__dict__ and not hasattr(owner.__dict__[_METHOD], "__wrapped__"):
            _seams.wrap(owner, _METHOD, _save_late)
    adapter._tlcache_key, adapter._tlcache_folder = key, folder


def _save_late(original: Callable[[Any], None]) -> Callable[[Any], None]:
    def wrapper(self: Any) -> None:
        # Called after each launch: the first that finds something is enough.
        known = _keys.names.get(getattr(self, "_tlcache_key", None))
        if known is None:
            original(self)
            return
        if not getattr(self, "_tlcache_amended", False):
            self._tlcache_amended = True
            guarded("add to a kernel", lambda: _amend(self, known[0], original))

    return wrapper


def _amend(adapter: Any, key: Key, original: Callable[[Any], None]) -> None:
    """Adds what TileLang writes into the folder that it takes for the entry's."""
    store = _store.cache()
    with _store.Scratch() as scratch:
        adapter._cache_path = str(scratch)
        original(adapter)
        for folder in (scratch, adapter._tlcache_folder):
            seen = _store.get(key)
            if folder is None or store is None or seen is None:
                continue
            added = _store.bundle_of(folder, without=set(seen))
            if added is not None:
                try:
                    store.amend(key, added, seen=seen)
                except ConflictError:
                    log.debug("another process added to the entry first")


def install(seams: Seams) -> None:
    """Keeps what takes wrappers off again: adapters' classes are only known when there is one."""
    global _seams
    _seams = seams


__all__ = ["install", "is_late", "watch"]
